// The `Idempotency-Key` header: its format, its scope, and how a POST returns its first answer
// again. The statement with the effect of a request stores the key, so a request never waits for
// another one with its key: it reads that request's result and returns it.
import { hash } from 'node:crypto';
import { canonicalJson } from '../core/json.ts';
import { isKeyTaken, keepAnswer, readKey, type KeyedRequest, type KeyState } from '../database/idempotency.ts';
import type { ViewDatabase } from '../database/page.ts';
import type { Answer } from './answer.ts';
import { conflict, Problem } from './problem.ts';

const KEY = /^[\x21-\x7e]{1,200}$/;

export const REPLAYED = { 'idempotent-replayed': 'true' };

/**
 * The key of a request with what it is bound to: whose key it is, the request's place and the body
 * as it came; null without the header. Throws `Problem` 400 for a key that is not 1 to 200 visible
 * ASCII characters.
 */
export function buildKeyedRequest(request: {
  header: string | string[] | undefined;
  owner: string;
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
  return { scope: `${request.owner} ${request.place}`, key: header, sha256: sha256OfJson(request.rawBody) };
}

export function idempotencyMismatch(): Problem {
  return new Problem(
    'idempotency_mismatch',
    'This Idempotency-Key was used for a request with another body; nothing was stored. Send the request with a new key.',
  );
}

/** The two halves of a POST. */
export interface Effect<Result> {
  /**
   * Does it, with one statement that stores the key and the result. Throws `Problem` when it is
   * refused; then the key stays unused.
   */
  perform: () => Promise<Result>;
  /** The answer to a result, which was returned by `perform` or read from the row of the key. */
  answer: (result: Result) => Promise<Answer>;
}

/**
 * Performs the effect once per key. Every request with the key and the same body gets the first
 * answer.
 */
export async function answerOnce<Result>(
  views: ViewDatabase,
  request: KeyedRequest | null,
  effect: Effect<Result>,
): Promise<Answer> {
  if (request === null) return effect.answer(await effect.perform());
  const known = await readKey(views, request);
  if (known.kind !== 'new') return answerKnown(views, request, effect, known);
  let result: Result;
  try {
    result = await effect.perform();
  } catch (error) {
    // A request with the same key may have been first; its effect may also be why this one was
    // refused.
    const first = isKeyTaken(error) || error instanceof Problem ? await readKey(views, request) : known;
    if (first.kind === 'new') throw error;
    return answerKnown(views, request, effect, first);
  }
  return answerDone(views, request, await effect.answer(result));
}

/**
 * A POST whose body is read as it arrives, so that what its key is bound to is known only at the
 * end.
 */
export interface UploadEffect<Result> {
  /** The body; a request whose key was used before reads it for the hash alone. */
  content: AsyncIterable<unknown>;
  /** The hash of the content; called once, after it was read. */
  sha256: () => string;
  /** What the key is bound to. */
  boundTo: (sha256: string) => object;
  /** Does it; `bind` gives the key that the last statement stores. */
  perform: (bind: (sha256: string) => KeyedRequest | null) => Promise<Result>;
  answer: (result: Result) => Promise<Answer>;
}

/** Performs the upload once per key, as `answerOnce` does. */
export async function answerUpload<Result>(
  views: ViewDatabase,
  request: KeyedRequest | null,
  upload: UploadEffect<Result>,
): Promise<Answer> {
  let bound: KeyedRequest | null = null;
  const bind = (sha256: string): KeyedRequest | null =>
    (bound = request === null ? null : { ...request, sha256: sha256OfJson(upload.boundTo(sha256)) });
  const answerAgain = (): Promise<Answer> =>
    answerOnce(views, bound, {
      perform: () => Promise.reject(conflict('The first request with this Idempotency-Key was undone. Send it again.')),
      answer: upload.answer,
    });
  if (request !== null && (await readKey(views, request)).kind !== 'new') {
    for await (const _part of upload.content);
    bind(upload.sha256());
    return answerAgain();
  }
  try {
    const answer = await upload.answer(await upload.perform(bind));
    return await answerDone(views, bound, answer);
  } catch (error) {
    if (!isKeyTaken(error)) throw error;
    return answerAgain();
  }
}

/** Answers a request whose key was used before. */
async function answerKnown<Result>(
  views: ViewDatabase,
  request: KeyedRequest,
  effect: Effect<Result>,
  known: Exclude<KeyState, { kind: 'new' }>,
): Promise<Answer> {
  switch (known.kind) {
    case 'mismatch':
      throw idempotencyMismatch();
    case 'answered':
      return { status: known.status, body: known.response, headers: REPLAYED };
    case 'done': {
      // The statement of the effect wrote what `perform` returns.
      const answer = await answerDone(views, request, await effect.answer(known.result as Result));
      return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
    }
    default:
      return known satisfies never;
  }
}

/** The answer, or the one that another request with the key has stored meanwhile. */
async function answerDone(views: ViewDatabase, request: KeyedRequest | null, answer: Answer): Promise<Answer> {
  if (request === null) return answer;
  const kept = await keepAnswer(views, request, { status: answer.status, response: answer.body });
  return { ...answer, status: kept.status, body: kept.response };
}

/** SHA-256, in hex, the same for all equivalent JSON values. */
export function sha256OfJson(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'hex');
}
