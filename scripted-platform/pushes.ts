// Pushes events to the address of a bot. Those of one lane (a chat) are pushed one after the other,
// and an event is pushed again until its receiver accepts it or its attempts are used up. A test
// can have events pushed twice, or in another order.
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Recorded, RecordedPush } from './call-log.ts';

/**
 * Pushes an event once; an attempt counts from 1. Resolves to whether no further attempt is needed.
 */
export type Push = (attempt: number, signal: AbortSignal) => Promise<boolean>;

export interface PushRules {
  /** How long a receiver may take, in milliseconds. */
  timeoutMs: number;
  /**
   * How long to wait before an attempt, which counts from 2, in milliseconds; null: no more
   * attempts.
   */
  waitBefore: (attempt: number) => number | null;
  /**
   * True: while an event is not accepted, those after it in its lane wait. False: they wait for its
   * first attempt only.
   */
  isStrict: boolean;
}

export const disorderSchema = z.strictObject({
  duplicate: z.int().nonnegative().exactOptional().describe('the next so many events are pushed twice'),
  // prettier-ignore
  reorder: z.int().nonnegative().exactOptional().describe('the next so many events are held, and then pushed newest first'),
});

export type Disorder = z.output<typeof disorderSchema>;

export class Pushes {
  readonly #rules: PushRules;
  readonly #closed = new AbortController();
  readonly #lanes = new Map<string, Promise<void>>();
  #duplicate = 0;
  #reorder = 0;
  #held: Push[] = [];

  constructor(rules: PushRules) {
    this.#rules = rules;
  }

  disturb({ duplicate = this.#duplicate, reorder = this.#reorder }: Disorder): void {
    this.#duplicate = duplicate;
    this.#reorder = reorder;
    this.#releaseHeld();
  }

  /** Pushes an event after those of its lane. */
  add(lane: string, push: Push): void {
    const copies = this.#duplicate > 0 ? [push, push] : [push];
    this.#duplicate = Math.max(0, this.#duplicate - 1);
    if (this.#reorder > 0) {
      this.#held.push(...copies);
      this.#reorder -= 1;
      return this.#releaseHeld();
    }
    for (const copy of copies) this.#append(lane, copy);
  }

  close(): void {
    this.#closed.abort();
  }

  #releaseHeld(): void {
    if (this.#reorder > 0) return;
    for (const push of this.#held.toReversed()) this.#append('reordered', push);
    this.#held = [];
  }

  #append(lane: string, push: Push): void {
    const last = (this.#lanes.get(lane) ?? Promise.resolve()).then(() => this.#send(push));
    this.#lanes.set(lane, last);
    void last.then(() => {
      if (this.#lanes.get(lane) === last) this.#lanes.delete(lane);
    });
  }

  async #send(push: Push): Promise<void> {
    const { signal } = this.#closed;
    if (signal.aborted || (await push(1, signal))) return;
    const rest = this.#repeat(push, signal);
    if (this.#rules.isStrict) await rest;
  }

  async #repeat(push: Push, signal: AbortSignal): Promise<void> {
    for (let attempt = 2; !signal.aborted; attempt += 1) {
      const waitMs = this.#rules.waitBefore(attempt);
      if (waitMs === null) return;
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted || (await push(attempt, signal))) return;
    }
  }
}

export interface Posting {
  url: string;
  body: string;
  headers: Record<string, string>;
  attempt: number;
  timeoutMs: number;
}

/** Why a receiver did not accept an event; null: it did. */
export type PostFailure = { kind: 'status' | 'timeout' | 'connection'; status: number | null; isFinal: boolean } | null;

/** Posts an event and records that. `isFinal`: the receiver asks for no further attempt. */
export async function post(
  { url, body, headers, attempt, timeoutMs }: Posting,
  record: Recorded<RecordedPush>,
  signal: AbortSignal,
): Promise<PostFailure> {
  const push = record.add({ sentAt: new Date().toISOString(), attempt, url, body: readJson(body), status: null });
  try {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { method: 'POST', body, headers, signal: bounded, redirect: 'manual' });
    record.answer(push, { answer: await response.text(), status: response.status });
    if (response.ok) return null;
    return { kind: 'status', status: response.status, isFinal: response.headers.get('x-slack-no-retry') === '1' };
  } catch (error) {
    const isTimeout = error instanceof Error && error.name === 'TimeoutError';
    return { kind: isTimeout ? 'timeout' : 'connection', status: null, isFinal: false };
  }
}

function readJson(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}
