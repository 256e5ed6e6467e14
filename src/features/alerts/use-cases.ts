// Alert destinations are created, changed, deleted and tested.
import { randomBytes } from 'node:crypto';
import type { Config } from '../../config.ts';
import type { DeliveryId } from '../../core/ids.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { newId } from '../../ids.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { createWebhookChannel, webhookOptions, type DeliveryResult } from '../deliveries/webhook-channel.ts';
import { buildTestCall, type AlertCall, type AlertFilter } from './rules.ts';
import { noteTest } from './store/calls.ts';
import {
  beginTest,
  deleteDestination,
  insertDestination,
  readDestination,
  updateDestination,
  type DestinationChange,
} from './store/destinations.ts';

/** Every round sends to all of them. */
export const DESTINATIONS_MAX = 20;

const SECRET_BYTES = 24;
const DEFAULTS: AlertFilter = { severity: 'warning', kinds: null, repeatSeconds: 4 * 3_600 };

interface DestinationSettings extends AlertFilter {
  name: string;
  url: string;
}

/** Creates a destination, with a secret that signs what is sent there. */
export async function addDestination(
  { database }: Service,
  settings: Pick<DestinationSettings, 'name' | 'url'> & Partial<AlertFilter>,
  { createdBy, idempotency }: { createdBy: string; idempotency: KeyedRequest | null },
): Promise<{ id: string; secret: string } | 'full' | 'name_taken'> {
  const made = { id: newId<string>(), secret: `whsec_${randomBytes(SECRET_BYTES).toString('base64')}` };
  const row = { ...DEFAULTS, ...settings, ...made, createdBy };
  const stored = await insertDestination(database, row, DESTINATIONS_MAX, idempotency);
  return stored === 'done' ? made : stored;
}

export function editDestination(
  { database }: Service,
  id: string,
  change: Partial<DestinationSettings>,
): Promise<DestinationChange> {
  return updateDestination(database, id, change);
}

export function removeDestination({ database }: Service, id: string): Promise<boolean> {
  return deleteDestination(database, id);
}

/**
 * Begins a test, whose alert has this id however often it is sent; null: the destination does not
 * exist.
 */
export async function startTest(
  { database }: Service,
  id: string,
  idempotency: KeyedRequest | null,
): Promise<{ callId: string } | null> {
  const callId = newId<string>();
  return (await beginTest(database, id, { callId, idempotency })) ? { callId } : null;
}

/** Sends the alert of a test and notes how that ended; null: the destination does not exist. */
export async function sendTest(
  { database, config }: Service,
  id: string,
  callId: string,
): Promise<{ status: number | null; error: string | null } | null> {
  const destination = await readDestination(database, id);
  if (destination === null) return null;
  const call = { ...destination, callId, call: buildTestCall(destination.name) };
  const result = answerOf(await sendCall(config, call, new AbortController().signal));
  await noteTest(database, id, result);
  return result;
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
