// Reading the events in an order that is final. An id holds the number of the transaction that
// wrote it; below the number of the oldest transaction that still runs (the horizon) no event can
// appear any more, so a reader that stops there and continues from its last id sees each event once
// and misses none.
import { join, raw, type Sql, sql } from '../../database/drizzle.ts';
import type { Scope } from '../../core/scope.ts';
import { seenSql } from '../../database/scope-sql.ts';
import { sessionIdSql } from './find-things.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { EVENT_HORIZON_SQL, TRIM_MARK } from '../../database/event-ids.ts';
import type { ViewDatabase } from '../../database/page.ts';

export interface EventRow {
  id: bigint;
  sessionKey: string | null;
  /** That of its session; null: it has none. */
  root: string | null;
  turnId: string | null;
  type: string;
  data: Record<string, unknown>;
  at: string;
}

/**
 * Absent fields do not filter. `turn` names its session too, because that is what events are found
 * by.
 */
export interface EventFilter {
  scope: Scope;
  sessionKey?: string | undefined;
  turn?: { id: string; sessionId: string } | undefined;
  types?: readonly string[] | undefined;
}

/**
 * Events with an id over `after`, in order. It contains all matches below `horizon` unless it has
 * reached the limit.
 */
export interface EventPage {
  events: EventRow[];
  horizon: bigint;
}

const HORIZON = raw(EVENT_HORIZON_SQL);

/** Reads up to `limit` final events after an id. */
export async function readEvents(
  db: ViewDatabase,
  filter: EventFilter,
  page: { after: bigint; limit: number },
): Promise<EventPage> {
  const result = await db.query<RawEvent>(eventsQuery(filter, page));
  return {
    events: result.rows.flatMap(({ horizon: _horizon, id, ...event }) =>
      id === null ? [] : [{ id: BigInt(id), ...event }],
    ),
    // The left join gives at least one row.
    horizon: BigInt(result.rows[0]!.horizon),
  };
}

/** SQL of a page of them. */
export function eventsQuery(filter: EventFilter, { after, limit }: { after: bigint; limit: number }): Sql {
  const { scope, sessionKey, turn } = filter;
  // The events of a session are read by its own index.
  const isOfSession = sessionKey !== undefined || turn !== undefined;
  const select = (
    isSeen: Sql,
  ): Sql => sql`select * from holdfast.events e where ${isSeen} and e.id > ${after.toString()}::bigint
      and e.id < edge.horizon and e.type <> ${TRIM_MARK} ${buildCondition(filter)} order by e.id limit ${limit}`;
  const events = isOfSession ? select(raw('true')) : seenSql(scope, select, { order: 'found.id', limit });
  return sql`
    with edge as materialized (select ${HORIZON} as horizon)
    select edge.horizon::text, found.* from edge left join lateral (
      select e.id::text, s.key as "sessionKey", coalesce(s.root, s.key) as root, e.turn_id as "turnId", e.type, e.data,
        ${raw(isoSql('e.created_at'))} as at
      from (${events}) as e left join holdfast.sessions s on s.id = e.session_id
    ) as found on true order by found.id::bigint`;
}

/**
 * When the newest of the events was written that were deleted after an id; null when none was. The
 * log then has a row at or below the id, mostly that of the id, which is found immediately; its
 * beginning is searched only when there is none, past all index entries of deleted events.
 */
export async function findTrimmed(db: ViewDatabase, after: bigint): Promise<string | null> {
  const result = await db.query<{ at: string }>(sql`
    select oldest.at from (
      select e.type, ${raw(isoSql('e.created_at'))} as at from holdfast.events e
      where (select known.id from holdfast.events known where known.id <= ${after.toString()}::bigint order by known.id desc limit 1) is null
      order by e.id limit 1
    ) as oldest where oldest.type = ${TRIM_MARK}`);
  return result.rows[0]?.at ?? null;
}

/** Everything below it is final; later writes are not below it. */
export async function readEventHorizon(db: ViewDatabase): Promise<bigint> {
  const result = await db.query<{ horizon: string }>(sql`select (${HORIZON})::text as horizon`);
  return BigInt(result.rows[0]!.horizon);
}

/**
 * An id that all events of a turn that began then are over: that of the session's newest event from
 * before, or 0.
 */
export async function findEventBefore(db: ViewDatabase, turn: { sessionId: string; startedAt: Date }): Promise<bigint> {
  const result = await db.query<{ id: string }>(sql`
    select e.id::text from holdfast.events e
    where e.session_id = ${turn.sessionId} and e.created_at < ${turn.startedAt.toISOString()}::timestamptz - interval '10 seconds'
    order by e.id desc limit 1`);
  return BigInt(result.rows[0]?.id ?? 0);
}

/** The id of the event of the turn's end, final or not yet; null when there is none (any more). */
export async function findTurnEnd(
  db: ViewDatabase,
  turn: { id: string; sessionId: string; after: bigint },
): Promise<bigint | null> {
  const result = await db.query<{ id: string }>(sql`
    select e.id::text from holdfast.events e
    where e.session_id = ${turn.sessionId} and e.turn_id = ${turn.id} and e.type = 'turn.ended' and e.id > ${turn.after.toString()}::bigint
    order by e.id desc limit 1`);
  const id = result.rows[0]?.id;
  return id === undefined ? null : BigInt(id);
}

interface RawEvent extends Omit<EventRow, 'id'> {
  horizon: string;
  /** Null: there is no event below the horizon. */
  id: string | null;
}

function buildCondition(filter: EventFilter): Sql {
  const parts = [sql``];
  if (filter.sessionKey !== undefined) {
    parts.push(sql`and e.session_id = ${sessionIdSql(filter.sessionKey, filter.scope)}`);
  }
  if (filter.turn !== undefined) {
    parts.push(sql`and e.session_id = ${filter.turn.sessionId} and e.turn_id = ${filter.turn.id}`);
  }
  if (filter.types !== undefined) parts.push(sql`and e.type = any (${[...filter.types]}::text[])`);
  return join(parts, ' ');
}
