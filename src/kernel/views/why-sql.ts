// The rows that say why something waits, read with what waits and in the same statement: the reason
// follows from these facts (src/kernel/rules/why.ts), and from what the process that reads them
// knows of the disk. A message waits until a turn has claimed it, and again while that turn is
// parked.
import { explainWait, WORKER_LOST_MS, type ServedLane, type WaitFacts, type Why } from '../rules/why.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { holdsSql, isPausedSql } from '../queue/pause-sql.ts';

/** The messages `i` that parked turns `t` have claimed, after `from`. */
export const PARKED_MESSAGES_SQL = `holdfast.turns t join holdfast.inbox i on i.turn_id = t.id
    where t.ended_at is null and t.status = 'parked' and i.status = 'claimed'`;

/** SQL of how many messages wait, counted up to `max`. */
export const waitingCountSql = (max: number): string =>
  `(select count(*) from (select from ((select from holdfast.inbox where status = 'waiting' limit ${max})
    union all (select from ${PARKED_MESSAGES_SQL} limit ${max})) as each_source limit ${max}) as waiting)`;

export const msSql = (time: string): string => `(extract(epoch from ${time}) * 1000)::float8`;

/** SQL of until when messages are gathered, from the doorbell `d` and its session. */
const gatherUntilSql = (session: string): string =>
  `least(${session}.last_message_at + d.quiet_ms * interval '1 millisecond', d.gather_until)`;

/** True for a row `w` of `workers` whose worker takes work. */
export const LIVE_SQL = `w.seen_at >= clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond' and w.draining_at is null`;

/** So many due sessions are read: a paused lane may have any number of them. */
const DUE_READ_MAX = 10_000;

/**
 * SQL of `service`: it depends on no row, so a statement evaluates it once. It reads the workers,
 * the turns that run, and the sessions that are due for the longest time.
 */
const SERVICE_SQL = `(select json_build_object('now', ${msSql('clock_timestamp()')}, 'lanes', coalesce(json_object_agg(served.lane,
    json_build_object('workers', served.workers, 'slots', served.slots, 'due', (select count(*) from (
        select from (select * from holdfast.doorbells where due_at <= now() order by due_at limit ${DUE_READ_MAX}) as d
        cross join lateral (select * from holdfast.sessions where id = d.session_id limit 1) as s
        where d.lane = served.lane and not ${isPausedSql('s')}
          and (s.owner is null or s.lease_expires_at <= clock_timestamp())
          and (d.quiet_ms is null or ${gatherUntilSql('s')} <= clock_timestamp())
          and (select t.status from holdfast.turns t where t.id = s.turn_id) is distinct from 'parked'
        limit served.slots + 1) as due),
       'queueAwaySince', served.away_since, 'lastSeenAt', served.last_seen_at,
      'inUse', (select count(*) from holdfast.turns t where t.ended_at is null and t.status in ('running', 'resuming') and t.lane = served.lane
        and t.worker = any (served.names)))), '{}'))
  from (
    select l.key as lane, count(*) filter (where ${LIVE_SQL}) as workers,
      coalesce(sum((l.value ->> 'slots')::int) filter (where ${LIVE_SQL}), 0) as slots,
      array_agg(w.name) filter (where ${LIVE_SQL}) as names,
      case when bool_and(w.queue_away_since is not null) filter (where ${LIVE_SQL}) then
        ${msSql(`min(w.queue_away_since) filter (where ${LIVE_SQL})`)} end as away_since, ${msSql('max(w.seen_at)')} as last_seen_at
    from holdfast.workers w cross join json_each(w.lanes) as l group by l.key
  ) as served)`;

/**
 * SQL of why something waits, as a `WaitRow` in JSON: the one place that reads the stored waits.
 * The SQL `sessionId` gives its session, in no name that is given in here; `receivedAt` and
 * `delivery` are those of the message.
 */
export const waitSql = (
  sessionId: string,
  receivedAt: string,
  delivery = 'null',
): string => `(select json_build_object('receivedAt', ${msSql(receivedAt)}, 'delivery', ${delivery}, 'lane', ws.lane,
    'turn', case when open_turn.id is not null then json_build_object('id', open_turn.id, 'claimedAt', ${msSql('open_turn.claimed_at')}, 'park',
      case when open_turn.status = 'parked' then json_build_object('code', open_turn.park_code, 'text', open_turn.park_text, 'since', ${msSql('open_turn.park_since')},
        'until', ${msSql('d.due_at')}, 'by', open_turn.park_by) end) end,
    'lock', case when ws.owner is not null and ws.lease_expires_at is not null then json_build_object('owner', ws.owner,
      'expiresAt', ${msSql('ws.lease_expires_at')}, 'seenAt', ${msSql('w.seen_at')}) end,
    'dueAt', ${msSql('d.due_at')}, 'rungAt', ${msSql('d.rung_at')},
    'gatherUntil', case when d.quiet_ms is not null then ${msSql(gatherUntilSql('ws'))} end,
    'pause', (select json_build_object('lane', p.lane, 'agent', p.agent_id, 'session', p.session_key, 'reason', p.reason, 'pausedBy', p.paused_by,
        'since', ${msSql('p.created_at')}) from holdfast.pauses p where ${holdsSql('p', 'ws')} order by p.created_at, p.id limit 1),
    'yielded', case when y.session_id is not null then json_build_object('since', ${msSql('y.created_at')}, 'until', ${msSql('y.due_at')}) end,
    'service', ${SERVICE_SQL})
  from holdfast.sessions ws left join holdfast.doorbells d on d.session_id = ws.id left join holdfast.turns open_turn on open_turn.id = ws.turn_id
  left join holdfast.workers w on w.name = ws.owner left join holdfast.yields y on y.session_id = ws.id and y.epoch = ws.epoch
  where ws.id = ${sessionId})`;

/** What `waitSql` answers. */
export interface WaitRow extends WaitFacts {
  service: { now: number; lanes: Record<string, ServedLane> };
}

/** Why something waits. */
export function describeWait(db: ViewDatabase, { service: { now, lanes }, ...facts }: WaitRow): Why {
  const { since, until, ...reason } = explainWait(facts, { lanes, storage: db.storage?.fault() ?? null }, now);
  return { ...reason, since: toIso(since), until: until === null ? null : toIso(until) };
}

/**
 * Why an open turn, its messages or its session waits; null: a worker runs it, or no turn is open.
 */
export function describeOpenWait(db: ViewDatabase, wait: WaitRow | null): Why | null {
  const why = wait === null ? null : describeWait(db, wait);
  return why?.code === 'session_busy' ? null : why;
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
