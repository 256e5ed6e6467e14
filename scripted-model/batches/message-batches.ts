// The message batches of one server: they are made, end after a delay with all their results at
// once, and are listed, cancelled and deleted. Their counts change only at the end, their requests
// are validated and answered only then, and the results have no order: as with the API.
import { ProviderError } from '../provider-error.ts';
import { NO_FAULTS, type BatchFaults } from './batch-faults.ts';
import { shownBatch, type MessageBatch } from './message-batch.ts';
import type { BatchRequest } from './validate-batch.ts';

/** How a request of a batch ended; null: its result is missing. */
export type RequestResult = Record<string, unknown> & {
  type: 'succeeded' | 'errored' | 'expired' | 'canceled' | 'broken';
};

export interface MessageBatchesOptions {
  /** How long a batch takes, in milliseconds. */
  delayMs: number;
  /** Answers a request at the end of its batch; null: its result is missing. */
  answer: (request: BatchRequest, batchId: string) => RequestResult | null;
  newId: (prefix: 'msgbatch_') => string;
}

/** A batch as tests see it. */
export interface BatchRecord {
  id: string;
  customIds: string[];
  status: MessageBatch['status'];
  isForeign: boolean;
  isCancelled: boolean;
}

/** Requests that are answered without a pause. */
const ANSWERED_AT_ONCE = 100;
const LISTED_DEFAULT = 20;

export class MessageBatches {
  faults: BatchFaults = { ...NO_FAULTS };
  readonly #options: MessageBatchesOptions;
  /** Oldest first. */
  readonly #batches = new Map<string, MessageBatch>();
  /** The batches that wait for the delay, by their ids. */
  readonly #begins = new Map<string, { begin: () => void; timer: NodeJS.Timeout }>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: MessageBatchesOptions) {
    this.#options = options;
  }

  get records(): BatchRecord[] {
    return [...this.#batches.values()].map(({ id, requests, status, isForeign, cancelledAt }) => ({
      id,
      customIds: requests.map((request) => request.custom_id),
      status,
      isForeign,
      isCancelled: cancelledAt !== null,
    }));
  }

  nowMs(): number {
    return Date.now() + this.faults.clockAheadMs;
  }

  create(requests: readonly BatchRequest[]): MessageBatch {
    for (let n = 0; n < this.faults.foreignBatches; n += 1) {
      this.#make(
        requests.map(({ params }, index) => ({ custom_id: `other-${index}`, params })),
        true,
      );
    }
    return this.#make(requests, false);
  }

  /** Throws `ProviderError` 404. */
  get(id: string): MessageBatch {
    const batch = this.#batches.get(id);
    if (batch === undefined) throw new ProviderError({ status: 404, message: `No such batch: ${id}` });
    return batch;
  }

  /** A page of the batches, newest first, as the API answers it. */
  list(query: URLSearchParams, url: string): Record<string, unknown> {
    const limit = Number(query.get('limit') ?? LISTED_DEFAULT);
    const youngest = this.nowMs() - this.faults.listingLagMs;
    const all = [...this.#batches.values()].filter(({ createdAt }) => createdAt <= youngest).toReversed();
    const after = query.get('after_id');
    const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
    const page = all.slice(from, from + limit);
    return {
      data: page.map((batch) => shownBatch(batch, url)),
      has_more: all.length > from + limit,
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
    };
  }

  cancel(id: string): MessageBatch {
    const batch = this.get(id);
    if (batch.status !== 'in_progress') return batch;
    batch.status = 'canceling';
    batch.cancelledAt = this.nowMs();
    this.#beginNow(batch);
    return batch;
  }

  /** Throws `ProviderError` 400 for a batch that has not ended. */
  delete(id: string): void {
    if (this.get(id).status !== 'ended')
      throw new ProviderError({ status: 400, message: `Batch ${id} cannot be deleted before it has ended.` });
    this.#batches.delete(id);
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #make(requests: readonly BatchRequest[], isForeign: boolean): MessageBatch {
    const batch: MessageBatch = {
      id: this.#options.newId('msgbatch_'),
      createdAt: this.nowMs(),
      requests,
      isForeign,
      missesLine: !isForeign && this.faults.missingResults > 0,
      status: 'in_progress',
      cancelledAt: null,
      endedAt: null,
      lines: [],
      counts: { processing: requests.length, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    };
    if (batch.missesLine) this.faults.missingResults -= 1;
    this.#batches.set(batch.id, batch);
    const begin = (): void => {
      this.#begins.delete(batch.id);
      this.#answerFrom(batch, 0);
    };
    this.#begins.set(batch.id, { begin, timer: this.#later(this.#options.delayMs, begin) });
    return batch;
  }

  /** A request that is cancelled before its delay is over ends without a result. */
  #beginNow({ id }: MessageBatch): void {
    const later = this.#begins.get(id);
    if (later === undefined) return;
    clearTimeout(later.timer);
    this.#timers.delete(later.timer);
    this.#later(0, later.begin);
  }

  #later(ms: number, act: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }

  #answerFrom(batch: MessageBatch, from: number): void {
    const to = Math.min(from + ANSWERED_AT_ONCE, batch.requests.length);
    for (const request of batch.requests.slice(from, to)) this.#answer(batch, request);
    if (to < batch.requests.length) return void this.#later(0, () => this.#answerFrom(batch, to));
    if (batch.missesLine) batch.lines.pop();
    batch.lines = shuffled(batch.lines);
    batch.counts = this.#countsOf(batch);
    batch.status = 'ended';
    batch.endedAt = this.nowMs();
  }

  #answer(batch: MessageBatch, request: BatchRequest): void {
    const result: RequestResult | null =
      batch.status === 'canceling' ? { type: 'canceled' } : this.#options.answer(request, batch.id);
    if (result === null) return;
    const line = JSON.stringify({ custom_id: request.custom_id, result });
    batch.lines.push(result.type === 'broken' ? line.slice(0, -2) : line);
  }

  #countsOf(batch: MessageBatch): MessageBatch['counts'] {
    const count = (type: string): number =>
      batch.lines.filter((line) => line.includes(`"result":{"type":"${type}"`)).length;
    const [succeeded, errored, canceled] = [count('succeeded'), count('errored'), count('canceled')];
    // The counts of the API add up, also when lines are missing.
    return {
      processing: 0,
      succeeded,
      errored,
      canceled,
      expired: batch.requests.length - succeeded - errored - canceled,
    };
  }
}

/** The lines in another order, which is the same each time. */
function shuffled(lines: readonly string[]): string[] {
  const odd = lines.filter((_, index) => index % 2 === 1);
  const even = lines.filter((_, index) => index % 2 === 0);
  return [...odd.toReversed(), ...even];
}
