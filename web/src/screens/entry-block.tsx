// One entry of a transcript.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Entry } from '../api.ts';
import { Age } from '../parts/bits.tsx';
import { LongText } from '../parts/safe-text.tsx';

/** Why the model no longer sees an entry. */
const GONE: Readonly<Record<string, string>> = {
  pruned: 'pruned: the result was too old or too long',
  compacted: 'compacted: a summary took its place',
  hidden: 'hidden: it was undone or reset',
};

/** An entry of a transcript, with its blocks. */
export function EntryBlock({ entry }: { entry: Entry }): ReactElement {
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
      </header>
      {entry.content.map((block, at) => (
        <Block key={at} block={block} />
      ))}
    </article>
  );
}

/** A text as it is, anything else as JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value, null, 2);
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
