// Tool calls in words: many of them in one line.
import type { Entry } from '../api.ts';
import { namedCountText } from '../format/amounts.ts';
import { lengthMs } from '../format/time.ts';

type EntryCall = Entry['calls'][number];
export type CallState = EntryCall['state'];
/** What a waiting call waits for; null: nothing is known of it. */
export type CallWait = EntryCall['waitsFor'];

/** How long a call has taken so far; null: nothing is known of when it ended, or it did not run. */
export function callMs(state: CallState, { startedAt, endedAt }: Pick<EntryCall, 'startedAt' | 'endedAt'>) {
  return state === 'unknown' || state === 'skipped' || startedAt === null ? null : lengthMs(startedAt, endedAt);
}

/** What a call does and what came out of it, each in one line; null: nothing is known of it. */
export interface CallWords {
  input: string | null;
  result: string | null;
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
