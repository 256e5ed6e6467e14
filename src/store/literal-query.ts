// A statement and the function that sends it, as one declaration. The function has the facts of the statement, so it stands in the catalogue
// (`npm run sql`). Only for statements that are safe to send again: faults that pass are retried.
import type { Pool, QueryResultRow } from 'pg';
import { REQUEST_RETRY_MS } from './retry-passing-faults.ts';
import { sendQuery } from './send-query.ts';
import { literal, type VisibleStatement } from './statement.ts';

interface QueryParts<Args extends unknown[], Row, Answer> {
  name: string;
  /** Its purpose, and its result. */
  purpose: string;
  /** Which rows it locks, and in which order; absent: none. */
  locking?: string;
  /** The connections that send it; absent: `hot`. */
  pool?: 'hot' | 'views';
  /** How long it is sent again after faults that pass. */
  retryMs?: number;
  text: string;
  /** The values of its placeholders; absent: it has none. */
  values?: (...args: Args) => unknown[];
  /** What the function resolves with; absent: nothing. */
  answer?: (rows: Row[]) => Answer;
}

type Query<Args extends unknown[], Answer> = VisibleStatement &
  ((database: Readonly<Record<'hot' | 'views', Pool>>, ...args: Args) => Promise<Answer>);

/** Makes the function of a statement. */
export function literalQuery<Args extends unknown[] = [], Row = unknown, Answer = void>(
  parts: QueryParts<Args, Row, Answer>,
): Query<Args, Answer> {
  const { pool = 'hot', retryMs = REQUEST_RETRY_MS, values = () => [], answer = () => undefined as Answer } = parts;
  const statement = literal(parts);
  const send: (...args: Parameters<Query<Args, Answer>>) => Promise<Answer> = async (database, ...args) =>
    // The columns of the text are those of `Row`.
    answer((await sendQuery<QueryResultRow>(database[pool], statement.prepared(values(...args)), retryMs)) as Row[]);
  return Object.defineProperties(send, Object.getOwnPropertyDescriptors(statement)) as Query<Args, Answer>;
}
