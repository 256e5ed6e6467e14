// Alert destinations are created, changed, deleted and tested. `secret` and `url` leave the
// database only to send something.
import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { pause } from '../../clock.ts';
import type { Config } from '../../config.ts';
import type { DeliveryId } from '../../core/ids.ts';
import { eq, query } from '../../database/drizzle.ts';
import { isUniqueViolation, storeKey, type KeyedRequest } from '../../database/idempotency.ts';
import { transaction, type Transaction } from '../../database/transaction.ts';
import { newId } from '../../ids.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { createWebhookChannel, webhookOptions, type DeliveryResult } from '../deliveries/webhook-channel.ts';
import type { alertDestinationPatch, alertDestinationRequest } from './contract.ts';
import { now } from '../../rows/columns.ts';
import { alertDestinations } from './rows.ts';
import { buildTestCall, type AlertCall, type AlertFilter } from './rules.ts';
import { noteTest } from './calls.ts';
import { isChat, putIntoOutbox, readAlertDelivery, withOutbox } from './chats.ts';

/** Every round sends to all of them. */
export const DESTINATIONS_MAX = 20;

const SECRET_BYTES = 24;
const DEFAULTS: AlertFilter = { severity: 'warning', kinds: null, repeatSeconds: 4 * 3_600 };

/** A request whose receiver is an address, also that of a chat. */
type StoredUrl<Request> = { [Field in keyof Request]: Field extends 'url' ? string : Request[Field] };

/**
 * Creates a destination, with a secret that signs what is sent there. Rejects with a violated
 * primary key when another request has stored the key.
 */
export function addDestination(
  { database }: Service,
  settings: StoredUrl<z.output<typeof alertDestinationRequest>>,
  { createdBy, idempotency }: { createdBy: string; idempotency: KeyedRequest | null },
): Promise<{ id: string; secret: string } | 'full' | 'name_taken'> {
  const made = { id: newId<string>(), secret: `whsec_${randomBytes(SECRET_BYTES).toString('base64')}` };
  const insert = transaction(database.views, async (tx) => {
    if ((await tx.rows.$count(alertDestinations)) >= DESTINATIONS_MAX) return 'full';
    const { rowCount } = await tx.rows
      .insert(alertDestinations)
      .values({ ...DEFAULTS, ...settings, ...made, createdBy })
      .onConflictDoNothing({ target: alertDestinations.id });
    if (rowCount === 1) await storeKey(tx, idempotency, { id: made.id });
    return made;
  });
  return insert.catch(refuseName);
}

/** Changes a destination. With another address it no longer waits for its next attempt. */
export async function editDestination(
  { database }: Service,
  id: string,
  change: StoredUrl<z.output<typeof alertDestinationPatch>>,
): Promise<'done' | 'name_taken'> {
  const moved = change.url === undefined ? {} : { dueMs: now };
  const update = query(database.views, (db) =>
    db
      .update(alertDestinations)
      .set({ ...change, ...moved })
      .where(eq(alertDestinations.id, id)),
  );
  return update.then(() => 'done' as const).catch(refuseName);
}

function refuseName(error: unknown): 'name_taken' {
  if (isUniqueViolation(error, 'alert_destinations_name')) return 'name_taken';
  throw error;
}

/** Deletes a destination with what it is being sent; false: it does not exist. */
export async function removeDestination({ database }: Service, id: string): Promise<boolean> {
  const { rowCount } = await query(database.views, (db) =>
    db.delete(alertDestinations).where(eq(alertDestinations.id, id)),
  );
  return rowCount === 1;
}

/**
 * Begins a test, whose alert has this id however often it is sent; null: the destination does not
 * exist. Rejects as `addDestination` does.
 */
export function startTest(
  { database }: Service,
  id: string,
  idempotency: KeyedRequest | null,
): Promise<{ callId: string } | null> {
  const begun = { callId: newId<string>() };
  return transaction(database.views, async (tx) => {
    if ((await tx.rows.$count(alertDestinations, eq(alertDestinations.id, id))) === 0) return null;
    await storeKey(tx, idempotency, begun);
    return begun;
  });
}

/** The longest that a test waits for the platform of a chat, and the time between two looks. */
const CHAT_TEST_MS = 15_000;
const LOOK_MS = 100;

/** Sends the alert of a test and notes how that ended; null: the destination does not exist. */
export async function sendTest(
  service: Service,
  id: string,
  callId: string,
): Promise<{ status: number | null; error: string | null } | null> {
  const { database, config } = service;
  const [destination] = await query(database.views, (db) =>
    db.select().from(alertDestinations).where(eq(alertDestinations.id, id)),
  );
  if (destination === undefined) return null;
  const call = { ...destination, callId, call: buildTestCall(destination.name) };
  const result = isChat(call.url)
    ? await sendToChat(service, call)
    : answerOf(await sendCall(config, call, new AbortController().signal));
  await noteTest(database, id, result);
  return result;
}

/** Puts a call into the outbox, once however often it is tried, and waits until it has left it. */
async function sendToChat(
  service: Service,
  call: { url: string; callId: string; call: AlertCall },
): Promise<{ status: null; error: string | null }> {
  const { database, views, publish } = service;
  await withOutbox(service, async (outbox) => {
    const put = async (tx: Transaction) => ({ after: { changed: [], rings: [await putIntoOutbox(tx, outbox, call)] } });
    publish(await transaction(database.views, put));
  });
  let lastError: string | null = null;
  for (let waitedMs = 0; waitedMs < CHAT_TEST_MS; waitedMs += LOOK_MS) {
    const found = await readAlertDelivery(views, call.callId);
    if (found?.status === 'sent') return { status: null, error: null };
    lastError = found?.lastError ?? null;
    if (lastError !== null || (found !== null && !['pending', 'sending'].includes(found.status))) break;
    await pause(LOOK_MS);
  }
  const waits = `No worker has sent it within ${CHAT_TEST_MS / 1000} s. It waits in the outbox: holdfast deliveries list`;
  return { status: null, error: lastError ?? waits };
}

/** Sends a call once, with the rules of deliveries about addresses. Never rejects. */
export function sendCall(
  config: Config,
  { url, secret, callId, call }: { url: string; secret: string; callId: string; call: AlertCall },
  signal: AbortSignal,
): Promise<DeliveryResult> {
  const channel = createWebhookChannel({ ...webhookOptions(config, [secret]), keepsAnswers: true });
  return channel.send({ id: callId as DeliveryId, target: { url }, payload: call }, signal);
}

export function answerOf(result: DeliveryResult): { status: number | null; error: string | null } {
  return { status: result.status, error: result.kind === 'sent' ? null : result.error };
}
