// The reply of a turn while it is written, and the tool that it uses now.
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { Chip } from '../parts/bits.tsx';
import { useSettings } from '../settings.tsx';
import { Words } from '../words/words.tsx';

interface Live {
  text: string;
  /** When the call began that writes it. */
  since: string;
  /** The tool that runs; null: none does. */
  tool: string | null;
}

const NOTHING: Live = { text: '', since: '', tool: null };

interface LiveReplyProps {
  turnId: string;
  /**
   * An answer that is newer than the call has its text. The prompt can be newer, too: it is stored
   * at the same moment.
   */
  lastAnswerAt: string | null;
}

/** The stream resumes by its last id, so nothing is lost or shown twice. */
export function LiveReply({ turnId, lastAnswerAt }: LiveReplyProps): ReactElement | null {
  const [{ text, since, tool }, setLive] = useState(NOTHING);
  const queries = useQueryClient();
  const { isLive } = useSettings();
  useEffect(() => {
    if (!isLive) return undefined;
    setLive(NOTHING);
    const stop = new AbortController();
    async function follow(): Promise<void> {
      for await (const event of api.turnEvents({ id: turnId, signal: stop.signal })) {
        if (event.type === 'model.started') setLive({ ...NOTHING, since: event.at });
        if (event.type === 'model.delta') setLive((before) => ({ ...before, text: before.text + event.text }));
        if (event.type === 'tool.started') setLive((before) => ({ ...before, tool: event.name }));
        if (event.type === 'tool.ended') setLive((before) => ({ ...before, tool: null }));
        if (event.type === 'turn.ended') void queries.invalidateQueries({ queryKey: ['session'] });
      }
    }
    follow().catch(() => undefined);
    return () => stop.abort();
  }, [turnId, queries, isLive]);
  const isWritten = lastAnswerAt !== null && lastAnswerAt > since;
  const shown = isWritten ? '' : text;
  if (shown === '' && tool === null) return null;
  return (
    <article className="entry" data-kind="answer" aria-live="polite" aria-label="The reply as it is written">
      <header>
        <strong>Agent</strong>
        <Chip tone="live">{tool === null ? 'writes' : `runs ${tool}`}</Chip>
      </header>
      {shown !== '' && <Words text={shown} />}
    </article>
  );
}
