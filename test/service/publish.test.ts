// What `publish` does with the result of a write: it wakes, rings now or when it is due, and
// returns the result.
import { afterEach, expect, test, vi } from 'vitest';
import type { Ring, TurnRing } from '../../src/kernel/queue/after-commit.ts';
import type { SessionId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { createPublish, createWake, type CommitKind } from '../../src/kernel/queue/rings.ts';

afterEach(() => {
  vi.useRealTimers();
});

function recorded() {
  const woken: [string, CommitKind][] = [];
  const rung: (readonly Ring[])[] = [];
  const wake = createWake();
  wake.onCommit((...commit) => void woken.push(commit));
  return { publish: createPublish({ wake, doorbell: { ring: async (rings) => void rung.push(rings) } }), woken, rung };
}

function aRing(more: Partial<TurnRing> = {}): TurnRing {
  return { kind: 'inbound', lane: 'main', sessionId: newId<SessionId>(), ringNo: 1, ...more };
}

test('a published result wakes the waiters of its sessions, and its rings are sent together', () => {
  const { publish, woken, rung } = recorded();
  const [changed, settled] = [newId<SessionId>(), newId<SessionId>()];
  const rings = [aRing(), aRing({ kind: 'announce' })];
  const result = { kind: 'done', after: { changed: [changed], settled: [settled], rings } };
  expect(publish(result)).toBe(result);
  expect(woken).toEqual([
    [changed, 'progress'],
    [settled, 'settlement'],
  ]);
  expect(rung).toEqual([rings]);
});

test('a ring that is due later is sent when it is due', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const { publish, rung } = recorded();
  const [now, later] = [aRing({ dueInMs: 0 }), aRing({ dueInMs: 500 })];
  publish({ after: { changed: [], rings: [now, later] } });
  expect(rung).toEqual([[now]]);
  vi.advanceTimersByTime(499);
  expect(rung).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(rung).toEqual([[now], [later]]);
});

test('a result from which nothing follows wakes and rings nothing, and each of a list is published', () => {
  const { publish, woken, rung } = recorded();
  expect(publish(null)).toBeNull();
  publish([{}, { after: { changed: [], rings: [] } }]);
  expect([woken, rung]).toEqual([[], []]);
  const sessionId = newId<SessionId>();
  publish([{ after: { changed: [sessionId], rings: [] } }, { after: { changed: [], rings: [aRing({ sessionId })] } }]);
  expect([woken.length, rung.length]).toEqual([1, 1]);
});
