// Which turns a filter finds: an index answers the conditions for session, status, batch, time and
// named things (`find-things.ts`).
import { raw, sql, type Sql } from '../../database/drizzle.ts';
import { isUuid } from '../../core/ids.ts';
import type { SessionKind } from '../../core/session-key.ts';
import type { NamedValues } from '../../contract/scores.ts';
import type { Tags } from '../../core/input-options.ts';
import { idAt, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';
import { retryableSql } from '../turn/journal/retry-turn.ts';
import { EVERYTHING, type Scope } from '../../core/scope.ts';
import { newestSql } from '../../database/scope-sql.ts';
import {
  edgeQuery,
  filterRows,
  findAllIds,
  findIds,
  findThings,
  sessionIdSql,
  matchingSql,
  type Filtered,
  type NamedThings,
} from './find-things.ts';

export interface TurnFilter {
  sessionKey?: string | undefined;
  statuses?: string[] | undefined;
  /** Only turns that can be retried: `decideRetry` says which. */
  isRetryable?: boolean | undefined;
  kind?: string | undefined;
  /** Turns of these kinds are left out. */
  exceptKinds?: string[] | undefined;
  /** Turns in sessions of these kinds are left out. */
  exceptSessionKinds?: SessionKind[] | undefined;
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
  /** Turns with a call that ended so, of the tool if there is one. */
  callStatus?: 'unknown' | undefined;
  /** The code of their error. */
  code?: string | undefined;
  worker?: string | undefined;
  /** Turns of the items of this batch, of all attempts. */
  batchId?: string | undefined;
  /** Turns that took at least so long; those that still run, until now. */
  msMin?: number | undefined;
  costMicrosMin?: number | undefined;
  /** Turns with a score of this name that has one of these values. */
  score?: NamedValues | undefined;
  /** Turns with these tags. */
  tags?: Tags | undefined;
  /**
   * An id, a session key, the platform id of a message or an error code; otherwise a part of the
   * session key.
   */
  text?: string | undefined;
}

/** The maximum number of turns that a count reads. */
const COUNT_READ_MAX = 50_000;

/** How many scores a filter by scores reads, those of the newest turns. */
const SCORES_READ_MAX = 50_000;

/** A count stops here. */
export const COUNT_MAX = 10_000;

/** The most calls with an unknown outcome whose turns are found, the newest. */
const UNKNOWN_MAX = 10_000;

const BAD = ['failed', 'aborted', 'timedOut'];
const OPEN = ['running', 'parked', 'resuming', 'interrupted'];
/** An index has the turns with each of them in the order of their ids. */
const INDEXED = [...OPEN, ...BAD];

/** Those of a scope. */
export type SeenTurns = TurnFilter & { scope: Scope };

/** The turns that a filter finds. */
export async function filterTurns(db: ViewDatabase, filter: SeenTurns): Promise<Filtered> {
  const { text, scope } = filter;
  const named = text === undefined ? null : await findNamed(db, text, scope);
  return filterRows('turns', scope, {
    few: buildFew(filter, named),
    spans: buildSpans(filter),
    ordered: buildOrdered(filter),
    rest: buildRest(filter, named),
  });
}

/** Null: the text names nothing, and is searched for. */
async function findNamed(db: ViewDatabase, text: string, scope: Scope): Promise<NamedThings | null> {
  const named = await findThings(db, text, scope);
  // An id that names nothing finds nothing; keys are not searched for it.
  return isUuid(text) || named.turnIds.length + named.sessionIds.length > 0 ? named : null;
}

/** The ids of turns that a filter finds, newest first. */
export async function findTurnIds(db: ViewDatabase, filter: SeenTurns, page: PageRequest): Promise<Page<string>> {
  return findIds(db, await filterTurns(db, filter), page);
}

/** The ids of all turns of the service that match a filter, oldest first, at most `limit`. */
export async function findAllTurnIds(db: ViewDatabase, filter: TurnFilter, limit: number): Promise<string[]> {
  return findAllIds(db, await filterTurns(db, { ...filter, scope: EVERYTHING }), limit);
}

/** How many turns a filter finds. `isCapped`: there may be more. */
export async function countTurns(db: ViewDatabase, filter: SeenTurns): Promise<{ count: number; isCapped: boolean }> {
  const { rows } = await db.query<{ count: number; is_whole: boolean }>(await countQuery(db, filter));
  const { count, is_whole: isWhole } = rows[0] ?? { count: 0, is_whole: true };
  return { count: Math.min(count, COUNT_MAX), isCapped: count > COUNT_MAX || !isWhole };
}

/** SQL of the number of turns, and of whether all of them were read. */
export async function countQuery(db: ViewDatabase, filter: SeenTurns): Promise<Sql> {
  const filtered = await filterTurns(db, filter);
  const matching = matchingSql(filtered, { limit: COUNT_MAX, after: null }, COUNT_READ_MAX);
  const count = sql`(select count(*)::int from (${matching}) as matching) as count`;
  if (filtered.rest.length === 0) return sql`select ${count}, true as is_whole`;
  return sql`select ${count}, not exists (${edgeQuery(filtered, { after: null, readMax: COUNT_READ_MAX })}) as is_whole`;
}

/** Spans of time, of ids. */
function buildSpans({ since, until }: TurnFilter): Sql[] {
  const conditions: Sql[] = [];
  // Ids begin with the time at which they were made, by a clock that may differ from that of the
  // database.
  if (since !== undefined) conditions.push(sql`t.id >= ${idAt(since.getTime() - DAY_MS)}`);
  if (until !== undefined) conditions.push(sql`t.id < ${idAt(until.getTime() + DAY_MS)}`);
  return conditions;
}

/** That of statuses whose turns an index has in the order of their ids. Only turns that ended badly have a code. */
function buildOrdered({ statuses, code }: TurnFilter): { either: Sql[]; all: Sql } | undefined {
  const indexed = statuses !== undefined && isWithin(statuses, INDEXED) ? statuses : code === undefined ? null : BAD;
  if (indexed === null) return undefined;
  const either = indexed.map((one) => raw(`t.status = '${one}'${OPEN.includes(one) ? ' and t.ended_at is null' : ''}`));
  return { either, all: sql`t.status = any (${indexed}::text[])` };
}

/** Those that leave few turns, which an index finds. */
function buildFew(filter: SeenTurns, named: NamedThings | null): Sql[] {
  const { scope, sessionKey, statuses, batchId, tags, score, callStatus } = filter;
  const conditions: Sql[] = [];
  if (sessionKey !== undefined) conditions.push(sql`t.session_id = ${sessionIdSql(sessionKey, scope)}`);
  // Those of a scope that are open may be older than what a page of it reads.
  if (scope !== EVERYTHING && statuses !== undefined && isWithin(statuses, OPEN)) {
    conditions.push(sql`t.ended_at is null`);
  }
  if (batchId !== undefined) {
    conditions.push(sql`t.id = any (array(select i.turn_id from holdfast.batch_items b
      cross join lateral generate_series(1, b.attempt) as tries (attempt)
      cross join lateral (select turn_id from holdfast.inbox
        where cause_key = 'batch:' || b.batch_id || ':' || b.n || ':' || tries.attempt limit 1) as i
      where b.batch_id = ${batchId}))`);
  }
  if (score !== undefined) {
    conditions.push(sql`t.id = any (array(${scoredSql(scope, score)}))`);
  }
  if (callStatus !== undefined && scope === EVERYTHING) {
    conditions.push(sql`t.id = any (array(select c.turn_id from holdfast.tool_calls c
      where ${isCallSql(filter)} order by c.unknown_at desc limit ${UNKNOWN_MAX}))`);
  }
  if (tags !== undefined) conditions.push(sql`t.tags @> ${JSON.stringify(tags)}::jsonb`);
  if (named !== null) {
    conditions.push(sql`(t.id = any (${named.turnIds}::uuid[]) or t.session_id = any (${named.sessionIds}::uuid[]))`);
  }
  return conditions;
}

/** SQL of the turns with one of the values. */
function scoredSql(scope: Scope, { name, values }: NamedValues): Sql {
  const said = values.map((value) => JSON.stringify(value));
  if (scope !== EVERYTHING) {
    return sql`select r.turn_id from (${newestSql(scope, 'turn_scores', SCORES_READ_MAX)}) as r where r.name = ${name} and r.value = any (${said}::jsonb[])`;
  }
  // One value after the other: of one, the index has the turns in the order of their ids.
  return sql`select found.turn_id from unnest(${said}::jsonb[]) as said (value) cross join lateral (
    select r.turn_id from holdfast.turn_scores r where r.name = ${name} and r.value = said.value
    order by r.turn_id desc limit ${raw(String(SCORES_READ_MAX))}) as found`;
}

/** The condition of the calls `c` of a tool, and of those with a status. */
function isCallSql({ tool, callStatus }: TurnFilter): Sql {
  const isOfTool = tool === undefined ? raw('true') : sql`c.name = ${tool}`;
  return callStatus === undefined ? isOfTool : sql`c.unknown_at is not null and ${isOfTool}`;
}

/** The others. */
function buildRest(filter: SeenTurns, named: NamedThings | null): Sql[] {
  const { scope, statuses, kind, exceptKinds, exceptSessionKinds, lane, since, until, agentId } = filter;
  const { model, tool, callStatus, code, worker, msMin, costMicrosMin } = filter;
  const conditions: Sql[] = [];
  if (statuses !== undefined && !isWithin(statuses, INDEXED))
    conditions.push(sql`t.status = any (${statuses}::text[])`);
  if (filter.isRetryable === true) conditions.push(raw(retryableSql('t.id')));
  if (kind !== undefined) conditions.push(sql`t.kind = ${kind}`);
  if (exceptKinds !== undefined) conditions.push(sql`t.kind <> all (${exceptKinds}::text[])`);
  if (exceptSessionKinds !== undefined)
    conditions.push(
      sql`(select s.kind from holdfast.sessions s where s.id = t.session_id) <> all (${exceptSessionKinds}::text[])`,
    );
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
  // The index of unknown calls is one of the whole service.
  if (callStatus === undefined ? tool !== undefined : scope !== EVERYTHING) {
    conditions.push(
      sql`coalesce((select true from holdfast.tool_calls c where c.turn_id = t.id and ${isCallSql(filter)} limit 1), false)`,
    );
  }
  const { text } = filter;
  if (text !== undefined && named === null) conditions.push(containsSql(text));
  return conditions;
}

function containsSql(text: string): Sql {
  const inKey = sql`strpos((select s.key from holdfast.sessions s where s.id = t.session_id), lower(${text}::text)) > 0`;
  return CODE.test(text) ? sql`(${inKey} or t.error::text ~ ${codePattern(text)})` : inKey;
}

const DAY_MS = 86_400_000;
const CODE = /^[\w.-]+$/;

/**
 * Matches the text of an error with this code. Reading the field would fail if another field has a
 * NUL.
 */
function codePattern(code: string): string {
  return `"code"\\s*:\\s*"${code.replaceAll(/[^\w-]/g, String.raw`\$&`)}"`;
}

function isWithin(values: readonly string[], allowed: readonly string[]): boolean {
  return values.every((value) => allowed.includes(value));
}
