// How much a key or a token may ask. Requests are counted in the memory of each process; messages
// that are not settled are counted in the database, which all processes share.
import type { Config } from '../config.ts';
import { parseKeyName } from '../core/key-role.ts';
import { perMinute } from '../core/token-bucket.ts';
import type { ViewDatabase } from '../database/page.ts';
import { countInFlight } from '../kernel/views/count-waiting.ts';
import { isLoopbackHost } from '../network/public-address.ts';
import { createBuckets, type TakeOne } from './attempts.ts';
import type { Principal } from './key-ring.ts';
import { Problem } from './problem.ts';

/** The streams and waits that a token may have open in a process. */
const OPEN_MAX = 8;
/** How long a client is asked to wait for a message to be settled, or for a stream to end. */
const RETRY_MS = 1_000;

export class RequestLimits {
  readonly #config: Pick<Config, 'api'>;
  readonly #views: ViewDatabase;
  readonly #takeOfKey: TakeOne = createBuckets();
  readonly #takeOfToken: TakeOne = createBuckets();
  readonly #takeOfAddress: TakeOne = createBuckets();
  /** Open streams and waits by token. */
  readonly #open = new Map<string, number>();
  /** Messages by key that were let in and may not be committed yet. */
  readonly #sending = new Map<string, number>();

  constructor(config: Pick<Config, 'api'>, views: ViewDatabase) {
    this.#config = config;
    this.#views = views;
  }

  /** Throws `Problem` 429 when the caller has sent too many requests. */
  takeRequest({ keySha256, stored, token }: Principal, address: string): void {
    if (token === undefined) {
      const limit = stored?.limits.requestsPerMinute ?? null;
      if (limit !== null) refuseUntil(this.#takeOfKey(keySha256, perMinute(limit)), `The key may send ${limit}`);
      return;
    }
    const { requestsPerMinute, requestsPerMinuteOfAddress } = this.#config.api.tokens;
    refuseUntil(this.#takeOfToken(token.id, perMinute(requestsPerMinute)), `A token may send ${requestsPerMinute}`);
    // All requests have the address of a proxy on this machine, which knows those of its clients.
    if (isLoopbackHost(address)) return;
    const ofAddress = this.#takeOfAddress(address, perMinute(requestsPerMinuteOfAddress));
    refuseUntil(ofAddress, `The tokens of one address may send ${requestsPerMinuteOfAddress}`);
  }

  /**
   * Counts a stream or a wait of a token until the returned function is called. Throws `Problem`
   * 429 when the token has too many.
   */
  hold({ token }: Principal): () => void {
    if (token === undefined) return () => undefined;
    if (!raise(this.#open, token.id, OPEN_MAX)) {
      throw refusal(`The token has ${OPEN_MAX} streams and waits open. Close one of them.`, RETRY_MS);
    }
    return () => lower(this.#open, token.id);
  }

  /**
   * Sends a message, unless the key has as many in flight as it may: then `Problem` 429. Of a key,
   * those of its tokens count as well. Two processes that count at the same time may let in one
   * more each.
   */
  async send<Result>({ name, stored }: Principal, send: () => Promise<Result>): Promise<Result> {
    const limit = stored?.limits.messagesInFlight ?? null;
    const sentBy = parseKeyName(name);
    if (limit === null || sentBy === null) return send();
    const others = this.#sending.get(sentBy) ?? 0;
    if (!raise(this.#sending, sentBy, limit)) throw tooMany(limit);
    try {
      if ((await countInFlight(this.#views, sentBy)) + others >= limit) throw tooMany(limit);
      return await send();
    } finally {
      lower(this.#sending, sentBy);
    }
  }
}

function raise(counts: Map<string, number>, name: string, max: number): boolean {
  const count = counts.get(name) ?? 0;
  if (count >= max) return false;
  counts.set(name, count + 1);
  return true;
}

function lower(counts: Map<string, number>, name: string): void {
  const count = counts.get(name) ?? 0;
  if (count <= 1) counts.delete(name);
  else counts.set(name, count - 1);
}

function refuseUntil(waitMs: number, who: string): void {
  if (waitMs > 0) throw refusal(`${who} requests per minute. Wait as long as Retry-After says.`, waitMs);
}

function tooMany(limit: number): Problem {
  return refusal(
    `The most messages in flight for this key: ${limit}. Nothing was stored. Wait until one is settled.`,
    RETRY_MS,
  );
}

function refusal(detail: string, retryAfterMs: number): Problem {
  return new Problem('too_many_requests', detail, { retryAfterMs });
}
