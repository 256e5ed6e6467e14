// Measures how long the statements of a pool take, with the wait for a connection.
import type { Pool } from 'pg';

/** The digits for the options of a statement, which are no part of its name. */
const OPTIONS = /-[01]+$/;

/** Replaces the pool's `query` by one that measures statements with a name. */
export function timeStatements(pool: Pool, onStatement: (name: string, durationMs: number) => void): void {
  const send = pool.query.bind(pool) as (...values: unknown[]) => unknown;
  const query = (...values: unknown[]): unknown => {
    const name = readName(values[0]);
    const answer = send(...values);
    if (name === null || !(answer instanceof Promise)) return answer;
    const startedAt = performance.now();
    const end = (): void => onStatement(name, performance.now() - startedAt);
    answer.then(end, end);
    return answer;
  };
  // It accepts and returns the same as each form of the pool's own method.
  pool.query = query as Pool['query'];
}

function readName(query: unknown): string | null {
  const name = (query as { name?: unknown } | null)?.name;
  return typeof name === 'string' ? name.replace(OPTIONS, '') : null;
}
