// Asks for all rounds of a process together whether they have work: one statement a second, with a
// question for each (docs/decisions/0123). A round that has none is not begun, so a service that
// does nothing sends next to nothing.
import type { Database } from '../../database/database.ts';
import { isPassingFault } from '../../database/passing-faults.ts';
import { withDeadline } from '../../clock.ts';
import { literal, type PreparedQuery } from '../../database/statement.ts';

/**
 * A question whether there is work. It may answer yes when there is none, but never no when there
 * is some.
 */
export interface WorkQuestion {
  /**
   * SQL of a boolean, which indexes answer: it compares with `statement_timestamp()`, because no
   * index is searched for `clock_timestamp()`, which changes. It names its values:
   * `$names::text[]`.
   */
  readonly sql: string;
  /** The values by their names, of each time that it is asked; absent: there are none. */
  readonly values?: () => Readonly<Record<string, unknown>>;
}

/**
 * SQL of a time after the next question, which is asked every second. What is due by then counts as
 * work now; the round that follows sets a timer for the exact time.
 */
export const SOON_SQL = "statement_timestamp() + interval '2 seconds'";

/**
 * Resolves with the answer, which is asked for within so many milliseconds; with false when the
 * signal aborts. Rejects when the database does not answer.
 */
export type AskForWork = (inMs: number, signal: AbortSignal) => Promise<boolean>;

export interface WorkWatch {
  /**
   * Adds a question. Returns the function that asks it, which is called again only after it has
   * answered.
   */
  add(question: WorkQuestion): AskForWork;
}

/** A question that is asked by a time, of the monotonic clock, and not before another. */
interface Waiting {
  fromMs: number;
  byMs: number;
  resolve: (hasWork: boolean) => void;
  reject: (error: unknown) => void;
}

/**
 * A question is asked so much earlier, at most, to be part of the statement of another one. Half of
 * the time of each makes all of the same interval meet.
 */
const EARLIER_MS_MAX = 500;

/**
 * A round whose question has answered no for so long is begun all the same: a question that misses
 * a kind of work delays it, and no more.
 */
const ANYWAY_MS = 5 * 60_000;

/**
 * How long the statement may take. One that takes longer, since a table is locked or a question is
 * slow, must not hold up rounds that it does not concern.
 */
const LATE_MS = 1_000;

/**
 * How long nothing is asked, and every round is begun, after a statement that took too long or that
 * the database refused.
 */
const OFF_MS = 30_000;

/** Texts so far, of all watches: on a connection, different texts have different names. */
let texts = 0;

/** Makes the watch of a process. */
export function createWorkWatch(
  database: Pick<Database, 'hot' | 'outages'>,
  { anywayMs = ANYWAY_MS, lateMs = LATE_MS } = {},
): WorkWatch {
  return new Watch(database, { anywayMs, lateMs });
}

class Watch implements WorkWatch {
  readonly #database: Pick<Database, 'hot' | 'outages'>;
  readonly #limits: { anywayMs: number; lateMs: number };
  readonly #questions: WorkQuestion[] = [];
  readonly #waiting = new Map<WorkQuestion, Waiting>();
  /** When each question has answered yes last, or was added. */
  readonly #yesAtMs = new Map<WorkQuestion, number>();
  #prepare: ((values: unknown[]) => PreparedQuery) | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isAsking = false;
  #offUntilMs = 0;

  constructor(database: Pick<Database, 'hot' | 'outages'>, limits: { anywayMs: number; lateMs: number }) {
    this.#database = database;
    this.#limits = limits;
  }

  add(question: WorkQuestion): AskForWork {
    this.#questions.push(question);
    this.#yesAtMs.set(question, performance.now());
    this.#prepare = null;
    return async (inMs, signal) => {
      if (signal.aborted) return false;
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      const nowMs = performance.now();
      const fromMs = nowMs + inMs - Math.min(inMs / 2, EARLIER_MS_MAX);
      this.#waiting.set(question, { fromMs, byMs: nowMs + inMs, resolve, reject });
      this.#plan();
      const leave = (): void => {
        this.#waiting.delete(question);
        resolve(false);
        this.#plan();
      };
      signal.addEventListener('abort', leave);
      try {
        return await promise;
      } finally {
        signal.removeEventListener('abort', leave);
      }
    };
  }

  #plan(): void {
    clearTimeout(this.#timer);
    if (this.#isAsking || this.#waiting.size === 0) return;
    const byMs = Math.min(...Array.from(this.#waiting.values(), (one) => one.byMs));
    this.#timer = setTimeout(() => void this.#askAll(), Math.max(0, byMs - performance.now()));
  }

  async #askAll(): Promise<void> {
    const nowMs = performance.now();
    const asked = [...this.#waiting].filter(([, { fromMs }]) => fromMs <= nowMs);
    for (const [question] of asked) this.#waiting.delete(question);
    this.#isAsking = true;
    try {
      const haveWork = await this.#whichHaveWork(new Set(asked.map(([question]) => question)));
      for (const [question, { resolve }] of asked) {
        const hasWork = haveWork(question) || nowMs - this.#yesAtMs.get(question)! >= this.#limits.anywayMs;
        if (hasWork) this.#yesAtMs.set(question, nowMs);
        resolve(hasWork);
      }
    } catch (error) {
      for (const [, { reject }] of asked) reject(error);
    }
    this.#isAsking = false;
    this.#plan();
  }

  /**
   * Rejects while the database is away. Any other failure is that of one question, and each round
   * then finds out by itself.
   */
  async #whichHaveWork(asked: ReadonlySet<WorkQuestion>): Promise<(question: WorkQuestion) => boolean> {
    if (performance.now() < this.#offUntilMs) return () => true;
    const late = (): Error => new LateError(this.#limits.lateMs);
    try {
      const answers = await withDeadline({ ms: this.#limits.lateMs, late }, () => this.#ask(asked));
      return (question) => answers[this.#questions.indexOf(question)] === true;
    } catch (error) {
      if (isPassingFault(error)) throw error;
      this.#database.outages.report(
        error,
        `The database did not say which rounds have work; for ${OFF_MS / 1_000} s, each looks for its own`,
      );
      this.#offUntilMs = performance.now() + OFF_MS;
      return () => true;
    }
  }

  async #ask(asked: ReadonlySet<WorkQuestion>): Promise<readonly (boolean | null)[]> {
    const questions = this.#questions;
    this.#prepare ??= prepareAsk(questions);
    const values = questions.flatMap(({ sql, values: read }) => {
      const given = read?.();
      return namesIn(sql).map((name) => given?.[name] ?? null);
    });
    const query = this.#prepare([questions.map((question) => asked.has(question)), ...values]);
    // A select without a table in `from` has one row.
    return (await this.#database.hot.query<{ haveWork: (boolean | null)[] }>(query)).rows[0]!.haveWork;
  }
}

class LateError extends Error {
  override readonly name = 'LateError';

  constructor(ms: number) {
    super(`the statement has not answered within ${ms} ms`);
  }
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

/**
 * Returns the query for some values: whether each question is asked, and the values of all. `case`:
 * one that is not asked costs nothing.
 */
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
