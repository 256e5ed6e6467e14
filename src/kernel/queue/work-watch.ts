// Asks for all rounds of a process together whether they have work: one statement a second, with a question for each (docs/decisions/0123). A round that
// has none is not begun, so a service that does nothing sends next to nothing.
import type { Database } from '../../database/database.ts';
import { literal, type PreparedQuery } from '../../database/statement.ts';

/** A question whether there is work. It may answer yes when there is none, but never no when there is some. */
export interface WorkQuestion {
  /** SQL of a boolean, which indexes answer. It names its values: `$names::text[]`. */
  readonly sql: string;
  /** The values by their names, of each time that it is asked; absent: there are none. */
  readonly values?: () => Readonly<Record<string, unknown>>;
}

/**
 * SQL of a time that is later than the next question of what asks every second. What is due by then is work: what begins by the clock learns its time
 * from the round that it has then.
 */
export const SOON_SQL = "clock_timestamp() + interval '2 seconds'";

/** Resolves with the answer, which is asked for within so many milliseconds; with false when the signal aborts. Rejects when the database does not answer. */
export type AskForWork = (inMs: number, signal: AbortSignal) => Promise<boolean>;

export interface WorkWatch {
  /** Adds a question. Returns the function that asks it, which is called again only after it has answered. */
  add(question: WorkQuestion): AskForWork;
}

/** A question that is asked by a time, of the monotonic clock, and not before another. */
interface Waiting {
  fromMs: number;
  byMs: number;
  resolve: (hasWork: boolean) => void;
  reject: (error: unknown) => void;
}

/** A question is asked so much earlier, at most, to be part of the statement of another one. Half of the time of each makes all of the same interval meet. */
const EARLIER_MS_MAX = 500;

/** A round whose question has answered no for so long is begun all the same: a question that misses a kind of work delays it, and no more. */
const ANYWAY_MS = 5 * 60_000;

/** Texts so far, of all watches: on a connection, different texts have different names. */
let texts = 0;

/** Makes the watch of a process. */
export function createWorkWatch({ hot }: Pick<Database, 'hot'>, { anywayMs = ANYWAY_MS } = {}): WorkWatch {
  const questions: WorkQuestion[] = [];
  /** When each question has answered yes last, or was added; by its place. */
  const yesAtMs: number[] = [];
  const waiting = new Map<WorkQuestion, Waiting>();
  let prepare: ((values: unknown[]) => PreparedQuery) | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isAsking = false;

  function plan(): void {
    clearTimeout(timer);
    if (isAsking || waiting.size === 0) return;
    const byMs = Math.min(...Array.from(waiting.values(), (one) => one.byMs));
    timer = setTimeout(() => void askAll(), Math.max(0, byMs - performance.now()));
  }

  async function askAll(): Promise<void> {
    const nowMs = performance.now();
    const asked = [...waiting].filter(([, { fromMs }]) => fromMs <= nowMs);
    for (const [question] of asked) waiting.delete(question);
    isAsking = true;
    try {
      const haveWork = await ask(new Set(asked.map(([question]) => question)));
      for (const [question, { resolve }] of asked) {
        const place = questions.indexOf(question);
        const hasWork = haveWork[place] === true || nowMs - yesAtMs[place]! >= anywayMs;
        if (hasWork) yesAtMs[place] = nowMs;
        resolve(hasWork);
      }
    } catch (error) {
      for (const [, { reject }] of asked) reject(error);
    }
    isAsking = false;
    plan();
  }

  async function ask(asked: ReadonlySet<WorkQuestion>): Promise<readonly (boolean | null)[]> {
    prepare ??= prepareAsk(questions);
    const values = questions.flatMap(({ sql, values: read }) => {
      const given = read?.();
      return namesIn(sql).map((name) => given?.[name] ?? null);
    });
    const query = prepare([questions.map((question) => asked.has(question)), ...values]);
    // A select without a table in `from` has one row.
    return (await hot.query<{ haveWork: (boolean | null)[] }>(query)).rows[0]!.haveWork;
  }

  return {
    add(question) {
      questions.push(question);
      yesAtMs.push(performance.now());
      prepare = null;
      return async (inMs, signal) => {
        if (signal.aborted) return false;
        const { promise, resolve, reject } = Promise.withResolvers<boolean>();
        const nowMs = performance.now();
        const fromMs = nowMs + inMs - Math.min(inMs / 2, EARLIER_MS_MAX);
        waiting.set(question, { fromMs, byMs: nowMs + inMs, resolve, reject });
        plan();
        const leave = (): void => {
          waiting.delete(question);
          resolve(false);
          plan();
        };
        signal.addEventListener('abort', leave);
        try {
          return await promise;
        } finally {
          signal.removeEventListener('abort', leave);
        }
      };
    },
  };
}

/** One question for several. Equal names have equal values. */
export function anyOf(questions: readonly WorkQuestion[]): WorkQuestion {
  return {
    sql: questions.map(({ sql }) => `(${sql})`).join(' or '),
    values: () => Object.assign({}, ...questions.map(({ values }) => values?.())),
  };
}

const NAME = /\$([a-z]\w*)/gi;

const namesIn = (sql: string): string[] => [...new Set(Array.from(sql.matchAll(NAME), ([, name]) => name!))];

/** Returns the query for some values: whether each question is asked, and the values of all. `case`: one that is not asked costs nothing. */
function prepareAsk(questions: readonly WorkQuestion[]): (values: unknown[]) => PreparedQuery {
  let before = 1;
  const cases = questions.map(({ sql }, index) => {
    const names = namesIn(sql);
    const own = sql.replaceAll(NAME, (_, name: string) => `$${before + names.indexOf(name) + 1}`);
    before += names.length;
    return `case when ($1::boolean[])[${index + 1}] then ${own} end`;
  });
  const statement = literal({
    name: 'who-has-work',
    purpose: 'Read which rounds of a process have work, of those that are asked for.',
    text: `select array[${cases.join(',\n')}]::boolean[] as "haveWork"`,
  });
  // Such digits are no part of its name in figures.
  const name = `${statement.name}-${(texts++).toString(2)}`;
  return (values) => ({ ...statement.prepared(values), name });
}
