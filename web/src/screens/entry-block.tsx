// One row of a transcript: what was said, or tool calls with their results.
import { Link } from '@tanstack/react-router';
import { memo, useState, type ReactElement, type ReactNode } from 'react';
import type { Entry } from '../api.ts';
import { callsAloneOf, imagesOf, resultText, type Call, type RunRow, type SaidRow } from '../format/conversation.ts';
import { clockText, timeText } from '../format/time.ts';
import { markedText } from '../format/visible-text.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useSettings } from '../settings.tsx';
import { callsLine } from '../words/calls.ts';
import { ToolLine } from '../words/tool-line.tsx';
import { Block, Omitted, Picture, textOf } from './entry-parts.tsx';

/** Why the model no longer sees an entry. */
const GONE: Readonly<Record<string, string>> = {
  pruned: 'pruned: the result was too old or too long',
  compacted: 'compacted: a summary took its place',
  hidden: 'hidden: it was undone or reset',
  failed: 'hidden: its turn failed',
};

/** Whose words an entry has. */
function whoOf({ kind, author }: Entry): string {
  if (kind === 'summary') return 'Summary';
  return kind === 'steer' ? `${author.name}, while it worked` : author.name;
}

interface RowProps {
  sessionKey: string;
  index: number;
  /** Of the rows of its list; -1 while it is not known. */
  count: number;
}

/** Drawn when it changes, not whenever the transcript is scrolled. */
export const SaidBlock = memo(function SaidBlock(
  props: RowProps & { row: SaidRow; onFork?: ((entry: Entry) => void) | undefined; isOfFailed: boolean },
): ReactElement {
  const { row, sessionKey, index, count, onFork, isOfFailed } = props;
  const { entry, last, blocks, calls } = row;
  const { zone } = useSettings();
  const [isRaw, setRaw] = useState(false);
  const isStep = callsAloneOf(row) !== null;
  const who = whoOf(entry);
  const firstText = blocks.find(({ block }) => block.type === 'text');
  return (
    <article
      className="entry"
      data-kind={entry.kind}
      data-role={entry.role}
      data-state={entry.state}
      data-step={isStep || undefined}
      data-seq={entry.seq}
      aria-label={`${markedText(who)}, ${clockText(entry.createdAt, zone)}, #${entry.seq}`}
      aria-posinset={index + 1}
      aria-setsize={count}
      tabIndex={-1}
    >
      <header>
        {!isStep && (
          <strong>
            <SafeText text={who} />
          </strong>
        )}
        {!isStep && (
          <time dateTime={entry.createdAt} title={timeText(entry.createdAt, zone)}>
            {clockText(entry.createdAt, zone)}
          </time>
        )}
        {entry.state !== 'active' && (
          <span className="chip">{GONE[isOfFailed && entry.state === 'hidden' ? 'failed' : entry.state]}</span>
        )}
        <EntryTools {...{ sessionKey, entry, last, onFork }}>
          {firstText !== undefined && (
            <>
              <button type="button" className="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
                Raw
              </button>
              <CopyButton
                name="Copy"
                text={() =>
                  blocks
                    .map(({ block }) => textOf(block['text']))
                    .join('\n')
                    .trim()
                }
              />
            </>
          )}
        </EntryTools>
      </header>
      {blocks.map((at) => (
        <Block key={at.n} at={at} parts={at === firstText ? entry.parts : null} isRaw={isRaw} sessionKey={sessionKey} />
      ))}
      {calls.map((call) => (
        <CallLine key={call.id} call={call} sessionKey={sessionKey} />
      ))}
    </article>
  );
});

/** The line above calls in a row, which folds them. */
export function RunBlock({
  run,
  index,
  count,
  isOpen,
  onToggle,
}: RowProps & { run: RunRow; isOpen: boolean; onToggle: () => void }): ReactElement {
  const line = callsLine(run.calls);
  return (
    <article className="run" aria-label={line} aria-posinset={index + 1} aria-setsize={count} tabIndex={-1}>
      <button type="button" className="run-line" aria-expanded={isOpen} onClick={onToggle}>
        <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> {line}
      </button>
    </article>
  );
}

interface ToolsProps {
  sessionKey: string;
  entry: Entry;
  last: Entry;
  /** Absent for a viewer. */
  onFork: ((entry: Entry) => void) | undefined;
  children: ReactNode;
}

/** What can be done with an entry; seen while the entry has the pointer or the focus. */
function EntryTools({ sessionKey, entry, last, onFork, children }: ToolsProps): ReactElement {
  return (
    <span className="hover-tools">
      <Link
        to="/sessions/$key"
        params={{ key: sessionKey }}
        search={(before) => ({ ...before, entry: String(entry.seq) })}
        resetScroll={false}
      >
        #{entry.seq}
      </Link>
      <Link to="/turns/$id" params={{ id: entry.turnId }}>
        turn {entry.turnId.slice(-6)}
      </Link>
      {children}
      {onFork !== undefined && (
        <button
          type="button"
          className="button"
          aria-label={`Fork from here… #${last.seq}`}
          onClick={() => onFork(last)}
        >
          Fork
        </button>
      )}
    </span>
  );
}

function CallLine({ call, sessionKey }: { call: Call; sessionKey: string }): ReactElement {
  const { id, name, state, waitsFor, ms, words, use, result } = call;
  return (
    <ToolLine
      {...{ id, name, state, waitsFor, ms, words }}
      input={use?.block['input']}
      result={result === null ? undefined : resultText(result.block)}
    >
      {result !== null &&
        imagesOf(result.block).map((image, at) => (
          <Picture
            key={at}
            image={image}
            at={{ key: sessionKey, id: result.entryId, n: result.n, image: at + 1 }}
            isAsked
          />
        ))}
      {use !== null && <Omitted at={use} parts={null} sessionKey={sessionKey} />}
      {result !== null && <Omitted at={result} parts={null} sessionKey={sessionKey} />}
    </ToolLine>
  );
}
