// The relay of deliveries to chats: claims the head of each chat that a session writes to, divides
// it into parts, and sends them one after the other. What a platform asks for is kept for all
// relays: the time before which a chat, or an account, gets nothing more (`channel_gates`).
//
// A part is sent at most once, except where its sender died or had no answer: then the platform is
// asked, or `channels.<name>.onUnknown` decides.
import { setTimeout as pause } from 'node:timers/promises';
import type { SessionId } from '../../core/ids.ts';
import { retryPassingFaults } from '../../database/passing-faults.ts';
import { newId } from '../../ids.ts';
import { deliveryDelayMs } from '../../kernel/rules/backoff.ts';
import type { PartPayload, PartResult } from '../channels/send.ts';
import { noteAttempt, type OutboxRelay } from './relay.ts';
import {
  claimPart,
  settlePart,
  storeParts,
  type ClaimedPart,
  type PartClaim,
  type PartSettlement,
} from './store/parts.ts';

/** A request to a platform ends in this time, in milliseconds; a file may be long. */
const SEND_MS_MAX = 30_000;
/** The longest wait for the turn of a message among those of its account is far below this. */
const LEASE_MS = SEND_MS_MAX + 10_000;
const PARTS_PER_JOB_MAX = 20;
/**
 * The longest wait of a chat after an attempt that may pass, where the platform has not said how
 * long to wait.
 */
const RETRY_MS_MAX = 300_000;

type Sender = typeof import('../channels/send.ts');

interface Chats extends OutboxRelay {
  sender: Sender;
}

/**
 * Sends what is due of the chats of a session, until nothing is. Returns how many attempts were
 * settled. Nothing is begun after `draining`.
 */
export async function relayChats(
  relay: OutboxRelay,
  sessionId: SessionId,
  { signal, draining }: { signal: AbortSignal; draining: AbortSignal },
): Promise<number> {
  const chats = { ...relay, sender: await import('../channels/send.ts') };
  let url: string | null = null;
  for (let settled = 0; settled < PARTS_PER_JOB_MAX; settled += 1) {
    if (draining.aborted) return settled;
    // The chat of the last part is asked about, too: a session that waits for it is next.
    // Of this claim alone: what an earlier one writes late must not end it.
    const owner = `${relay.owner}:${newId<string>()}`;
    // A process that is suspended before the answer arrives must not believe that it has its lease
    // still.
    const claimedAtMs = performance.now();
    const claim: PartClaim = await claimPart(relay.database, { sessionId, url, owner, leaseMs: LEASE_MS });
    if (claim.part === null) {
      if (claim.next !== null) relay.ringLater?.(claim.next.sessionId, claim.next.inMs);
      return settled;
    }
    url = claim.part.url;
    await handlePart({ ...chats, owner }, claim.part, { claimedAtMs, signal });
  }
  return PARTS_PER_JOB_MAX;
}

async function handlePart(
  relay: Chats,
  claimed: ClaimedPart,
  { claimedAtMs, signal }: { claimedAtMs: number; signal: AbortSignal },
): Promise<void> {
  const part = claimed.parts === 0 ? await divide(relay, claimed) : claimed;
  if (part === null) return;
  if (part.waitMs > 0) await pause(part.waitMs);
  if (signal.aborted) return settleResult(relay, part, laterNow('The worker stopped before it was sent.'));
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(SEND_MS_MAX)]);
  const sendBeforeMs = claimedAtMs + LEASE_MS - SEND_MS_MAX;
  const result = await relay.sender.sendPart(relay, { ...part, sendBeforeMs }, deadline);
  if (result.kind !== 'open') return settleResult(relay, part, result);
  // It stays claimed: when the lease has expired, the platform is asked.
  const facts = { deliveryId: part.id, channel: part.channel, reason: relay.redact(result.error) };
  relay.logger.warn(facts, 'Whether a part was sent is not known yet; the platform is asked later');
}

/**
 * Stores the parts of a delivery, the first of which stays claimed; null: there is nothing to send.
 */
async function divide(relay: Chats, claimed: ClaimedPart): Promise<ClaimedPart | null> {
  const { config, database, owner, sender } = relay;
  const divided = await sender.divideDelivery(config, claimed.url, claimed.payload);
  if ('kind' in divided) {
    await settleResult(relay, claimed, divided);
    return null;
  }
  const [payload] = divided;
  if (payload === undefined) {
    // Nothing of it would be seen, so the chat stays silent.
    await settleResult(relay, claimed, { kind: 'sent', platformId: null });
    return null;
  }
  const isStored = await storeParts(database, { delivery: claimed, owner, payloads: divided });
  return isStored ? { ...claimed, payload, parts: divided.length } : null;
}

async function settleResult(relay: Chats, part: ClaimedPart, result: SettledResult): Promise<void> {
  const settlement = toSettlement(relay, part, result);
  relay.publish(await retryPassingFaults(() => settlePart(relay.database, settlement), LEASE_MS));
  noteAttempt(relay, settlement, { part: part.part, parts: part.parts, reason: settlement.lastError });
}

type SettledResult = Exclude<PartResult, { kind: 'open' }>;

function laterNow(error: string): SettledResult {
  return { kind: 'later', status: null, error, retryAfterMs: 0, isOfAccount: false };
}

function toSettlement(relay: Chats, part: ClaimedPart, result: SettledResult): PartSettlement {
  const base = {
    delivery: part,
    owner: relay.owner,
    isUnknown: false,
    staysAmbiguous: false,
    platformId: null,
    lastStatus: null,
    lastError: null,
    delayMs: 0,
    chatMs: relay.sender.chatGapMs(relay.config, part.url),
    accountMs: null,
    code: null,
    news: null,
    gap: null,
  };
  if (result.kind === 'sent') return { ...base, status: 'sent', platformId: result.platformId };
  const failed = { ...base, lastStatus: result.status, lastError: relay.redact(result.error) };
  switch (result.kind) {
    case 'later':
      return {
        ...failed,
        status: 'pending',
        staysAmbiguous: part.isAmbiguous,
        ...waitOf(relay, part, result, base.chatMs),
      };
    case 'refused':
      return { ...failed, status: 'failed', ...newsOf(part, `was not sent: ${failed.lastError}`, 'delivery_failed') };
    case 'unknown': {
      if (result.policy === 'resend') {
        // The first repeats are immediate; a platform that answers nothing for long is asked less
        // often. That a sender died says nothing of the platform.
        const { attempts, isAmbiguous } = part;
        const grownMs = deliveryDelayMs({ attempts, random: relay.random(), retryAfterMs: null });
        const delayMs = isAmbiguous || attempts <= 2 ? 0 : Math.min(grownMs, RETRY_MS_MAX);
        return { ...failed, isUnknown: true, status: 'pending', delayMs };
      }
      const news = newsOf(part, `may not have been sent: ${failed.lastError}`, 'delivery_unknown');
      // Nothing in the chat says so: it may have the part.
      return { ...failed, isUnknown: true, status: 'unknown', ...news, gap: null };
    }
  }
}

function waitOf(
  relay: Chats,
  { attempts }: ClaimedPart,
  result: Extract<PartResult, { kind: 'later' }>,
  gapMs: number,
) {
  const { retryAfterMs, isOfAccount } = result;
  const grownMs = deliveryDelayMs({ attempts, random: relay.random(), retryAfterMs: null });
  if (retryAfterMs === null) return { delayMs: Math.min(grownMs, RETRY_MS_MAX) };
  if (isOfAccount) return { delayMs: retryAfterMs, accountMs: retryAfterMs };
  return { delayMs: retryAfterMs, chatMs: Math.max(gapMs, retryAfterMs) };
}

/**
 * What the agent and the chat read about a part that was given up. That a notice itself was refused
 * is of no use to them.
 */
function newsOf(
  { part, parts, url, payload }: ClaimedPart,
  fault: string,
  code: 'delivery_failed' | 'delivery_unknown',
) {
  const {
    isNotice,
    react,
    media: _media,
    buttons: _buttons,
    asFile: _asFile,
    replyToMessageId: _quoted,
    ...shared
  } = payload as PartPayload;
  if (isNotice === true) return {};
  const what = react === undefined ? (parts > 1 ? `Part ${part} of ${parts} of a message` : 'A message') : 'A reaction';
  const gap = { ...shared, text: `${what} ${fault}`, isNotice: true as const };
  return { code, news: `${what} to ${url.slice('channel:'.length)} ${fault}`, gap: react === undefined ? gap : null };
}
