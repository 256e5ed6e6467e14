// What destinations are sent. Until a call is over, the row of its destination has it, and a
// process sends it under a lease. What it says is known of its problems when its receiver has
// acknowledged it, in one transaction with its end; what was sent and has no stored answer is sent
// again with the same id. A chat is sent its calls by the outbox: what one says is known when it is
// there, in one transaction, and the outbox sends it as any message.
import { fromNow, now } from '../../rows/columns.ts';
import { alertDestinations, alerts } from './rows.ts';
import { storableText } from '../../core/text.ts';
import type { Database } from '../../database/database.ts';
import { and, eq, inArray, lte, query, sql } from '../../database/drizzle.ts';
import type { Committed, DeliveryRing } from '../../kernel/queue/after-commit.ts';
import { transaction, type Transaction } from '../../database/transaction.ts';
import { newId } from '../../ids.ts';
import { isChat, noteChatState, putIntoOutbox, type Outbox } from './chats.ts';
import { buildCall, planAlerts, type AlertCall, type AttentionReading, type KnownAlert } from './rules.ts';

type AlertDestination = typeof alertDestinations.$inferSelect;

/** A call that this process sends until its lease ends. */
export interface ClaimedCall extends Pick<AlertDestination, 'id' | 'name' | 'url' | 'secret' | 'attempts'> {
  callId: string;
  call: AlertCall;
}

const isDue = lte(alertDestinations.dueMs, now);

/** The time of the database. */
interface Moment {
  atMs: number;
  /** With microseconds. */
  at: string;
}

export type Reading = AttentionReading & Moment & { hasChats: boolean };

/**
 * The time, if a destination may be sent something now, and whether chats may; otherwise null.
 */
export async function readTimeIfDue(database: Database): Promise<(Moment & { hasChats: boolean }) | null> {
  const chats = sql<boolean>`bool_or(starts_with(${alertDestinations.url}, 'channel:'))`;
  const time = { at: sql<string>`${now}::text`, atMs: sql<number>`(extract(epoch from ${now}) * 1000)::float8` };
  const [due] = await query(database.views, (db) =>
    db
      .select({ ...time, hasChats: chats })
      .from(alertDestinations)
      .where(isDue)
      .having(sql`count(*) > 0`),
  );
  return due ?? null;
}

/**
 * Makes the calls that are needed about what was read, puts those to chats into the outbox, and
 * claims the others that are due. A destination that was sent something after the reading has begun
 * is left to the next one: it may have been sent what this reading does not know yet, or still has.
 * Throws `SessionErasedError` when the session of the outbox does not exist any more. `outbox`:
 * null: there are no chats, or they are left to the next reading.
 */
export function claimCalls(
  database: Database,
  reading: Reading,
  { leaseMs, outbox }: { leaseMs: number; outbox: Outbox | null },
): Promise<Committed<{ claimed: ClaimedCall[] }>> {
  const { callId, triedAt } = alertDestinations;
  const isNewer = sql`(${callId} is not null or ${triedAt} is null or ${triedAt} < ${reading.at}::timestamptz)`;
  return transaction(database.views, async (tx) => {
    const due = await tx.rows
      .select()
      .from(alertDestinations)
      .where(and(isDue, isNewer))
      .orderBy(alertDestinations.id)
      .for('update', { skipLocked: true });
    const claimed: ClaimedCall[] = [];
    const rings: DeliveryRing[] = [];
    for (const destination of due) {
      const { id, name, url, secret } = destination;
      if (isChat(url)) {
        if (outbox === null) continue;
        await noteChatState(tx, { id, url, sessionId: outbox.sessionId });
      }
      const call = destination.call ?? (await planCall(tx, destination, reading));
      if (call === null) continue;
      const callId = destination.callId ?? newId<string>();
      if (outbox !== null && isChat(url)) {
        rings.push(await putIntoOutbox(tx, outbox, { callId, url, call }));
        await notePut(tx, id);
        await noteSaid(tx, id, call);
        continue;
      }
      const attempts = destination.attempts + 1;
      await tx.rows
        .update(alertDestinations)
        .set({ callId, call, attempts, dueMs: fromNow(leaseMs) })
        .where(eq(alertDestinations.id, id));
      claimed.push({ id, name, url, secret, callId, call, attempts });
    }
    return { claimed, ...(rings.length === 0 ? {} : { after: { changed: [], rings } }) };
  });
}

/**
 * What a destination is sent next, after what has changed without a call has been noted; null:
 * nothing.
 */
async function planCall(tx: Transaction, destination: AlertDestination, reading: Reading): Promise<AlertCall | null> {
  const { id } = destination;
  const sent = await tx.rows.select().from(alerts).where(eq(alerts.destinationId, id));
  const plan = planAlerts(destination, reading, sent);
  await storeAlerts(tx, id, plan.changed);
  return buildCall(plan);
}

type StoredAlert = Omit<KnownAlert, 'alertedMs'> & { alertedMs: number | typeof now };

async function storeAlerts(tx: Transaction, destinationId: string, known: readonly StoredAlert[]): Promise<void> {
  for (const { problemId, kind, severity, count, text, href, alertedMs, endedMs } of known) {
    const row = { kind, severity, count, text: storableText(text), href, alertedMs, endedMs };
    await tx.rows
      .insert(alerts)
      .values({ destinationId, problemId, ...row })
      .onConflictDoUpdate({ target: [alerts.destinationId, alerts.problemId], set: row });
  }
}

/**
 * Stores how an attempt ended, unless another process has sent the call again meanwhile. A call
 * that was given up has changed nothing, so the next one says what it said, as far as that is still
 * so.
 */
export function settleCall(
  database: Database,
  { id, callId, call, attempts }: Pick<ClaimedCall, 'id' | 'callId' | 'call' | 'attempts'>,
  end: { isOver: boolean; isSent: boolean; waitMs: number } & AttemptAnswer,
): Promise<void> {
  const { isOver, isSent, waitMs, ...answer } = end;
  const done = isOver ? { callId: null, call: null, attempts: 0 } : {};
  const isMine = and(
    eq(alertDestinations.id, id),
    eq(alertDestinations.callId, callId),
    eq(alertDestinations.attempts, attempts),
  );
  return transaction(database.views, async (tx) => {
    const { rowCount } = await tx.rows
      .update(alertDestinations)
      .set({ ...done, ...noted(answer), dueMs: fromNow(waitMs) })
      .where(isMine);
    if (rowCount === 1 && isSent) await noteSaid(tx, id, call);
  });
}

/** What a call has said is known of its problems. */
async function noteSaid(tx: Transaction, id: string, call: AlertCall): Promise<void> {
  const ended = call.ended.map((one) => one.id);
  await tx.rows.delete(alerts).where(and(eq(alerts.destinationId, id), inArray(alerts.problemId, ended)));
  const begun = call.problems.map(({ id: problemId, ...one }) => ({
    ...one,
    problemId,
    alertedMs: now,
    endedMs: null,
  }));
  await storeAlerts(tx, id, begun);
}

/** A call is in the outbox, which says nothing of whether it arrives. */
async function notePut(tx: Transaction, id: string): Promise<void> {
  await tx.rows
    .update(alertDestinations)
    .set({ callId: null, call: null, attempts: 0, triedAt: now })
    .where(eq(alertDestinations.id, id));
}

interface AttemptAnswer {
  status: number | null;
  error: string | null;
}

/** Stores how a test ended. A destination that has acknowledged it no longer rests. */
export async function noteTest(database: Database, id: string, answer: AttemptAnswer): Promise<void> {
  const awake = answer.error === null ? { dueMs: sql`least(${alertDestinations.dueMs}, ${now})` } : {};
  await query(database.views, (db) =>
    db
      .update(alertDestinations)
      .set({ ...noted(answer), ...awake })
      .where(eq(alertDestinations.id, id)),
  );
}

/**
 * What a receiver says is left out, because viewers read it: it may repeat the path of the URL,
 * which often is a secret.
 */
function noted({ status, error }: AttemptAnswer) {
  return {
    triedAt: now,
    lastStatus: status,
    lastError: error === null || status === null ? error : `HTTP ${status}`,
    failingSince: error === null ? null : sql`coalesce(${alertDestinations.failingSince}, ${now})`,
  };
}
