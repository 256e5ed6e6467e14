// The waiter alone, with a database that is a set of ids: how often it queries, for which messages,
// and that no wait is endless.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SettlementWaiter } from '../../src/api/settlement-waiter.ts';
import { createWake } from '../../src/kernel/queue/rings.ts';

const never = new AbortController().signal;
const settled = new Set<string>();
let asked: string[][] = [];
/** How long each query takes, in milliseconds. */
let queryMs = 0;
let isDown = false;

function createWaiter(waitingMax = 100) {
  const wake = createWake();
  const waiter = new SettlementWaiter({
    async readSettled(ids: string[]) {
      asked.push(ids);
      if (isDown) throw new Error('away');
      const ended = ids.filter((id) => settled.has(id));
      if (queryMs > 0) await new Promise((resolve) => setTimeout(resolve, queryMs));
      return new Map(ended.map((id) => [id, `how ${id} ended`]));
    },
    wake,
    outages: { report: () => undefined },
    waitingMax,
  });
  return { waiter, wake };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  settled.clear();
  asked = [];
  queryMs = 0;
  isDown = false;
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a wait', () => {
  test('ends within 250 ms of a settlement by another process, with one query for all waiting requests', async () => {
    const { waiter } = createWaiter();
    const waits = ['a', 'b', 'c'].map((id) => waiter.wait({ id, sessionId: `s-${id}` }, 10_000, never));
    await vi.advanceTimersByTimeAsync(2_000);
    const before = asked.length;
    expect(before).toBeLessThan(20);
    expect(asked.at(-1)).toEqual(['a', 'b', 'c']);
    for (const id of ['a', 'b', 'c']) settled.add(id);
    await vi.advanceTimersByTimeAsync(250);
    expect(await Promise.all(waits)).toEqual(['how a ended', 'how b ended', 'how c ended']);
    expect(asked.length - before).toBe(1);
    expect(waiter.size).toBe(0);
  });

  test('ends immediately when this process commits to its session, and queries only that session', async () => {
    const { waiter, wake } = createWaiter();
    const one = waiter.wait({ id: 'a', sessionId: 's-a' }, 10_000, never);
    const other = waiter.wait({ id: 'b', sessionId: 's-b' }, 60, never);
    settled.add('a');
    wake.committed('s-a', 'settlement');
    wake.committed('s-unknown', 'settlement');
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([['a']]);
    expect(await one).toBe('how a ended');
    await vi.advanceTimersByTimeAsync(60);
    expect(await other).toBeNull();
  });

  test('during a query ends with the next query, which follows without a pause and is one for all that were settled meanwhile', async () => {
    const { waiter, wake } = createWaiter();
    queryMs = 20;
    const waits = ['a', 'a', 'b', 'c', 'd'].map((id) => waiter.wait({ id, sessionId: `s-${id}` }, 45, never));
    const settle = (id: string): void => {
      settled.add(id);
      wake.committed(`s-${id}`, 'settlement');
    };
    settle('a');
    await vi.advanceTimersByTimeAsync(1);
    settle('b');
    settle('c');
    await vi.advanceTimersByTimeAsync(44);
    expect(await Promise.all(waits)).toEqual(['how a ended', 'how a ended', 'how b ended', 'how c ended', null]);
    expect(asked).toEqual([['a'], ['b', 'c']]);
    waiter.close();
  });

  test('is checked soon although others have waited long', async () => {
    const { waiter } = createWaiter();
    void waiter.wait({ id: 'old', sessionId: 's' }, 100_000, never);
    await vi.advanceTimersByTimeAsync(5_000);
    settled.add('new');
    const young = waiter.wait({ id: 'new', sessionId: 't' }, 10_000, never);
    await vi.advanceTimersByTimeAsync(51);
    expect(await Promise.race([young, Promise.resolve('still waiting')])).toBe('how new ended');
    waiter.close();
  });

  test('ends with its timeout, with its client, and with the process', async () => {
    const { waiter } = createWaiter();
    const client = new AbortController();
    const timed = waiter.wait({ id: 'a', sessionId: 's' }, 1_000, never);
    const left = waiter.wait({ id: 'a', sessionId: 's' }, 9_000, client.signal);
    const closed = waiter.wait({ id: 'b', sessionId: 's' }, 9_000, never);
    client.abort();
    expect(await left).toBeNull();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await timed).toBeNull();
    waiter.close();
    expect(await closed).toBeNull();
    expect(waiter.size).toBe(0);
    expect(await waiter.wait({ id: 'c', sessionId: 's' }, 9_000, never)).toBeNull();
  });

  test('over the bound ends before it begins', async () => {
    const { waiter } = createWaiter(1);
    const first = waiter.wait({ id: 'a', sessionId: 's' }, 1_000, never);
    expect(await waiter.wait({ id: 'b', sessionId: 's' }, 1_000, never)).toBeNull();
    waiter.close();
    await first;
  });

  test('survives an outage of the database', async () => {
    const { waiter } = createWaiter();
    isDown = true;
    const wait = waiter.wait({ id: 'a', sessionId: 's' }, 10_000, never);
    await vi.advanceTimersByTimeAsync(1_000);
    isDown = false;
    settled.add('a');
    await vi.advanceTimersByTimeAsync(300);
    expect(await wait).toBe('how a ended');
  });

  test('sends no query when no request waits', async () => {
    const { waiter, wake } = createWaiter();
    wake.committed('s', 'settlement');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toEqual([]);
    waiter.close();
  });
});
