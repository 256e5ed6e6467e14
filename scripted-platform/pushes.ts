// Pushes events to the address of a bot. Those of one lane (a chat) are pushed one after the other, and an event is pushed again until its receiver
// accepts it or its attempts are used up. A test can have events pushed twice, or in another order.
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Recorded, RecordedPush } from './call-log.ts';

export interface Push {
  url: string;
  /** The body for an attempt, which counts from 1, and what goes with it. */
  request: (attempt: number) => { body: string; headers: Record<string, string> };
  /** Called when the receiver has accepted it (null), or with why an attempt failed. */
  onAnswer?: (failure: string | null, answer: { status: number; body: string } | null) => void;
}

export interface PushRules {
  /** How long a receiver may take, in milliseconds. */
  timeoutMs: number;
  /** How long to wait before an attempt, which counts from 2, in milliseconds; null: no more attempts. */
  waitBefore: (attempt: number) => number | null;
}

export const disorderSchema = z.strictObject({
  duplicate: z.int().nonnegative().exactOptional().describe('the next so many events are pushed twice'),
  reorder: z.int().nonnegative().exactOptional().describe('the next so many events are held, and then pushed newest first'), // prettier-ignore
});

export type Disorder = z.output<typeof disorderSchema>;

export class Pushes {
  readonly #rules: PushRules;
  readonly #record: Recorded<RecordedPush>;
  readonly #closed = new AbortController();
  readonly #lanes = new Map<string, Promise<void>>();
  #duplicate = 0;
  #reorder = 0;
  #held: Push[] = [];

  constructor(rules: PushRules, record: Recorded<RecordedPush>) {
    this.#rules = rules;
    this.#record = record;
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
    for (let attempt = 1; !this.#closed.signal.aborted; attempt += 1) {
      const waitMs = attempt === 1 ? 0 : this.#rules.waitBefore(attempt);
      if (waitMs === null) return;
      if (waitMs > 0) await delay(waitMs, undefined, { signal: this.#closed.signal }).catch(() => undefined);
      if (this.#closed.signal.aborted || (await this.#attempt(push, attempt))) return;
    }
  }

  async #attempt({ url, request, onAnswer = () => {} }: Push, attempt: number): Promise<boolean> {
    const { body, headers } = request(attempt);
    const sentAt = new Date().toISOString();
    const record = this.#record.add({ sentAt, attempt, url, body: readJson(body), status: null });
    try {
      const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(this.#rules.timeoutMs)]);
      const response = await fetch(url, { method: 'POST', body, headers, signal, redirect: 'manual' });
      const text = await response.text();
      record.status = response.status;
      onAnswer(response.ok ? null : `Wrong response from the webhook: ${response.status}`, {
        status: response.status,
        body: text,
      });
      return response.ok;
    } catch (error) {
      onAnswer(error instanceof Error && error.name === 'TimeoutError' ? 'Read timeout expired' : 'Connection refused', null); // prettier-ignore
      return false;
    }
  }
}

function readJson(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}
