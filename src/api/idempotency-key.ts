// The `Idempotency-Key` header: what it may be, what it is bound to, and the POSTs that give their first answer again.
import { setTimeout as delay } from 'node:timers/promises';
import { keepAnswer, releaseKey, reserveKey, type KeyedRequest } from '../store/idempotency.ts';
import type { ViewDatabase } from '../store/views/page.ts';
import { sha256OfJson } from './canonical-json.ts';
import { Problem } from './problem.ts';
import type { Answer } from './route.ts';

const KEY = /^[\x21-\x7e]{1,200}$/;
/** How long a request waits for another one with its key, in milliseconds, and how often it looks. */
const BUSY_MS_MAX = 5000;
const BUSY_LOOK_MS = 50;

export const REPLAYED = { 'idempotent-replayed': 'true' };

/**
 * The key of a request with what it is bound to: whose key it is, the request's place and the body as it came; null without the
 * header. Throws `Problem` 400 for a key that is not 1 to 200 visible ASCII characters.
 */
export function keyedRequestOf(request: {
  header: string | string[] | undefined;
  principalName: string;
  place: string;
  rawBody: unknown;
}): KeyedRequest | null {
  const { header } = request;
  if (header === undefined) return null;
  if (typeof header !== 'string' || !KEY.test(header)) {
    throw new Problem('invalid_header', 'Idempotency-Key: 1 to 200 visible ASCII characters are allowed.', {
      errors: [{ path: 'Idempotency-Key', message: 'expected 1 to 200 visible ASCII characters' }],
    });
  }
  return { scope: `${request.principalName} ${request.place}`, key: header, sha256: sha256OfJson(request.rawBody) };
}

export function idempotencyMismatch(): Problem {
  return new Problem(
    'idempotency_mismatch',
    'This Idempotency-Key was used for a request with another body; nothing was written.',
  );
}

/** Does the work once per key and gives its first answer again to everybody else who comes with the key and the same body. */
export async function answerOnce(
  views: ViewDatabase,
  request: KeyedRequest,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const endAt = performance.now() + BUSY_MS_MAX;
  for (;;) {
    const reservation = await reserveKey(views, request);
    switch (reservation.kind) {
      case 'reserved':
        return workAndKeep(views, request, work);
      case 'answered':
        return { status: reservation.status, body: reservation.response, headers: REPLAYED };
      case 'mismatch':
        throw idempotencyMismatch();
      case 'busy':
        if (performance.now() >= endAt) {
          throw new Problem('idempotency_busy', 'Another request with this Idempotency-Key has not ended yet.', {
            retryAfterMs: 1000,
          });
        }
        await delay(BUSY_LOOK_MS);
        break;
      default:
        return reservation satisfies never;
    }
  }
}

async function workAndKeep(views: ViewDatabase, request: KeyedRequest, work: () => Promise<Answer>): Promise<Answer> {
  let answer: Answer;
  try {
    answer = await work();
  } catch (error) {
    await releaseKey(views, request);
    throw error;
  }
  await keepAnswer(views, request, { status: answer.status, response: answer.body });
  return answer;
}
