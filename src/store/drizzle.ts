// The one place where drizzle is loaded, and as CommonJS on purpose. Its package.json lists 178 kB of exports, which Node reads
// again for each of its ES modules: 380 ms and 150 MB at every start, against 130 ms and 10 MB this way. The types are the same.
import { createRequire } from 'node:module';
import type { SQL as SqlOfDrizzle } from 'drizzle-orm';

const require = createRequire(import.meta.url);

export const { and, asc, desc, eq, getTableColumns, gt, gte, inArray, lt, sql } =
  require('drizzle-orm') as typeof import('drizzle-orm');
export const { alias, bigint, boolean, customType, integer, json, jsonb, pgSchema, text, timestamp, uuid } =
  require('drizzle-orm/pg-core') as typeof import('drizzle-orm/pg-core');
export const { drizzle } = require('drizzle-orm/node-postgres') as typeof import('drizzle-orm/node-postgres');

/** A piece of SQL with its values. */
export type SQL = SqlOfDrizzle;
