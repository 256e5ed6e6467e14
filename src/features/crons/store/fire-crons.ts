// The fires of crons, by the clock and on request. A transaction locks the crons, then their
// sessions; it reads which slots have fires, decides what each slot becomes (rules/fires.ts), and
// writes the fires, the lines and inputs with their doorbells, and the next slots. A crash leaves
// all of that or nothing. Any number of schedulers may fire: a cron that another one is firing is
// skipped, one that was fired has another next slot, so that an older plan does not fit it, and a
// slot has at most one row (G20).
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import {
  decideFires,
  formatSlot,
  type DecidedFire,
  type Firing,
  type HeldCron,
  type TickEffect,
} from '../rules/fires.ts';
import { toDate } from './crons.ts';
import type { Database } from '../../../database/database.ts';
import type { KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { selectRecordsSql, toRecords, type SqlColumns } from '../../../database/statement.ts';
import { transaction, type Transaction } from '../../../database/transaction.ts';
import { putInputs } from '../../../kernel/inbox/put-inputs.ts';
import { putSystemEvent } from '../../../kernel/inbox/system-events.ts';

/**
 * Fires plans, at most 100 of them, because their sessions are locked together. `fired`: how many
 * slots of each cron fired now; one whose plan is outdated, or that another scheduler is firing, is
 * left out.
 */
export function fireCrons(
  database: Database,
  firings: readonly Firing[],
): Promise<Committed<{ fired: ReadonlyMap<string, number> }>> {
  return transaction(database.hot, async (tx) => {
    const [crons, known] = await Promise.all([lockCrons(tx, firings), readKnownSlots(tx, firings)]);
    const held = new Map(crons.map((cron) => [cron.cronId, cron]));
    const fitting = firings.filter(({ cronId }) => held.has(cronId));
    if (fitting.length === 0) return { fired: new Map() };
    const fires = decideFires(fitting, held, known);
    void advanceCrons(tx, fitting);
    const stored = storeFires(tx, fires, ({ cronId, slotMs }) => formatSlot(cronId, slotMs));
    const firedOf = ({ cronId }: Firing) => fires.filter((fire) => fire.cronId === cronId && fire.isFired).length;
    const fired = new Map(fitting.map((firing) => [firing.cronId, firedOf(firing)]));
    return async () => ({ fired, after: (await stored).after });
  });
}

/**
 * Writes fires, with what their sessions get. The last write of a transaction that has locked the
 * crons and sessions.
 */
function storeFires(
  tx: Transaction,
  fires: readonly DecidedFire[],
  causeOf: (fire: DecidedFire) => string,
  { isManual = false, ...keyed }: { isManual?: boolean; request?: KeyedRequest | null; result?: object } = {},
): ReturnType<typeof putInputs> {
  void insertFires(tx, fires, isManual);
  for (const fire of fires) {
    const { event, sessionId } = fire.effect;
    if (event === null || !fire.leavesLine) continue;
    // The time of a run on request is that of its line, by which it is found again.
    const createdAt = isManual ? new Date(fire.slotMs).toISOString() : null;
    void putSystemEvent(tx, { ...event, sessionId, causeKey: causeOf(fire), createdAt });
  }
  const inputs = fires.flatMap((fire) => {
    const { messageId: id, effect } = fire;
    const { sessionId, kind, body, route } = effect;
    return id === null || kind === null ? [] : [{ id, sessionId, kind, body, route, causeKey: causeOf(fire) }];
  });
  const events = fires.flatMap(({ cronId, cronName: name, slotMs, messageId, isFired, effect: { sessionId } }) => {
    const data = { cronId, name, scheduledFor: new Date(slotMs).toISOString(), messageId };
    return isFired ? [{ type: 'cron.fired' as const, sessionId, data }] : [];
  });
  const { request = null, result = {} } = keyed;
  return putInputs(tx, { inputs, events, keyed: { request, result }, ring: 'cron' });
}

const PLANS: SqlColumns<Firing> = {
  cron_id: ['uuid', ({ cronId }) => cronId],
  revision: ['bigint', ({ revision }) => revision],
  first_slot: ['timestamptz', ({ firstSlotMs }) => new Date(firstSlotMs)],
  session_id: ['uuid', ({ sessionId }) => sessionId],
  last_slot: ['timestamptz', ({ ticks }) => toDate(ticks.at(-1)?.tick.slotMs ?? null)],
  next_slot: ['timestamptz', ({ nextSlotMs }) => toDate(nextSlotMs)],
  due_at: ['timestamptz', ({ dueMs }) => toDate(dueMs)],
  disabled_reason: ['text', ({ disabledReason }) => disabledReason],
};

export const lockCrons = literalQuery({
  name: 'lock-crons',
  purpose: 'Lock the crons that their plans still fit, and their sessions. Answers a row for each.',
  locking: 'The crons, skipping those that are locked, then the session rows in the order of their ids.',
  text: `with plans as materialized (
  ${selectRecordsSql('$plans', PLANS)}
),
held as materialized (
  select c.id, c.name, plans.session_id from holdfast.crons c join plans on plans.cron_id = c.id
  where c.revision = plans.revision and c.is_enabled and date_trunc('milliseconds', c.next_slot_at) = plans.first_slot
  for no key update of c skip locked
),
locked as materialized (
  select s.id, s.waiting, s.last_event_text from holdfast.sessions s
  where s.id = any (array(select session_id from held)) order by s.id for no key update
)
select held.id as "cronId", held.name, locked.waiting, locked.last_event_text as "lastEventText"
from held join locked on locked.id = held.session_id`,
  values: (firings: readonly Firing[]) => ({ plans: toRecords(firings, PLANS) }),
  answer: (crons: HeldCron[]) => crons,
});

export const readKnownSlots = literalQuery({
  name: 'known-slots',
  purpose: 'Read which of the slots of plans have a fire.',
  text: `select f.cron_id as "cronId", (extract(epoch from f.scheduled_for) * 1000)::float8 as "slotMs"
from unnest($cronIds::uuid[], $from::timestamptz[]) as plans (cron_id, first_slot)
join holdfast.cron_fires f on f.cron_id = plans.cron_id and f.scheduled_for >= plans.first_slot`,
  values: (firings: readonly Firing[]) => ({
    cronIds: firings.map(({ cronId }) => cronId),
    from: firings.map(({ firstSlotMs }) => new Date(firstSlotMs)),
  }),
  answer: (rows: { cronId: string; slotMs: number }[]): ReadonlySet<string> =>
    new Set(rows.map(({ cronId, slotMs }) => formatSlot(cronId, slotMs))),
});

const FIRES: SqlColumns<DecidedFire> = {
  cron_id: ['uuid', ({ cronId }) => cronId],
  slot: ['timestamptz', ({ slotMs }) => new Date(slotMs)],
  status: ['text', ({ status }) => status],
  message_id: ['uuid', ({ messageId }) => messageId],
  reason: ['text', ({ reason }) => reason],
  slots: ['int', ({ slots }) => slots],
  is_fired: ['boolean', ({ isFired }) => isFired],
};

export const insertFires = literalQuery({
  name: 'insert-fires',
  purpose: 'Store the fires of locked crons; one that waits for no input has ended.',
  text: `insert into holdfast.cron_fires (cron_id, scheduled_for, status, message_id, reason, slots, fired_at, ended_at, is_manual, revision)
select cron_id, slot, status, message_id, reason, slots, case when is_fired then clock_timestamp() end,
  case when status <> 'claimed' then clock_timestamp() end, $isManual, c.revision
from (${selectRecordsSql('$fires', FIRES)}) as fires join holdfast.crons c on c.id = fires.cron_id`,
  values: (fires: readonly DecidedFire[], isManual: boolean) => ({ fires: toRecords(fires, FIRES), isManual }),
});

export const advanceCrons = literalQuery({
  name: 'advance-crons',
  purpose: 'Move locked crons past the slots of their plans.',
  locking: 'The crons, which the transaction has locked.',
  text: `update holdfast.crons c
set last_slot_at = plans.last_slot, next_slot_at = plans.next_slot, due_at = plans.due_at,
  is_enabled = plans.disabled_reason is null, disabled_reason = plans.disabled_reason,
  revision = c.revision + case when plans.disabled_reason is null then 0 else 1 end
from (${selectRecordsSql('$plans', PLANS)}) as plans where c.id = plans.cron_id`,
  values: (firings: readonly Firing[]) => ({ plans: toRecords(firings, PLANS) }),
});

// On request: beside the schedule, which does not move.

export interface ManualRun extends TickEffect {
  cronId: string;
  messageId: MessageId;
  /** Two runs for the same cause are one. */
  causeKey: string;
  idempotency?: KeyedRequest | null | undefined;
}

/**
 * `ran`: now, or when it was requested with this cause before; the time names the fire. `full`: too
 * many messages wait. `unknown`: no such cron or session.
 */
export type ManualRunResult = { kind: 'ran'; scheduledFor: Date } | { kind: 'full' } | { kind: 'unknown' };

/** Runs a cron now. */
export function runCron(database: Database, run: ManualRun): Promise<Committed<ManualRunResult>> {
  const { cronId, causeKey, messageId, kind, event, waitingMax, idempotency: request = null } = run;
  return transaction(database.hot, async (tx): Promise<Committed<ManualRunResult>> => {
    const [cron, [facts]] = await Promise.all([lockCron(tx, run), readRunFacts(tx, run)]);
    if (cron === undefined) return { kind: 'unknown' };
    // One row.
    const { ranAt, slotMs } = facts!;
    if (ranAt !== null) return { kind: 'ran', scheduledFor: ranAt };
    const hasInput = kind !== null && cron.waiting < waitingMax;
    if (!hasInput && event === null) return { kind: 'full' };
    const fire: DecidedFire = {
      cronId,
      slotMs,
      status: hasInput ? 'claimed' : 'completed',
      messageId: hasInput ? messageId : null,
      reason: null,
      slots: 1,
      isFired: true,
      effect: run,
      cronName: cron.name,
      leavesLine: true,
    };
    const scheduledFor = new Date(slotMs);
    const { after } = await storeFires(tx, [fire], () => causeKey, {
      isManual: true,
      request,
      result: { scheduledFor },
    });
    return { kind: 'ran', scheduledFor, after };
  });
}

export const lockCron = literalQuery({
  name: 'lock-cron',
  purpose: 'Lock a cron and the session of its runs.',
  locking: 'The cron, then the session row.',
  text: `with held as materialized (select c.id, c.name from holdfast.crons c where c.id = $cronId for no key update),
locked as materialized (
  select s.waiting, s.last_event_text from holdfast.sessions s where s.id = $sessionId and exists (select from held) for no key update
)
select held.id as "cronId", held.name, locked.waiting, locked.last_event_text as "lastEventText" from held cross join locked`,
  values: ({ cronId, sessionId }: { cronId: string; sessionId: SessionId }) => ({ cronId, sessionId }),
  answer: ([cron]: HeldCron[]) => cron,
});

// A fire is named by its millisecond, so of two runs in the same one the second takes the next.
export const readRunFacts = literalQuery({
  name: 'run-facts',
  purpose: 'Read when a cause has fired a cron, and the time of a fire now.',
  text: `select (select coalesce(f.scheduled_for, i.received_at, e.created_at) from (select $causeKey::text as key) as cause
    left join holdfast.inbox i on i.cause_key = cause.key
    left join holdfast.cron_fires f on f.cron_id = $cronId and f.message_id = i.id
    left join holdfast.system_events e on e.cause_key = cause.key) as "ranAt",
  (extract(epoch from greatest(date_trunc('milliseconds', clock_timestamp()), (
    select max(f.scheduled_for) + interval '1 millisecond' from holdfast.cron_fires f where f.cron_id = $cronId
  ))) * 1000)::float8 as "slotMs"`,
  values: ({ cronId, causeKey }: ManualRun) => ({ cronId, causeKey }),
  answer: (rows: { ranAt: Date | null; slotMs: number }[]) => rows,
});
