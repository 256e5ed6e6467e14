// Tool calls in words: what a call does and what came out of it in one line, and many of them as
// one.
import type { Entry } from '../api.ts';
import { namedCountText } from '../format/amounts.ts';
import { shortened } from '../format/long-text.ts';
import { lengthMs } from '../format/time.ts';

type EntryCall = Entry['calls'][number];
export type CallState = EntryCall['state'];
/** What a waiting call waits for; null: nothing is known of it. */
export type CallWait = EntryCall['waitsFor'];

/** How long a call has taken so far; null: nothing is known of when it ended, or it did not run. */
export function callMs(state: CallState, { startedAt, endedAt }: Pick<EntryCall, 'startedAt' | 'endedAt'>) {
  return state === 'unknown' || state === 'skipped' || startedAt === null ? null : lengthMs(startedAt, endedAt);
}

const LINE_CHARS = 300;

/** Arguments that say what a call does, the most telling first. */
const TELLING = ['command', 'cmd', 'file_path', 'path', 'pattern', 'query', 'url', 'task', 'message', 'text', 'name'];

/** What a call does, in one line: its most telling argument, or all of them as JSON. */
export function argumentsLine(input: unknown): string {
  if (typeof input === 'string') return lineOf(input);
  if (typeof input !== 'object' || input === null) return '';
  const fields = input as Readonly<Record<string, unknown>>;
  const telling = TELLING.map((name) => fields[name]).find((value) => typeof value === 'string');
  const values = Object.values(fields);
  const only = values.length === 1 && typeof values[0] === 'string' ? values[0] : undefined;
  if (values.length === 0) return '';
  return lineOf((telling as string | undefined) ?? only ?? JSON.stringify(input));
}

/** The first line of a text that has words. */
export function lineOf(text: string): string {
  const line = /^\s*([^\n]*)/.exec(text.slice(0, 4 * LINE_CHARS))?.[1] ?? '';
  return shortened(line.trim(), LINE_CHARS);
}

export interface NamedCall {
  name: string;
  state: CallState;
}

/** `38 calls of exec, 2 failed`; of several tools: `12 calls: 9 exec, 3 read, 1 running`. */
export function callsLine(calls: readonly NamedCall[]): string {
  const names = countsOf(calls.map(({ name }) => name));
  const of =
    names.length === 1 ? ` of ${names[0]?.[0]}` : `: ${names.map(([name, count]) => `${count} ${name}`).join(', ')}`;
  const states = countsOf(calls.map(({ state }) => state)).filter(([state]) => state !== 'done');
  return [`${namedCountText(calls.length, 'call')}${of}`, ...states.map(([state, count]) => `${count} ${state}`)].join(
    ', ',
  );
}

/** How often each name is there, the most frequent first. */
function countsOf<Name extends string>(names: readonly Name[]): [Name, number][] {
  const counts = new Map<Name, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].toSorted(([, one], [, other]) => other - one);
}

export interface Run<Item> {
  items: readonly Item[];
  calls: readonly NamedCall[];
}

/**
 * Items in their order, where those with calls that follow each other are one run if they have so
 * many calls together. `callsOf`: null for others.
 */
export function runsOf<Item>(
  items: readonly Item[],
  callsOf: (item: Item) => readonly NamedCall[] | null,
  callsMin: number,
): (Item | Run<Item>)[] {
  const found: (Item | Run<Item>)[] = [];
  let run: Item[] = [];
  let calls: NamedCall[] = [];
  const close = (): void => {
    if (calls.length < callsMin) found.push(...run);
    else found.push({ items: run, calls });
    [run, calls] = [[], []];
  };
  for (const item of items) {
    const own = callsOf(item);
    if (own === null) {
      close();
      found.push(item);
    } else {
      run.push(item);
      calls.push(...own);
    }
  }
  close();
  return found;
}
