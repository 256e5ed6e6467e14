// Ends what no worker would end: effects of turns that a crash has left, and what features have with a deadline. Any number of processes may do
// this; each end is one transaction that checks whether it is needed.
import type { Committed } from '../queue/after-commit.ts';
import { carryOutLeftEffects, isLeftSql } from './carry-out.ts';
import type { EffectParts } from './turn-effects.ts';
import { mergeAll } from '../queue/rings.ts';
import type { WorkQuestion } from '../queue/work-watch.ts';
import { literal } from '../../database/statement.ts';

/** Things with a deadline, which end at it. */
export interface Overdue {
  /** SQL of the earliest deadline; null: there is none. */
  readonly earliest: string;
  /** Ends those whose deadline has passed. */
  readonly end: (parts: EffectParts) => Promise<Committed<object>[]>;
}

export const nextDeadlines = (kinds: readonly Overdue[]) =>
  literal({
    name: 'overdue',
    purpose:
      'Read the earliest deadline of each kind, in milliseconds from now; one that is not positive has passed. And whether effects of these kinds are left.',
    text: `select array[${kinds.map(({ earliest }) => `extract(epoch from (${earliest}) - clock_timestamp()) * 1000`).join(', ')}]::float8[] as "inMs",
  exists (select from holdfast.effects e where ${isLeftSql('$1')}) as "hasEffects"`,
  });

/** Whether one of these deadlines lies within so many milliseconds, or effects of these kinds are left. */
export function overdueWork(kinds: readonly Overdue[], effects: readonly string[]): (withinMs: number) => WorkQuestion {
  const soon = "statement_timestamp() + $withinMs::float8 * interval '1 millisecond'";
  const deadlines = kinds.map(({ earliest }) => ` or (${earliest}) <= ${soon}`).join('');
  return (withinMs) => ({
    sql: `exists (select from holdfast.effects e where ${isLeftSql('$leftKinds')})${deadlines}`,
    values: () => ({ withinMs, leftKinds: effects }),
  });
}

interface Moments {
  inMs: (number | null)[];
  hasEffects: boolean;
}

/**
 * Makes the function that carries out left effects and ends what is overdue; resolves with the milliseconds until the next deadline, or null. One
 * query when there is nothing.
 */
export function createEndOverdue(kinds: readonly Overdue[]) {
  const statement = nextDeadlines(kinds);
  async function readMoments({ database, effects }: EffectParts): Promise<Moments> {
    const query = statement.prepared([Object.keys(effects)]);
    // A select without a table in `from` has one row.
    return (await database.hot.query<Moments>(query)).rows[0]!;
  }
  return async (parts: EffectParts): Promise<Committed<{ nextInMs: number | null }>> => {
    const first = await readMoments(parts);
    // First: a run that has ended by itself is not over time.
    const ended = first.hasEffects ? await carryOutLeftEffects(parts) : [];
    const due = kinds.filter((_, index) => (first.inMs[index] ?? 1) <= 0);
    for (const { end } of due) ended.push(...(await end(parts)));
    const { inMs } = due.length === 0 ? first : await readMoments(parts);
    // Overdue and still open: another process is ending it, and the next round checks it again.
    const coming = inMs.filter((ms) => ms !== null && ms > 0) as number[];
    return { nextInMs: coming.length === 0 ? null : Math.ceil(Math.min(...coming)), after: mergeAll(ended) };
  };
}
