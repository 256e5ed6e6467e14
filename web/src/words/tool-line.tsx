// A tool call and its result in one line, which opens. Errors are open at first.
import type { ReactElement, ReactNode } from 'react';
import { isWrittenNumber, parseKeepingIntegers } from '../format/json-text.ts';
import { durationText } from '../format/time.ts';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import type { CallState, CallWait, CallWords } from './calls.ts';
import { JsonTree } from './json-tree.tsx';
import { useKept } from './kept.ts';

/** A state as a symbol, a word and a colour. */
const STATES: Readonly<Record<CallState, { icon: string; word: string; tone: string | undefined }>> = {
  done: { icon: '✓', word: 'done', tone: 'good' },
  failed: { icon: '✕', word: 'failed', tone: 'bad' },
  unknown: { icon: '?', word: 'unknown', tone: 'warn' },
  skipped: { icon: '–', word: 'skipped', tone: 'warn' },
  waiting: { icon: '◔', word: 'waiting', tone: 'warn' },
  interrupted: { icon: '◔', word: 'waits to be resumed', tone: 'warn' },
  running: { icon: '●', word: 'running', tone: 'live' },
};

/** What a waiting call waits for. */
const WAITS: Readonly<Record<NonNullable<CallWait>, string>> = {
  caller: 'the client',
  approval: 'an approval',
  external_tool: 'its result',
  task: 'its task',
};

export interface ToolLineProps {
  /** The id of the call: what was opened is kept under it. */
  id: string;
  name: string;
  state: CallState;
  /** Of a call that waits. */
  waitsFor?: CallWait | undefined;
  /** How long it took; null: not known. */
  ms?: number | null | undefined;
  words: CallWords;
  /** The arguments as a value, or the beginning of their JSON; undefined: not known. */
  input?: unknown;
  /** The text of the result; undefined: there is none yet, or it is not known. */
  result?: string | undefined;
  /**
   * Shown when it is open, in place of arguments and result: for what is read when it is opened.
   */
  details?: () => ReactNode;
  /** Shown under the result when it is open. */
  children?: ReactNode;
}

export function ToolLine(props: ToolLineProps): ReactElement {
  const { id, name, state, waitsFor, ms, words, input, result, details, children } = props;
  const [isOpen, setOpen] = useKept(`call ${id}`, state === 'failed');
  const { icon, word, tone } = STATES[state];
  return (
    <details
      className="tool-line"
      data-state={state}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <span className="tool-icon" data-tone={tone} aria-hidden="true">
          {icon}
        </span>
        <span className="tool-name mono">
          <SafeText text={name} />
        </span>
        <span className="tool-words mono">
          <SafeText text={words.input ?? ''} />
          {words.result !== null && (
            <>
              <span className="soft"> → </span>
              <SafeText text={words.result} />
            </>
          )}
        </span>
        {ms != null && <span className="tool-time soft">{durationText(ms)}</span>}
        <span className="tool-state" data-tone={tone}>
          {word}
          {waitsFor != null && ` for ${WAITS[waitsFor]}`}
        </span>
      </summary>
      {isOpen && (
        <div className="tool-details">
          {details === undefined ? (
            <>
              {input !== undefined && <Arguments input={input} place={id} />}
              {result !== undefined && <ResultText text={result} place={id} />}
            </>
          ) : (
            details()
          )}
          {children}
        </div>
      )}
    </details>
  );
}

/** The arguments of a call as a table. `input`: a value, or JSON text. */
export function Arguments({ input, place }: { input: unknown; place: string }): ReactElement {
  const value = typeof input === 'string' ? (valueOf(input) ?? input) : input;
  if (typeof value === 'string') return <LongText text={value} />;
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (Array.isArray(value) || isWrittenNumber(value)) return <JsonTree value={value} place={`${place} arguments`} />;
  if (fields.length === 0) return <p className="soft">no arguments</p>;
  return (
    <table className="plain arguments">
      <tbody>
        {fields.map(([name, field]) => (
          <tr key={name}>
            <th scope="row">
              <SafeText text={name} />
            </th>
            <td>
              {typeof field === 'string' ? (
                <LongText text={field} />
              ) : (
                <JsonTree value={field} place={`${place} arguments ${name}`} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The result of a call: JSON as a tree, anything else as text. */
export function ResultText({ text, place }: { text: string; place: string }): ReactElement {
  const value = valueOf(text);
  return value === null ? <LongText text={text} /> : <JsonTree value={value} place={`${place} result`} />;
}

/** The object or the array that a text is the JSON of, or null. */
function valueOf(text: string): object | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return parseKeepingIntegers(text) as object;
  } catch {
    return null;
  }
}
