// The kinds of columns of the tables of this folder. `migrations/` is authoritative for what a
// column is; a test compares the two. As CommonJS, like all of drizzle (see
// src/database/drizzle.ts).
import { createRequire } from 'node:module';
import { storedOptions, type InputOptions } from '../core/input-options.ts';

const require = createRequire(import.meta.url);
const { bigint, boolean, customType, integer, json, pgSchema, text, timestamp, uuid } =
  require('drizzle-orm/pg-core') as typeof import('drizzle-orm/pg-core');
const { sql } = require('drizzle-orm/sql') as typeof import('drizzle-orm/sql');

export { boolean, integer, json, text, uuid };

/** The tables. A column has the name of its field in snake case, unless it says another. */
export const holdfast = pgSchema('holdfast');

/** A bigint that stays far below 2^53. */
export const count = () => bigint({ mode: 'number' });

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

export const time = () => timestamp({ withTimezone: true });

/** A time, in milliseconds since the epoch. */
export const ms = customType<{ data: number; driverData: string | Date }>({
  dataType: () => 'timestamp with time zone',
  fromDriver: (time) => new Date(time).getTime(),
  toDriver: (timeMs) => new Date(timeMs),
});

/** A time, as the API shows it. */
export const iso = customType<{ data: string; driverData: string | Date }>({
  dataType: () => 'timestamp with time zone',
  toDriver: (time) => new Date(time),
  fromDriver: (time) => new Date(time).toISOString(),
});

/** The options of an input; null: none. */
export const options = customType<{ data: InputOptions; driverData: string | null }>({
  dataType: () => 'json',
  toDriver: storedOptions,
});

/** The time of the database. */
export const now = sql`clock_timestamp()`;

/** The time of the database in so many milliseconds; negative: before. */
export const fromNow = (inMs: number) => sql`clock_timestamp() + ${inMs}::float8 * interval '1 millisecond'`;
