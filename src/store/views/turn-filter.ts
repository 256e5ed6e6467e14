// Which turns a filter finds. Session, status, batch, time and named things are conditions with an index; the others look at the rows that
// those leave, newest first and only so many of them. So a page costs the same however many turns there are: when it has read that many,
// it may have fewer items than its limit, and the next page continues where it stopped.
import { join, raw, type Sql, sql } from '../drizzle.ts';
import { isUuid } from '../../core/ids.ts';
import type { Tags } from '../../core/input-options.ts';
import { idAt } from '../id-of-time.ts';
import { findTurns, type NamedThings } from './find-things.ts';
import type { Page, PageRequest, ViewDatabase } from './page.ts';

export interface TurnFilter {
  sessionKey?: string | undefined;
  statuses?: string[] | undefined;
  kind?: string | undefined;
  lane?: string | undefined;
  /** Turns that started then or later. */
  since?: Date | undefined;
  /** Turns that started before. */
  until?: Date | undefined;
  agentId?: string | undefined;
  /** The model as the turn shows it, or with its provider in front. */
  model?: string | undefined;
  /** Turns that called this tool. */
  tool?: string | undefined;
  /** The code of their error. */
  code?: string | undefined;
  worker?: string | undefined;
  /** Turns of the items of this batch, of all attempts. */
  batchId?: string | undefined;
  /** Turns that took at least so long; those that still run, until now. */
  msMin?: number | undefined;
  costMicrosMin?: number | undefined;
  /** Turns with these tags. */
  tags?: Tags | undefined;
  /** An id, a session key, the platform id of a message or an error code; otherwise a part of the session key. */
  text?: string | undefined;
}

/** The maximum number of turns that one page, and a count, reads. */
const LOOKED_AT_MAX = 20_000;
const COUNT_LOOKED_AT_MAX = 50_000;

/** A count stops here. */
export const COUNT_MAX = 10_000;

const BAD = ['failed', 'aborted', 'timedOut'];
const OPEN = ['running', 'parked'];

/** A filter whose text was looked up. */
interface ResolvedFilter extends TurnFilter {
  named: NamedThings | null;
}

/** Looks up the objects that the text of a filter names. */
async function resolve(db: ViewDatabase, filter: TurnFilter): Promise<ResolvedFilter> {
  if (filter.text === undefined) return { ...filter, named: null };
  const named = await findTurns(db, filter.text);
  const isFound = named.turnIds.length > 0 || named.sessionIds.length > 0;
  // An id that names nothing finds nothing; keys are not searched for it.
  return { ...filter, named: isFound || isUuid(filter.text) ? named : null };
}

/** The ids of turns that a filter finds, newest first. */
export async function findTurnIds(db: ViewDatabase, filter: TurnFilter, page: PageRequest): Promise<Page<string>> {
  const resolved = await resolve(db, filter);
  const { rows } = await db.query<{ id: string }>(matchingSql(resolved, page, LOOKED_AT_MAX));
  const ids = rows.map(({ id }) => id);
  if (ids.length > page.limit) return { items: ids.slice(0, page.limit), next: ids[page.limit - 1] ?? null };
  if (restOf(resolved).length === 0) return { items: ids, next: null };
  const last = sql`select t.id from holdfast.turns t where ${allOf(indexedOf(resolved, page.after))}
    order by t.id desc offset ${LOOKED_AT_MAX - 1} limit 1`;
  const { rows: lookedAt } = await db.query<{ id: string }>(last);
  return { items: ids, next: lookedAt[0]?.id ?? null };
}

/** The ids of all turns that match a filter, oldest first, at most `limit`. It reads every turn for which there is no better index. */
export async function findAllTurnIds(db: ViewDatabase, filter: TurnFilter, limit: number): Promise<string[]> {
  const resolved = await resolve(db, filter);
  const { rows } = await db.query<{ id: string }>(matchingSql(resolved, { limit: limit - 1, after: null }, null));
  return rows.map(({ id }) => id).reverse();
}

/** How many turns a filter finds. `isCapped`: there may be more. */
export async function countTurns(db: ViewDatabase, filter: TurnFilter): Promise<{ count: number; isCapped: boolean }> {
  const { rows } = await db.query<{ count: number; is_whole: boolean }>(await countQuery(db, filter));
  const { count, is_whole: isWhole } = rows[0] ?? { count: 0, is_whole: true };
  return { count: Math.min(count, COUNT_MAX), isCapped: count > COUNT_MAX || !isWhole };
}

/** SQL of the number of turns, and of whether all of them were counted. */
export async function countQuery(db: ViewDatabase, filter: TurnFilter): Promise<Sql> {
  const resolved = await resolve(db, filter);
  const matching = matchingSql(resolved, { limit: COUNT_MAX, after: null }, COUNT_LOOKED_AT_MAX);
  const count = sql`(select count(*)::int from (${matching}) as matching) as count`;
  if (restOf(resolved).length === 0) return sql`select ${count}, true as is_whole`;
  return sql`select ${count}, not exists (select from holdfast.turns t where ${allOf(indexedOf(resolved, null))}
    order by t.id desc offset ${COUNT_LOOKED_AT_MAX}) as is_whole`;
}

/** SQL of the ids of a page. */
export async function pageQuery(db: ViewDatabase, filter: TurnFilter, page: PageRequest): Promise<Sql> {
  return matchingSql(await resolve(db, filter), page, LOOKED_AT_MAX);
}

/** SQL of the ids of a page and of the one after it. Look-ups in scalar queries are by an index; a join could read a whole table. */
function matchingSql(filter: ResolvedFilter, page: PageRequest, lookedAtMax: number | null): Sql {
  const indexed = allOf(indexedOf(filter, page.after));
  const rest = restOf(filter);
  if (rest.length === 0) {
    return sql`select t.id from holdfast.turns t where ${indexed} order by t.id desc limit ${page.limit + 1}`;
  }
  return sql`select t.id from (select * from holdfast.turns t where ${indexed} order by t.id desc limit ${lookedAtMax}) as t
    where ${allOf(rest)} order by t.id desc limit ${page.limit + 1}`;
}

/** The conditions that an index answers. */
function indexedOf(filter: ResolvedFilter, after: string | null): Sql[] {
  const { sessionKey, statuses, since, until, batchId, code, tags, named } = filter;
  const conditions: Sql[] = [];
  if (after !== null) conditions.push(sql`t.id < ${after}`);
  if (sessionKey !== undefined) {
    conditions.push(sql`t.session_id = (select s.id from holdfast.sessions s where s.key = ${sessionKey})`);
  }
  if (statuses !== undefined && isWithin(statuses, OPEN)) conditions.push(sql`t.ended_at is null`);
  const status = statusOf(filter);
  if (status !== null) conditions.push(sql`t.status = ${raw(`'${status}'`)}`);
  if (code !== undefined || (statuses !== undefined && isWithin(statuses, BAD))) {
    conditions.push(sql`t.status in ('failed', 'aborted', 'timedOut')`);
  }
  // Ids begin with the time at which they were made, by a clock that may differ from that of the database.
  if (since !== undefined) conditions.push(sql`t.id >= ${idAt(since.getTime() - DAY_MS)}`);
  if (until !== undefined) conditions.push(sql`t.id < ${idAt(until.getTime() + DAY_MS)}`);
  if (batchId !== undefined) {
    conditions.push(sql`t.id = any (array(select i.turn_id from holdfast.batch_items b
      cross join lateral generate_series(1, b.attempt) as tries (attempt)
      cross join lateral (select turn_id from holdfast.inbox
        where cause_key = 'batch:' || b.batch_id || ':' || b.n || ':' || tries.attempt limit 1) as i
      where b.batch_id = ${batchId}))`);
  }
  if (tags !== undefined) conditions.push(sql`t.tags @> ${JSON.stringify(tags)}::jsonb`);
  if (named !== null) {
    conditions.push(sql`(t.id = any (${named.turnIds}::uuid[]) or t.session_id = any (${named.sessionIds}::uuid[]))`);
  }
  return conditions;
}

/** The others. */
function restOf(filter: ResolvedFilter): Sql[] {
  const { statuses, kind, lane, since, until, agentId, model, tool, code, worker, msMin, costMicrosMin } = filter;
  const conditions: Sql[] = [];
  if (statuses !== undefined && statusOf(filter) === null) conditions.push(sql`t.status = any (${statuses}::text[])`);
  if (kind !== undefined) conditions.push(sql`t.kind = ${kind}`);
  if (lane !== undefined) conditions.push(sql`t.lane = ${lane}`);
  if (since !== undefined) conditions.push(sql`t.started_at >= ${since.toISOString()}`);
  if (until !== undefined) conditions.push(sql`t.started_at < ${until.toISOString()}`);
  if (worker !== undefined) conditions.push(sql`t.worker = ${worker}`);
  if (model !== undefined) conditions.push(sql`t.model in (${model}, ${model.replace(/^anthropic\//, '')})`);
  if (code !== undefined) conditions.push(sql`t.error::text ~ ${codePattern(code)}`);
  if (costMicrosMin !== undefined) conditions.push(sql`t.cost_micros >= ${costMicrosMin}`);
  if (msMin !== undefined) {
    conditions.push(
      sql`coalesce(t.ended_at, clock_timestamp()) - t.started_at >= ${msMin}::float8 * interval '1 millisecond'`,
    );
  }
  if (agentId !== undefined) {
    conditions.push(sql`(select s.agent_id from holdfast.sessions s where s.id = t.session_id) = ${agentId}`);
  }
  if (tool !== undefined) {
    conditions.push(
      sql`coalesce((select true from holdfast.tool_calls c where c.turn_id = t.id and c.name = ${tool} limit 1), false)`,
    );
  }
  const { text, named } = filter;
  if (text !== undefined && named === null) conditions.push(containsSql(text));
  return conditions;
}

/** The only status of the filter, if an index has the turns with it in the order of their ids; else null. */
function statusOf({ statuses }: ResolvedFilter): string | null {
  const [status, ...others] = statuses ?? [];
  return status !== undefined && others.length === 0 && [...OPEN, ...BAD].includes(status) ? status : null;
}

function containsSql(text: string): Sql {
  const inKey = sql`strpos((select s.key from holdfast.sessions s where s.id = t.session_id), lower(${text}::text)) > 0`;
  return CODE.test(text) ? sql`(${inKey} or t.error::text ~ ${codePattern(text)})` : inKey;
}

const DAY_MS = 86_400_000;
const CODE = /^[\w.-]+$/;

/** Matches the text of an error with this code. Reading the field would fail if another field has a NUL. */
function codePattern(code: string): string {
  return `"code"\\s*:\\s*"${code.replaceAll(/[^\w-]/g, String.raw`\$&`)}"`;
}

function isWithin(values: readonly string[], allowed: readonly string[]): boolean {
  return values.every((value) => allowed.includes(value));
}

function allOf(conditions: Sql[]): Sql {
  return conditions.length === 0 ? sql`true` : join(conditions, ' and ');
}
