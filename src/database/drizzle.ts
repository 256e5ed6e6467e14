// SQL composed by drizzle: pieces of SQL with their values, and queries of the tables of
// `src/rows/`. Drizzle is loaded as CommonJS: its package.json lists 178 kB of exports, which Node
// reads again for each of its ES modules, 380 ms and 200 MB at every start.
import { createRequire } from 'node:module';
import type { NodePgQueryResultHKT } from 'drizzle-orm/node-postgres/session';
import type { Pool, PoolClient } from 'pg';
import { retryPassingFaults } from './passing-faults.ts';

const require = createRequire(import.meta.url);
const drizzle = require('drizzle-orm/sql') as typeof import('drizzle-orm/sql');
const { Column } = require('drizzle-orm/column') as typeof import('drizzle-orm/column');
const { PgDatabase } = require('drizzle-orm/pg-core/db') as typeof import('drizzle-orm/pg-core/db');
const { PgDialect } = require('drizzle-orm/pg-core/dialect') as typeof import('drizzle-orm/pg-core/dialect');
const { NodePgSession } =
  require('drizzle-orm/node-postgres/session') as typeof import('drizzle-orm/node-postgres/session');
const dialect = new PgDialect({ casing: 'snake_case' });

export const { and, desc, eq, gt, inArray, isNotNull, isNull, lt, lte, ne, or } = drizzle;

/**
 * A piece of SQL: it has the text and the values that `pg` takes, and can stand in another one and
 * in a query of drizzle.
 */
export class Sql<Value = unknown> extends drizzle.SQL<Value> {
  get text(): string {
    return dialect.sqlToQuery(this).sql;
  }

  get values(): unknown[] {
    return dialect.sqlToQuery(this).params;
  }
}

/**
 * A piece of SQL. What is neither a piece nor a column is a value; a list is one value, an array.
 */
export function sql<Value = unknown>(strings: TemplateStringsArray, ...values: unknown[]): Sql<Value> {
  const isPart = (value: unknown): boolean => value instanceof drizzle.SQL || value instanceof Column;
  return new Sql(
    drizzle.sql(strings, ...values.map((value) => (isPart(value) ? value : drizzle.sql.param(value)))).queryChunks,
  );
}

/** Text that stands in the SQL as it is. */
export function raw(text: string): Sql {
  return new Sql(drizzle.sql.raw(text).queryChunks);
}

export function join(pieces: readonly Sql[], separator: string): Sql {
  return new Sql(drizzle.sql.join([...pieces], drizzle.sql.raw(separator)).queryChunks);
}

/** What queries of the tables begin with: `db.select()`, `db.insert(...)`. */
export type Rows = import('drizzle-orm/pg-core/db').PgDatabase<NodePgQueryResultHKT, Record<string, never>>;

/**
 * All share the dialect, which remembers the names of columns: a query takes 60 µs to build, with a
 * dialect of its own 150.
 */
export const openRows = (client: Pool | PoolClient): Rows =>
  new PgDatabase(dialect, new NodePgSession(client, dialect, undefined), undefined);

/**
 * Makes a query; again after faults that pass, if it is harmless to make it twice and `retryMs`
 * says for how long. Rejects with the error of PostgreSQL: the one that drizzle wraps around it has
 * the values in its message.
 */
export function query<Result>(pool: Pool, make: (db: Rows) => PromiseLike<Result>, retryMs = 0): Promise<Result> {
  return retryPassingFaults(() => rejecting(make(openRows(pool))), retryMs);
}

async function rejecting<Result>(work: PromiseLike<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw unwrapFault(error);
  }
}

/** The error of PostgreSQL that drizzle has wrapped; any other error as it is. */
export function unwrapFault(error: unknown): unknown {
  return error instanceof Error && 'query' in error && 'params' in error ? error.cause : error;
}
