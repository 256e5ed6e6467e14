// The answer to a request that has stored a message: with `Prefer: wait=<seconds>` (RFC 7240), how
// the message ended, if it is settled in that time.
import type { AcceptedMessage } from '../contract/answers.ts';
import type { AcceptResult } from '../kernel/use-cases/accept-message.ts';
import type { SettlementView } from '../kernel/views/turns.ts';
import type { Answer } from './answer.ts';
import { idempotencyMismatch, REPLAYED } from './idempotency-key.ts';
import { fieldProblem, modelProblem, Problem } from './problem.ts';
import type { AnyRequest, Api } from './route.ts';
import type { AwaitedMessage } from './settlement-waiter.ts';

const WAIT = /^wait\s*=\s*"?(\d{1,6})"?$/i;

const GONE = 'the client has disconnected';

/**
 * `isReplay`: an earlier request with the same key has stored it. `ended` makes the 200, `now` the
 * 202.
 */
export async function answerStored(
  { request, context, services }: Omit<Api, 'routes'> & { request: AnyRequest },
  message: AwaitedMessage & { isReplay: boolean },
  bodies: { ended: (settlement: SettlementView) => Promise<object>; now: () => Promise<object> },
): Promise<Answer> {
  const waitSeconds = parseWaitSeconds(request.headers['prefer'], context.config.limits.waitSeconds);
  const settlement = waitSeconds === 0 ? null : await waitForSettlement({ request, services }, message, waitSeconds);
  const headers = {
    location: `/v1/messages/${message.id}`,
    ...(waitSeconds > 0 ? { 'preference-applied': `wait=${waitSeconds}` } : {}),
    ...(message.isReplay ? REPLAYED : {}),
  };
  if (settlement === null) return { status: 202, body: await bodies.now(), headers };
  return { status: 200, body: await bodies.ended(settlement), headers };
}

/**
 * The seconds of `wait`, at most `secondsMax`; 0 when the header requests no wait or is invalid, as
 * the RFC requires.
 */
function parseWaitSeconds(prefer: string | string[] | undefined, secondsMax: number): number {
  if (prefer === undefined) return 0;
  const preferences = (Array.isArray(prefer) ? prefer.join(',') : prefer).split(',');
  for (const preference of preferences) {
    const seconds = WAIT.exec(preference.split(';')[0]?.trim() ?? '')?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds), secondsMax);
  }
  return 0;
}

/** The refusal of a message whose session has the largest number of waiting messages. */
export function inboxFull(retryAfterMs?: number): Problem {
  const detail =
    'The inbox of the session is full; nothing was stored. Wait for a reply, or raise limits.waitingPerSession.';
  return new Problem('inbox_full', detail, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** A 202 or a duplicate, never a refusal. */
export type TakenMessage = Extract<AcceptResult, AcceptedMessage>;

/** Throws `Problem` for a refusal. */
export function toTakenMessage(result: AcceptResult): TakenMessage {
  switch (result.kind) {
    case 'accepted':
    case 'duplicate':
      return result;
    case 'refused':
      throw result.path === undefined ? modelProblem(result.message) : fieldProblem(result.path, result.message);
    case 'mismatch':
      throw idempotencyMismatch();
    case 'full':
      throw inboxFull(result.retryAfterMs);
    default:
      return result satisfies never;
  }
}

/**
 * How the message ended, or null when the wait ended first: it ends when the client leaves, and
 * counts as no ordinary request while it lasts.
 */
async function waitForSettlement(
  { request, services }: Pick<Api, 'services'> & { request: AnyRequest },
  message: AwaitedMessage,
  waitSeconds: number,
): Promise<SettlementView | null> {
  const gone = new AbortController();
  // Every response closes. Without a reason, each abort would make an error with a stack.
  request.reply.raw.once('close', () => gone.abort(GONE));
  if (request.reply.raw.destroyed) gone.abort(GONE);
  services.admission.leave(request.reply.request);
  return await services.waiter.wait(message, waitSeconds * 1000, gone.signal);
}
