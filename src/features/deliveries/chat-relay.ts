// The relay of deliveries to chats: claims the head of each chat that a session writes to, divides
// it into parts, and sends them one after the other. What a platform asks for is kept for all
// relays: the time before which a chat, or an account, gets nothing more (`channel_gates`).
//
// A part is sent at most once, except where its sender died or had no answer: then the platform is
// asked, or `channels.<name>.onUnknown` decides.
import { setTimeout as pause } from 'node:timers/promises';
import type { SessionId } from '../../core/ids.ts';
import { deliveryDelayMs } from '../../kernel/rules/backoff.ts';
import { chatGapMs, divideDelivery, sendPart, type PartPayload, type PartResult } from '../channels/send.ts';
import { relayEach, settleAttempt, type OutboxRelay } from './relay.ts';
import { claimPart, storeParts, type ClaimedPart } from './store/claims.ts';
import type { Settlement } from './store/settle.ts';

/** A request to a platform ends in this time, in milliseconds; a file may be long. */
const SEND_MS_MAX = 30_000;
/** The longest wait for the turn of a message among those of its account is far below this. */
const LEASE_MS = SEND_MS_MAX + 10_000;
/**
 * The longest wait of a chat after an attempt that may pass, where the platform has not said how
 * long to wait.
 */
const RETRY_MS_MAX = 300_000;

/**
 * Sends what is due of the chats of a session, until nothing is. Returns how many attempts were
 * settled. Nothing is begun after `draining`.
 */
export async function relayChats(
  relay: OutboxRelay,
  sessionId: SessionId,
  { signal, draining }: { signal: AbortSignal; draining: AbortSignal },
): Promise<number> {
  let url: string | null = null;
  return relayEach(relay, draining, async (owner, claimedAtMs) => {
    // The chat of the last part counts, too: another session may wait for it.
    const claim = await claimPart(relay.database, { sessionId, url, owner, leaseMs: LEASE_MS });
    if (claim.part === null) {
      if (claim.next !== null) relay.ringLater?.(claim.next.sessionId, claim.next.inMs);
      return false;
    }
    url = claim.part.url;
    await handlePart({ ...relay, owner }, claim.part, { claimedAtMs, signal });
    return true;
  });
}

async function handlePart(
  relay: OutboxRelay,
  claimed: ClaimedPart,
  { claimedAtMs, signal }: { claimedAtMs: number; signal: AbortSignal },
): Promise<void> {
  const part = claimed.parts === 0 ? await divide(relay, claimed) : claimed;
  if (part === null) return;
  if (part.waitMs > 0) await pause(part.waitMs);
  if (signal.aborted) return settleResult(relay, part, laterNow('The worker stopped before it was sent.'));
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(SEND_MS_MAX)]);
  const sendBeforeMs = claimedAtMs + LEASE_MS - SEND_MS_MAX;
  const result = await sendPart(relay, { ...part, sendBeforeMs }, deadline);
  if (result.kind !== 'open') return settleResult(relay, part, result);
  // It stays claimed: when the lease has expired, the platform is asked.
  const facts = { deliveryId: part.id, channel: part.channel, reason: relay.redact(result.error) };
  relay.logger.warn(facts, 'Whether a part was sent is not known yet; the platform is asked later');
}

/**
 * Stores the parts of a delivery, the first of which stays claimed; null: there is nothing to send.
 */
async function divide(relay: OutboxRelay, claimed: ClaimedPart): Promise<ClaimedPart | null> {
  const { config, database, owner } = relay;
  const divided = await divideDelivery(config, claimed.url, claimed.payload);
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

async function settleResult(relay: OutboxRelay, part: ClaimedPart, result: SettledResult): Promise<void> {
  const settlement = toSettlement(relay, part, result);
  const about = { part: part.part, parts: part.parts, reason: settlement.lastError };
  await settleAttempt(relay, settlement, LEASE_MS, about);
}

type SettledResult = Exclude<PartResult, { kind: 'open' }>;

function laterNow(error: string): SettledResult {
  return { kind: 'later', status: null, error, retryAfterMs: 0, isOfAccount: false };
}

function toSettlement(relay: OutboxRelay, part: ClaimedPart, result: SettledResult): Settlement {
  const { attempts, isAmbiguous } = part;
  const chat = { chatMs: chatGapMs(relay.config, part.url) };
  const base = { delivery: part, owner: relay.owner };
  if (result.kind === 'sent') {
    const { platformId } = result;
    return { ...base, status: 'sent', lastStatus: null, lastError: null, chat: { ...chat, platformId } };
  }
  const failed = { ...base, lastStatus: result.status, lastError: relay.redact(result.error) };
  const grownMs = Math.min(deliveryDelayMs({ attempts, random: relay.random(), retryAfterMs: null }), RETRY_MS_MAX);
  switch (result.kind) {
    case 'later': {
      const { retryAfterMs, isOfAccount } = result;
      const held = isOfAccount ? { accountMs: retryAfterMs } : { chatMs: Math.max(chat.chatMs, retryAfterMs ?? 0) };
      const delayMs = retryAfterMs ?? grownMs;
      return { ...failed, status: 'pending', delayMs, chat: { ...chat, ...held, staysAmbiguous: isAmbiguous } };
    }
    case 'refused':
      return { ...failed, status: 'failed', chat: { ...chat, ...newsOf(part, `was not sent: ${failed.lastError}`) } };
    case 'unknown': {
      if (result.policy === 'resend') {
        // The first repeats are immediate; a platform that answers nothing for long is asked less
        // often. That a sender died says nothing of the platform.
        const delayMs = isAmbiguous || attempts <= 2 ? 0 : grownMs;
        return { ...failed, status: 'pending', delayMs, chat: { ...chat, isUnknown: true } };
      }
      // Nothing in the chat says so: it may have the part.
      const news = { ...newsOf(part, `may not have been sent: ${failed.lastError}`), gap: null };
      return { ...failed, status: 'unknown', chat: { ...chat, ...news, isUnknown: true } };
    }
  }
}

/**
 * What the agent and the chat read about a part that was given up. That a notice itself was refused
 * is of no use to them.
 */
function newsOf(
  { part, parts, url, payload }: ClaimedPart,
  fault: string,
): { isNotice: true } | { news: string; gap: PartPayload | null } {
  const {
    isNotice,
    react,
    media: _media,
    buttons: _buttons,
    asFile: _asFile,
    replyToMessageId: _quoted,
    ...shared
  } = payload as PartPayload;
  if (isNotice === true) return { isNotice };
  const what = react === undefined ? (parts > 1 ? `Part ${part} of ${parts} of a message` : 'A message') : 'A reaction';
  const gap = { ...shared, text: `${what} ${fault}`, isNotice: true as const };
  return { news: `${what} to ${url.slice('channel:'.length)} ${fault}`, gap: react === undefined ? gap : null };
}
