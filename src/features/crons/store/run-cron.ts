// A run of a cron on request: the same as a tick, now. See cron-fires.ts.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import { isUniqueViolation, keyedPart, keyValues, type KeyedRequest } from '../../../database/idempotency.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { buildAfter, type RungColumns } from '../../../kernel/queue/rings.ts';
import { ringSql } from '../../../kernel/sessions/session-locks.ts';
import { literal } from '../../../database/statement.ts';
import { dropOldestEventsSql } from '../../../kernel/inbox/system-events.ts';

// $5 is the id of the input and $9 that of the event; null for none.
export const RUN_CRON = literal({
  name: 'run-cron',
  purpose: 'Fire a cron on request, beside its schedule. Answers a row when there are such a cron and session.',
  locking: 'The cron, then the session row.',
  text: `with held as materialized (select c.id, c.name from holdfast.crons c where c.id = $1 for share),
locked as materialized (
  select s.*, s.id as session_id from holdfast.sessions s where s.id = $2 and exists (select from held) for no key update
),
noticed as materialized (select session_id from locked where $9::uuid is not null),
${dropOldestEventsSql('noticed').join(',\n')},
noted as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted, cause_key)
  select $9::uuid, session_id, $10, $11, $12, $3 from noticed
  on conflict do nothing
  returning id, text
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, cause_key)
  select $5::uuid, s.id, s.inbox_seq + 1, $6, $7::json, $8, $3 from locked s where $5::uuid is not null and s.waiting < $4
  on conflict do nothing
  returning id, session_id, seq, kind
),
fired as (
  insert into holdfast.cron_fires (cron_id, scheduled_for, status, message_id, fired_at, ended_at, is_manual)
  select held.id, date_trunc('milliseconds', clock_timestamp()), case when stored.id is null then 'completed' else 'claimed' end,
    stored.id, clock_timestamp(), case when stored.id is null then clock_timestamp() end, true
  from held left join stored on true where stored.id is not null or exists (select from noted)
  returning cron_id, scheduled_for, message_id
),
updated_sessions as (
  update holdfast.sessions s
  set inbox_seq = s.inbox_seq + (select count(*) from stored), waiting = s.waiting + (select count(*) from stored)::int,
    last_event_text = coalesce((select text from noted), s.last_event_text), updated_at = clock_timestamp()
  from locked, fired where s.id = locked.id
  returning s.*
),
rung_doorbells as (
  ${ringSql('updated_sessions', { condition: 'exists (select from stored)' })}
),
inserted_events as (
  ${insertEventsSql(`select locked.session_id, null::uuid as turn_id, 'cron.fired' as type,
      json_build_object('cronId', held.id, 'name', held.name,
        'scheduledFor', ${isoSql('fired.scheduled_for')},
        'messageId', fired.message_id) as data, 1 as n from held, locked, fired
    union all
    select session_id, null, 'message.accepted',
      json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued'), 2 from stored`)}
),
${keyedPart(13, `select json_build_object('scheduledFor', ${isoSql('fired.scheduled_for')}) from fired`)}
select locked.session_id, fired.scheduled_for, rung_doorbells.lane, rung_doorbells.rings
from locked left join fired on true left join rung_doorbells on true`,
});

export interface ManualRun {
  cronId: string;
  sessionId: SessionId;
  /** Null: it only leaves its line. */
  input: { messageId: MessageId; kind: 'cron' | 'heartbeat'; body: string; route: string } | null;
  event: { id: string; text: string; contextKey: string; isTrusted: boolean } | null;
  /** Two runs for the same cause are one. */
  causeKey: string;
  waitingMax: number;
  idempotency?: KeyedRequest | null | undefined;
}

/**
 * `ran`: now, or when it was requested with this cause before; the time names the fire. `full`: too many messages wait. `unknown`: no such
 * cron or session.
 */
export type ManualRunResult = { kind: 'ran'; scheduledFor: Date } | { kind: 'full' } | { kind: 'unknown' };

export const RUN_OF_CAUSE = literal({
  name: 'run-of-cause',
  purpose: 'Read when a cause has fired a cron.',
  text: `select coalesce(f.scheduled_for, e.created_at) as scheduled_for
from (select $1::text as key) as cause
left join holdfast.inbox i on i.cause_key = cause.key left join holdfast.cron_fires f on f.message_id = i.id
left join holdfast.system_events e on e.cause_key = cause.key`,
});

const FIRES_PRIMARY_KEY = 'cron_fires_pkey';

/** Runs a cron now. */
export async function runCron(database: Database, run: ManualRun): Promise<Committed<ManualRunResult>> {
  // A fire is named by its millisecond. Of two runs in the same one, PostgreSQL undoes the second, which then takes a later one; each new
  // attempt follows the commit of another run, so their number is limited by that of the runs requested simultaneously.
  for (;;) {
    try {
      return await runOnce(database, run);
    } catch (error) {
      if (!isUniqueViolation(error, FIRES_PRIMARY_KEY)) throw error;
    }
  }
}

async function runOnce(
  database: Database,
  { cronId, sessionId, input, event, causeKey, waitingMax, idempotency }: ManualRun,
): Promise<Committed<ManualRunResult>> {
  const inputValues = [input?.messageId, input?.kind, input?.body, input?.route];
  const eventValues = [event?.id, event?.text, event?.contextKey, event?.isTrusted];
  const values = [cronId, sessionId, causeKey, waitingMax, ...inputValues, ...eventValues, ...keyValues(idempotency)];
  const query = RUN_CRON.prepared(values);
  const [row] = await sendQuery<RungColumns & { scheduled_for: Date | null }>(database.hot, query);
  if (row === undefined) return { kind: 'unknown' };
  if (row.scheduled_for !== null) {
    return { kind: 'ran', scheduledFor: row.scheduled_for, after: buildAfter('cron', sessionId, row) };
  }
  const known = await database.views.query(RUN_OF_CAUSE.prepared([causeKey]));
  const scheduledFor: Date | null = known.rows[0]?.scheduled_for ?? null;
  return scheduledFor === null ? { kind: 'full' } : { kind: 'ran', scheduledFor };
}
