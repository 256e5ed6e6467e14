// The tail alone, over a log in memory: each subscriber gets each later event once and in order,
// whenever it joins and whatever its last id.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EventTail, type LiveEvent, type Subscriber } from '../../src/api/event-tail.ts';
import type { EventRow } from '../../src/kernel/views/events.ts';
import { createWake } from '../../src/kernel/queue/rings.ts';

/** A log whose events get their ids when they are written, as transactions do. */
class Log {
  readonly events: EventRow[] = [];
  reads = 0;

  write(count: number): void {
    for (let n = 0; n < count; n += 1) {
      const id = BigInt(this.events.length + 1);
      this.events.push({ id, sessionKey: 's', root: null, turnId: null, type: 'tool.started', data: {}, at: '' });
    }
  }

  get last(): bigint {
    return BigInt(this.events.length);
  }

  read = async ({ after, limit }: { after: bigint; limit: number }) => {
    this.reads += 1;
    const events = this.events.filter((event) => event.id > after).slice(0, limit);
    return { events, horizon: this.last + 1n };
  };
}

function createTail(log: Log) {
  const wake = createWake();
  return { wake, tail: new EventTail({ read: log.read, wake, outages: { report: () => undefined } }) };
}

/** Reads the past as a stream does and attaches. */
class Reader implements Subscriber {
  readonly ids: bigint[] = [];
  readonly start: bigint;
  cursor: bigint;

  constructor(start: bigint) {
    this.start = start;
    this.cursor = start;
  }

  take = (events: LiveEvent[]): void => {
    for (const { event } of events) this.ids.push(event.id);
  };

  async join(tail: EventTail, log: Log): Promise<void> {
    do {
      const page = await log.read({ after: this.cursor, limit: 50 });
      for (const event of page.events) this.ids.push(event.id);
      this.cursor = page.events.length === 50 ? (page.events.at(-1)?.id ?? this.cursor) : page.horizon - 1n;
      if (page.events.length === 50) continue;
    } while (!tail.attach(this, this.cursor));
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

describe('the tail', () => {
  test('gives every subscriber each event after its floor once and in order, whenever it connects or leaves', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('write' as const), count: fc.integer({ min: 1, max: 700 }) }),
      fc.record({ do: fc.constant('join' as const), count: fc.integer({ min: 0, max: 60 }) }),
      fc.record({ do: fc.constant('leave' as const), count: fc.nat(5) }),
      fc.record({ do: fc.constant('pass' as const), count: fc.integer({ min: 1, max: 300 }) }),
      fc.record({ do: fc.constant('wake' as const), count: fc.constant(1) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const log = new Log();
        const { tail, wake } = createTail(log);
        const readers: Reader[] = [];
        for (const { do: what, count } of steps) {
          if (what === 'write') log.write(count);
          if (what === 'wake') wake.committed('s', 'settlement');
          if (what === 'pass') await vi.advanceTimersByTimeAsync(count);
          if (what === 'leave') for (const gone of readers.splice(count, 1)) tail.detach(gone);
          if (what !== 'join') continue;
          const reader = new Reader(log.last - BigInt(count) < 0n ? 0n : log.last - BigInt(count));
          readers.push(reader);
          await reader.join(tail, log);
        }
        await vi.advanceTimersByTimeAsync(5_000);
        for (const reader of readers) {
          expect(reader.ids).toEqual(log.events.map((event) => event.id).filter((id) => id > reader.start));
          tail.detach(reader);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('sends a subscriber with an old floor back to the database once its events are no longer cached', async () => {
    const log = new Log();
    const { tail } = createTail(log);
    const first = new Reader(0n);
    await first.join(tail, log);
    log.write(10_000);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(first.ids).toHaveLength(10_000);
    expect(tail.attach(new Reader(0n), 0n)).toBe(false);
    const late = new Reader(9_000n);
    expect(tail.attach(late, 9_000n)).toBe(true);
    expect(late.ids).toHaveLength(1_000);
  });

  test('continues when the database returned to an older state', async () => {
    const log = new Log();
    log.write(20);
    const { tail } = createTail(log);
    const reader = new Reader(20n);
    await reader.join(tail, log);
    log.events.length = 10;
    await vi.advanceTimersByTimeAsync(500);
    log.write(3);
    await vi.advanceTimersByTimeAsync(500);
    expect(reader.ids).toEqual([11n, 12n, 13n]);
    const late = new Reader(9n);
    await late.join(tail, log);
    expect(late.ids).toEqual([10n, 11n, 12n, 13n]);
  });

  test('reads nothing without subscribers, and rarely while no events arrive', async () => {
    const log = new Log();
    const { tail, wake } = createTail(log);
    wake.committed('s', 'settlement');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(log.reads).toBe(0);
    const reader = new Reader(0n);
    await reader.join(tail, log);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(log.reads).toBeLessThan(60);
    tail.detach(reader);
    const reads = log.reads;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(log.reads).toBe(reads);
  });
});
