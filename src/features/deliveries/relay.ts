// The outbox relay: claims the replies of a session, one after the other, and passes them to their
// channel. Nothing that was acknowledged is sent again; what has no answer is sent again with the
// same dedupe key (G21).
//
// A session's deliveries are sent in order because only the oldest open one can be claimed
// (src/features/deliveries/store/claims.ts). When one must wait, the later ones wait with it; the
// relay continues with other sessions, and the reconciler rings when it is due. Deliveries to chats
// are sent by chat-relay.ts, at the same time as the webhooks of the session.
import type { Publish } from '../../kernel/queue/after-commit.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import { trimCopies } from './trim-copies.ts';
import { createWebhookChannel, webhookOptions, type Channel, type DeliveryResult } from './webhook-channel.ts';
import { ensureWebhookSecrets, secretsOf, type Config } from '../../config.ts';
import { createRedact, type Redact } from '../../config/secrets.ts';
import { newId } from '../../ids.ts';
import { deliveryDelayMs } from '../../kernel/rules/backoff.ts';
import type { SessionId } from '../../core/ids.ts';
import { given } from '../../core/json.ts';
import { SPAN_KEYS } from '../../core/telemetry.ts';
import type { Database } from '../../database/database.ts';
import { claimDelivery, type ClaimedDelivery } from './store/claims.ts';
import { HAS_OPEN_SQL, readDueDeliveries } from './store/due.ts';
import { settleDelivery, type Settlement } from './store/settle.ts';
import { retryPassingFaults } from '../../database/passing-faults.ts';
import type { Logger } from '../../logger.ts';
import type { Tracing, TurnRef } from '../../tracing.ts';
import type { Registry } from 'prom-client';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { metricIn } from '../../metrics.ts';

/**
 * How a delivery was settled; `retried`: it is sent again later; `unknown`: it is not known whether
 * a chat has it.
 */
export type DeliveryOutcome = 'sent' | 'failed' | 'retried' | 'unknown';

export interface OutboxRelay {
  database: Database;
  config: Config;
  owner: string;
  publish: Publish;
  random: () => number;
  /** Absent: nothing is traced. */
  tracing?: Tracing | undefined;
  logger: Logger;
  /** Called when an attempt is stored; absent: nothing counts them. */
  onSettled?: ((status: DeliveryOutcome) => void) | undefined;
  /** Removes secrets from what a chat platform says. */
  redact: Redact;
  /**
   * Rings for a session when a delivery to one of its chats is due; absent: the reconciler does.
   */
  ringLater?: ((sessionId: SessionId, inMs: number) => void) | undefined;
}

/** The relay of webhooks. */
export interface WebhookRelay extends OutboxRelay {
  webhook: Channel;
}

/** A lease outlives the attempt that it covers by this much, in milliseconds. */
const LEASE_MARGIN_MS = 10_000;

/**
 * The most deliveries of one session in one job; the rest gets a job of its own, after other
 * sessions.
 */
const DELIVERIES_PER_JOB_MAX = 20;

/** The bounds of the time after which a chat is checked again, in milliseconds. */
const LATER_MS_MIN = 20;
const LATER_MS_MAX = 3_600_000;

/**
 * The pause between two searches for copies of files that are not needed any more: without one, it
 * reads a folder.
 */
const COPIES_ROUND_MS = 10_000;

/**
 * Sends the due deliveries of a session, until one must wait. Returns how many deliveries were
 * settled. After `draining` none is started; one in flight is abandoned only on `signal`: the
 * receiver may have it already, and would get it again.
 */
export async function relayDeliveries(
  relay: WebhookRelay,
  sessionId: SessionId,
  signal: AbortSignal,
  draining = signal,
): Promise<number> {
  const leaseMs = relay.config.channels.webhook.timeoutMs + LEASE_MARGIN_MS;
  return relayEach(relay, draining, async (owner, claimedAtMs) => {
    const delivery = await claimDelivery(relay.database, { sessionId, owner, leaseMs });
    if (delivery === null) return false;
    // The process was suspended: another one may have sent it.
    if (performance.now() - claimedAtMs > LEASE_MARGIN_MS) return false;
    const settlement = toSettlement({ ...relay, owner }, delivery, await sendOnce(relay, delivery, signal));
    await settleAttempt(relay, settlement, leaseMs);
    return settlement.status !== 'pending';
  });
}

/**
 * Makes attempts, one after the other, until one resolves with false; returns how many did not. The
 * owner is of one claim alone: what an earlier one writes late must not end it. The time is from
 * before the claim: a process that is suspended before the answer arrives must not believe that it
 * has its lease still.
 */
export async function relayEach(
  relay: OutboxRelay,
  draining: AbortSignal,
  attempt: (owner: string, claimedAtMs: number) => Promise<boolean>,
): Promise<number> {
  let settled = 0;
  while (settled < DELIVERIES_PER_JOB_MAX && !draining.aborted) {
    if (!(await attempt(`${relay.owner}:${newId<string>()}`, performance.now()))) break;
    settled += 1;
  }
  return settled;
}

/**
 * Stores how an attempt has ended, and logs one line, with `more` about it: a warning when it was
 * the last without success, or is not known; this has the `reason`, too. What was acknowledged and
 * could not be stored is sent again when the lease expires: until then the write is retried.
 */
export async function settleAttempt(
  relay: OutboxRelay,
  settlement: Settlement,
  leaseMs: number,
  { reason, ...more }: { reason?: string | null; part?: number; parts?: number } = {},
): Promise<void> {
  const { logger, tracing, onSettled, publish, database } = relay;
  publish(await retryPassingFaults(() => settleDelivery(database, settlement), leaseMs));
  const { delivery, status, lastStatus: httpStatus, chat } = settlement;
  const { id, sessionId, turnId, channel, attempts } = delivery;
  const isOpen = status === 'pending';
  const isUnknown = chat?.isUnknown === true;
  onSettled?.(isUnknown ? 'unknown' : isOpen ? 'retried' : status);
  if (!isOpen && turnId !== null) tracing?.deliveryEnded(turnId);
  const origin = originOfDelivery(delivery);
  const ids = origin === null ? undefined : tracing?.idsOf(origin);
  const facts = { deliveryId: id, sessionId, turnId, ...ids, channel, attempts, ...more, status, httpStatus };
  const warning = { ...facts, ...given({ reason: reason ?? undefined }) };
  if (isUnknown) logger.warn({ ...warning, code: 'delivery_unknown' }, 'It is not known whether a delivery was sent');
  else if (status === 'failed') logger.warn({ ...warning, code: 'delivery_failed' }, 'Delivery failed permanently');
  else logger.debug(facts, 'Delivery attempted');
}

/** The turn whose trace a delivery belongs to; null: it is of no turn. */
function originOfDelivery({ turnId, origin }: ClaimedDelivery): TurnRef | null {
  return turnId === null ? null : { id: turnId, inputs: origin === null ? [] : [origin] };
}

async function sendOnce(relay: WebhookRelay, delivery: ClaimedDelivery, signal: AbortSignal): Promise<DeliveryResult> {
  const origin = originOfDelivery(delivery);
  const traceparent = origin === null ? undefined : relay.tracing?.headerOf(origin, SPAN_KEYS.delivery(delivery.id));
  return relay.webhook.send(delivery, signal, traceparent);
}

function toSettlement(relay: OutboxRelay, delivery: ClaimedDelivery, result: DeliveryResult): Settlement {
  const base = { delivery, owner: relay.owner, lastStatus: result.status };
  const { attempts } = delivery;
  switch (result.kind) {
    case 'sent':
      return { ...base, status: 'sent', lastError: null };
    case 'refused':
      return { ...base, status: 'failed', lastError: result.error };
    case 'later': {
      if (attempts >= relay.config.channels.webhook.maxAttempts) {
        const lastError = `The delivery failed after ${attempts} attempts: ${result.error}`;
        return { ...base, status: 'failed', lastError };
      }
      const delayMs = deliveryDelayMs({ attempts, random: relay.random(), retryAfterMs: result.retryAfterMs });
      return { ...base, status: 'pending', lastError: result.error, delayMs };
    }
  }
}

/** The relay of the outbox in a worker, with the channel of webhooks. */
export async function openRelay({ service, live, logger, identity, tracing, metrics }: Process): Promise<ProcessPart> {
  const { config, database, publish } = service;
  let webhook = await openWebhook(config);
  let next = webhook;
  live.follow({
    prepare: async (changed) => {
      next = await openWebhook(changed);
    },
    apply() {
      webhook = next;
    },
  });
  const onSettled = metrics === null ? undefined : countDeliveries(metrics);
  const later = createLaterRings(publish);
  const relay: WebhookRelay = {
    database,
    config,
    owner: identity.name,
    get webhook() {
      return webhook;
    },
    publish,
    random: Math.random,
    tracing,
    logger,
    onSettled,
    redact: (text) => createRedact([...secretsOf(config)])(text),
    ringLater: (sessionId, inMs) => later.plan(sessionId, inMs),
  };
  return {
    rounds: [
      {
        round: () => trimCopies(service),
        pauseMs: every(COPIES_ROUND_MS),
        failure: 'Copies of files that were sent could not be deleted; the next round retries',
      },
    ],
    async deliver({ sessionId, signal, draining }) {
      // Loaded first: what fails while this is awaited would be a rejection that nothing handles.
      const chats = hasChats(config) ? await import('./chat-relay.ts') : null;
      // The job ends when both have ended: its drain covers what is in flight.
      const ends = await Promise.allSettled([
        relayDeliveries(relay, sessionId, signal, draining),
        chats?.relayChats(relay, sessionId, { signal, draining }),
      ]);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
    async stop() {
      later.stop();
    },
  };
}

/** True: the configuration has a chat platform, so there may be deliveries to chats. */
function hasChats({ channels }: Config): boolean {
  return Object.values(channels.platforms).some(({ adapter }) => adapter !== undefined);
}

/** Rings for sessions at a later time, each once, at the earliest time that was asked for. */
function createLaterRings(publish: Publish) {
  const timers = new Map<SessionId, { atMs: number; timer: NodeJS.Timeout }>();
  return {
    plan(sessionId: SessionId, inMs: number): void {
      const delayMs = Math.min(Math.max(inMs, LATER_MS_MIN), LATER_MS_MAX);
      const atMs = performance.now() + delayMs;
      const known = timers.get(sessionId);
      if (known !== undefined && known.atMs <= atMs) return;
      clearTimeout(known?.timer);
      const timer = setTimeout(() => {
        timers.delete(sessionId);
        // A number that no other ring of the session has.
        publish({ after: { changed: [], rings: [{ kind: 'deliver', sessionId, ringNo: Date.now() }] } });
      }, delayMs);
      timers.set(sessionId, { atMs, timer: timer.unref() });
    },
    stop(): void {
      for (const { timer } of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}

async function openWebhook(config: Config): Promise<Channel> {
  return createWebhookChannel(webhookOptions(config, await ensureWebhookSecrets(config)));
}

function countDeliveries(registry: Registry): (status: DeliveryOutcome) => void {
  const deliveries = metricIn(registry, 'holdfast_deliveries_total');
  // A rate needs a first value: the first failure must count.
  for (const status of ['sent', 'failed', 'retried', 'unknown'] as const) deliveries.inc({ status }, 0);
  return (status) => deliveries.inc({ status });
}

/**
 * The deliveries that the reconciler rings for: those that are due again, and those whose ring was
 * lost.
 */
export function openDueDeliveries({
  service,
  logger,
}: Pick<Process, 'logger'> & { service: Pick<Process['service'], 'database'> }): ProcessPart {
  return {
    due: {
      work: { sql: HAS_OPEN_SQL },
      async read() {
        const { rings, expired } = await readDueDeliveries(service.database);
        for (const { id, lastStatus, ...delivery } of expired) {
          const facts = { deliveryId: id, ...delivery, code: 'delivery_expired', httpStatus: lastStatus };
          logger.warn(facts, 'Delivery expired');
        }
        return rings;
      },
    },
  };
}
