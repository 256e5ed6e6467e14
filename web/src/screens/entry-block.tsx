// One entry of a transcript.
import { Link } from '@tanstack/react-router';
import { Fragment, useMemo, useState, type ReactElement } from 'react';
import { api, type Entry } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { jsonText } from '../format/json-text.ts';
import { keptCharsOf } from '../format/long-text.ts';
import { promptPieces, type PromptPiece } from '../format/prompt-text.ts';
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

/** What a person has opened in the entries of a list: an entry that leaves the document and returns shows it again. */
export type Kept = Map<string, unknown>;

/** A state that outlives its component, under a name. */
function useKept<Value>(kept: Kept, name: string, atFirst: Value): [Value, (value: Value) => void] {
  // Each name is used with one type.
  const [value, setValue] = useState(() => (kept.has(name) ? (kept.get(name) as Value) : atFirst));
  return [
    value,
    (next) => {
      kept.set(name, next);
      setValue(next);
    },
  ];
}

/** An entry of a transcript, with its blocks. */
export function EntryBlock(props: {
  entry: Entry;
  sessionKey: string;
  /** Where it is in its list; the number of entries is -1 while it is not known. */
  place: { index: number; count: number };
  kept: Kept;
  /** Absent for a viewer. */
  onFork?: ((entry: Entry) => void) | undefined;
}): ReactElement {
  const { entry, sessionKey, place, kept, onFork } = props;
  const firstText = entry.content.findIndex(({ type }) => type === 'text');
  return (
    <article
      className="entry"
      data-role={entry.role}
      data-state={entry.state}
      aria-label={`Entry ${entry.seq}`}
      aria-posinset={place.index + 1}
      aria-setsize={place.count}
      tabIndex={-1}
    >
      <header>
        <strong>{entry.kind === 'results' ? 'tool results' : entry.kind}</strong>
        <Link
          to="/sessions/$key"
          params={{ key: sessionKey }}
          search={(before) => ({ ...before, entry: String(entry.seq) })}
          resetScroll={false}
        >
          #{entry.seq}
        </Link>
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
          <Block block={block} parts={at === firstText ? entry.parts : null} name={`${entry.id} ${at}`} kept={kept} />
          <Omitted
            block={block}
            parts={at === firstText ? entry.parts : null}
            place={{ key: sessionKey, id: entry.id, n: at + 1 }}
            kept={kept}
          />
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

interface BlockProps {
  block: Entry['content'][number];
  parts: Entry['parts'];
  kept: Kept;
}

function Block(props: BlockProps & { name: string }): ReactElement {
  const { block, parts, name, kept } = props;
  if (block.type === 'text')
    return <PromptText text={textOf(block['text'])} parts={parts} offset={0} name={name} kept={kept} />;
  return <Folded {...foldedOf(block)} name={name} kept={kept} />;
}

/** A text, or a stretch of it. What was put around the words of a prompt is a chip in its place, which opens. */
function PromptText(props: {
  text: string;
  parts: Entry['parts'];
  offset: number;
  name: string;
  kept: Kept;
}): ReactElement {
  const { text, parts, offset, name, kept } = props;
  const pieces = useMemo(() => promptPieces(text, parts, offset), [text, parts, offset]);
  if (pieces.length === 1 && pieces[0]?.label === null) return <LongText text={text} />;
  return (
    <div className="prompt-text">
      {pieces.map((piece, at) =>
        piece.label === null ? (
          <div key={at} className="said">
            <LongText text={piece.text} />
          </div>
        ) : (
          <Folded key={at} title={chipOf(piece)} text={piece.text} name={`${name} ${offset} ${at}`} kept={kept} />
        ),
      )}
    </div>
  );
}

function chipOf({ label, isTrusted }: PromptPiece): ReactElement {
  return (
    <span className="chip">
      {label}
      {!isTrusted && <span className="soft">, untrusted</span>}
    </span>
  );
}

interface FoldedBlock {
  title: ReactElement;
  text: unknown;
  isOpenAtFirst?: boolean;
}

/** What a block shows before and after it is opened. */
function foldedOf(block: Entry['content'][number]): FoldedBlock {
  const { type } = block;
  if (type === 'thinking') return { title: <span className="soft">thinking</span>, text: block['thinking'] };
  if (type === 'tool_use') {
    const name = <span className="mono">{textOf(block['name'])}</span>;
    return { title: <>calls {name}</>, text: block['input'] };
  }
  if (type === 'tool_result') {
    const isError = block['is_error'] === true;
    return { title: <>{isError ? 'result: an error' : 'result'}</>, text: block['content'], isOpenAtFirst: isError };
  }
  return { title: <span className="soft">{type}</span>, text: block };
}

function Folded(props: FoldedBlock & { name: string; kept: Kept }): ReactElement {
  const { title, text, isOpenAtFirst = false, name, kept } = props;
  const [isOpen, setOpen] = useKept(kept, name, isOpenAtFirst);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      <LongText text={textOf(text)} />
    </details>
  );
}

const PIECE_CHARS = 262_144;

/** The rest of a part that was cut: read piece by piece, because it can be tens of megabytes. */
function Omitted(props: BlockProps & { place: { key: string; id: string; n: number } }): ReactElement | null {
  const { block, parts, place, kept } = props;
  const omitted = Number(block['omittedChars'] ?? 0);
  const [pieces, setPieces] = useKept<string[]>(kept, `${place.id} pieces ${place.n}`, []);
  const [error, setError] = useState<unknown>(null);
  if (omitted === 0) return null;
  const start = keptCharsOf(block);
  const read = pieces.reduce((sum, piece) => sum + piece.length, 0);

  async function readOn(): Promise<void> {
    setError(null);
    try {
      const piece = await api.getEntryPart({ ...place, offset: start + read, length: PIECE_CHARS });
      setPieces([...pieces, piece]);
    } catch (cause) {
      setError(cause);
    }
  }

  return (
    <>
      {pieces.map((piece, at) => (
        <PromptText
          key={at}
          text={piece}
          parts={parts}
          offset={start + pieces.slice(0, at).reduce((sum, { length }) => sum + length, 0)}
          name={`${place.id} ${place.n}`}
          kept={kept}
        />
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
