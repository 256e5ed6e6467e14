// One entry of a transcript.
import { Link } from '@tanstack/react-router';
import { Fragment, useState, type ReactElement } from 'react';
import { api, type Entry } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { jsonText } from '../format/json-text.ts';
import { Age } from '../parts/bits.tsx';
import { Problem } from '../parts/problem.tsx';
import { LongText } from '../parts/safe-text.tsx';

/** Longer parts are cut; the rest is read when it is asked for. */
export const PART_CHARS = 16_384;

/** Why the model no longer sees an entry. */
const GONE: Readonly<Record<string, string>> = {
  pruned: 'pruned: the result was too old or too long',
  compacted: 'compacted: a summary took its place',
  hidden: 'hidden: it was undone or reset',
};

/** An entry of a transcript, with its blocks. */
export function EntryBlock(props: {
  entry: Entry;
  sessionKey: string;
  /** Absent for a viewer. */
  onFork?: ((entry: Entry) => void) | undefined;
}): ReactElement {
  const { entry, sessionKey, onFork } = props;
  return (
    <article className="entry" data-role={entry.role} data-state={entry.state} aria-label={`Entry ${entry.seq}`}>
      <header>
        <strong>{entry.kind === 'results' ? 'tool results' : entry.kind}</strong>
        <span>#{entry.seq}</span>
        <Age at={entry.createdAt} />
        <Link to="/turns/$id" params={{ id: entry.turnId }}>
          turn {entry.turnId.slice(-6)}
        </Link>
        {entry.state !== 'active' && <span className="chip">{GONE[entry.state]}</span>}
        {onFork !== undefined && (
          <button type="button" className="button" onClick={() => onFork(entry)}>
            Fork from here… <span className="hidden-visually">#{entry.seq}</span>
          </button>
        )}
      </header>
      {entry.content.map((block, at) => (
        <Fragment key={at}>
          <Block block={block} />
          <Omitted block={block} place={{ key: sessionKey, id: entry.id, n: at + 1 }} />
        </Fragment>
      ))}
    </article>
  );
}

/** A text unchanged, anything else as JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : jsonText(value);
}

function Block({ block }: { block: Entry['content'][number] }): ReactElement {
  const { type } = block;
  if (type === 'text') return <LongText text={textOf(block['text'])} />;
  if (type === 'thinking') {
    return (
      <details>
        <summary className="soft">thinking</summary>
        <LongText text={textOf(block['thinking'])} />
      </details>
    );
  }
  if (type === 'tool_use') {
    return (
      <details>
        <summary>
          calls <span className="mono">{textOf(block['name'])}</span>
        </summary>
        <LongText text={textOf(block['input'])} />
      </details>
    );
  }
  if (type === 'tool_result') {
    const { content } = block;
    return (
      <details open={block['is_error'] === true}>
        <summary>{block['is_error'] === true ? 'result: an error' : 'result'}</summary>
        <LongText text={textOf(content)} />
      </details>
    );
  }
  return (
    <details>
      <summary className="soft">{type}</summary>
      <LongText text={textOf(block)} />
    </details>
  );
}

const PIECE_CHARS = 262_144;

/** The rest of a part that was cut: read piece by piece, because it can be tens of megabytes. */
function Omitted(props: {
  block: Entry['content'][number];
  place: { key: string; id: string; n: number };
}): ReactElement | null {
  const { block, place } = props;
  const omitted = Number(block['omittedChars'] ?? 0);
  const [pieces, setPieces] = useState<string[]>([]);
  const [error, setError] = useState<unknown>(null);
  if (omitted === 0) return null;
  const read = pieces.reduce((sum, piece) => sum + piece.length, 0);

  async function readOn(): Promise<void> {
    setError(null);
    try {
      const piece = await api.getEntryPart({ ...place, offset: PART_CHARS + read, length: PIECE_CHARS });
      setPieces((before) => [...before, piece]);
    } catch (cause) {
      setError(cause);
    }
  }

  return (
    <>
      {pieces.map((piece, at) => (
        <LongText key={at} text={piece} />
      ))}
      {error !== null && <Problem error={error} />}
      {read < omitted && (
        <button type="button" className="button" onClick={() => void readOn()}>
          Show the rest ({countText(omitted - read)} characters)
        </button>
      )}
    </>
  );
}
