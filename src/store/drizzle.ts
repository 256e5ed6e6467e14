// Pieces of SQL with their values, composed by drizzle: an object has the text and the values that `pg` takes, and can stand in another
// template. The parts of drizzle that compose SQL are loaded alone, and as CommonJS: its package.json lists 178 kB of exports, which Node
// reads again for each of its ES modules, 380 ms and 150 MB at every start.
import { createRequire } from 'node:module';
import type { SQL } from 'drizzle-orm/sql/sql';

const require = createRequire(import.meta.url);
const drizzle = require('drizzle-orm/sql/sql') as typeof import('drizzle-orm/sql/sql');
const { PgDialect } = require('drizzle-orm/pg-core/dialect') as typeof import('drizzle-orm/pg-core/dialect');
const dialect = new PgDialect();

export class Sql {
  readonly piece: SQL;

  constructor(piece: SQL) {
    this.piece = piece;
  }

  get text(): string {
    return dialect.sqlToQuery(this.piece).sql;
  }

  get values(): unknown[] {
    return dialect.sqlToQuery(this.piece).params;
  }
}

/** A piece of SQL. What is no piece of SQL is a value; a list is one value, an array. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Sql {
  const parts = values.map((value) => (value instanceof Sql ? value.piece : drizzle.sql.param(value)));
  return new Sql(drizzle.sql(strings, ...parts));
}

/** Text that stands in the SQL as it is. */
export function raw(text: string): Sql {
  return new Sql(drizzle.sql.raw(text));
}

export function join(pieces: readonly Sql[], separator: string): Sql {
  return new Sql(
    drizzle.sql.join(
      pieces.map(({ piece }) => piece),
      drizzle.sql.raw(separator),
    ),
  );
}
