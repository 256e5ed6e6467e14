// A statement and the function that sends it, as one declaration. The function has the facts of the
// statement, so it stands in the catalogue (`npm run sql`). Faults that pass are retried, so a
// statement that is not safe to send again has `retryMs: 0`.
import type { ClientBase, Pool, QueryResultRow } from 'pg';
import { REQUEST_RETRY_MS } from './passing-faults.ts';
import { sendQuery, literal, type PreparedQuery, type Statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

interface QueryParts<Args extends unknown[], Row, Answer> {
  name: string;
  /** Its purpose, and its result. */
  purpose: string;
  /** Which rows it locks, and in which order; absent: none. */
  locking?: string;
  /** The connections that send it; absent: `hot`. */
  pool?: 'hot' | 'views';
  /** How long it is sent again after faults that pass; 0: it is sent once. */
  retryMs?: number;
  text: string;
  /**
   * The values of `$1`, `$2`, ..., or those of `$name` by their names, absent ones null; absent:
   * there are none.
   */
  values?: (...args: Args) => unknown[] | object;
  /** What the function resolves with; absent: nothing. */
  answer?: (rows: Row[], ...args: Args) => Answer;
}

type Query<From, Args extends unknown[], Answer> = Statement<unknown[]> &
  ((from: From, ...args: Args) => Promise<Answer>);

/** Makes the function of a statement, which is sent by itself or within a transaction. */
export function literalQuery<Args extends unknown[] = [], Row extends object = object, Answer = void>(
  parts: QueryParts<Args, Row, Answer>,
): Query<Readonly<Record<'hot' | 'views', Pool>> | Transaction, Args, Answer> {
  const { pool = 'hot', retryMs = REQUEST_RETRY_MS } = parts;
  return makeQuery(parts, (from, query, answer) =>
    'write' in from
      ? from.query(query, answer)
      : sendQuery<Row & QueryResultRow>(from[pool], query, retryMs).then(answer),
  );
}

/** A connection, or a pool of them. */
type Connections = Pick<Pool | ClientBase, 'query'>;

/**
 * Makes the function of a statement that reads for a view, through the connections that it is
 * given; it is not sent again.
 */
export function viewQuery<Args extends unknown[] = [], Row extends object = object, Answer = void>(
  parts: Omit<QueryParts<Args, Row, Answer>, 'locking' | 'pool' | 'retryMs'>,
): Query<Connections, Args, Answer> {
  return makeQuery(parts, async (db, query, answer) => answer((await db.query<Row & QueryResultRow>(query)).rows));
}

function makeQuery<From, Args extends unknown[], Row, Answer>(
  parts: QueryParts<Args, Row, Answer>,
  send: (from: From, query: PreparedQuery, answer: (rows: Row[]) => Answer) => Promise<Answer>,
): Query<From, Args, Answer> {
  const { values = () => [], answer = () => undefined as Answer } = parts;
  const { text, names } = numberNames(parts.text);
  const statement = literal({ ...parts, text });
  const query = (from: From, ...args: Args): Promise<Answer> => {
    const given = values(...args);
    const prepared = statement.prepared(Array.isArray(given) ? given : names.map((name) => readValue(given, name)));
    return send(from, prepared, (rows) => answer(rows, ...args));
  };
  return Object.defineProperties(query, Object.getOwnPropertyDescriptors(statement)) as Query<From, Args, Answer>;
}

/** A text that names its values with their numbers instead, and the names in the order of these. */
export function numberNames(named: string): { text: string; names: string[] } {
  const names: string[] = [];
  const text = named.replaceAll(/\$([a-z]\w*)/gi, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text, names };
}

/** The value of a name; null: there is none. */
export function readValue(given: object, name: string): unknown {
  return (given as Record<string, unknown>)[name] ?? null;
}
