// When a worker asks a model that does not answer: examples of the breaker, and a property over any
// course of an outage.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkCall,
  isAway,
  noteAway,
  noteFailure,
  pauseAfterFailureMs,
  type ModelTrouble,
} from '../../src/kernel/rules/model-outage.ts';

const bounds = { min: 5_000, max: 30_000 };

function failure(trouble: ModelTrouble | null, session: string, nowMs: number, retryAfterMs = 0): ModelTrouble {
  return noteFailure(trouble, { session, nowMs, retryAfterMs, random: 0 }, bounds);
}

describe('calls of a provider', () => {
  test('are made as long as only one session has failed: that may be its own trouble', () => {
    const trouble = failure(failure(failure(null, 'a', 0), 'a', 1), 'a', 2);
    expect(isAway(trouble)).toBe(false);
    expect(checkCall(trouble, { session: 'b', nowMs: 3 })).toEqual({ kind: 'call' });
    expect(checkCall(trouble, { session: 'a', nowMs: 3 })).toEqual({ kind: 'call' });
  });

  test('are held back when two sessions have failed in a row, until the next probe', () => {
    const trouble = failure(failure(null, 'a', 0), 'b', 100);
    expect(checkCall(trouble, { session: 'c', nowMs: 1_100 })).toEqual({ kind: 'wait', ms: 4_000 });
    expect(checkCall(trouble, { session: 'c', nowMs: 5_100 })).toEqual({ kind: 'probe' });
  });

  test('are held back when the database says that the model is away, until the probe that it names', () => {
    const trouble = noteAway(failure(null, 'a', 0), 2_000);
    expect(checkCall(trouble, { session: 'b', nowMs: 1_000 })).toEqual({ kind: 'wait', ms: 1_000 });
    expect(checkCall(trouble, { session: 'b', nowMs: 2_000 })).toEqual({ kind: 'probe' });
    expect(isAway(failure({ ...trouble, probing: 'b' }, 'b', 2_000))).toBe(true);
  });

  test('are probed by one session at a time, which may ask again under the same probe', () => {
    const probing = { ...failure(failure(null, 'a', 0), 'b', 0), probing: 'a' };
    expect(checkCall(probing, { session: 'b', nowMs: 60_000 })).toMatchObject({ kind: 'wait' });
    expect(checkCall(probing, { session: 'a', nowMs: 60_000 })).toEqual({ kind: 'probe' });
  });

  test('are probed less often with each probe that fails, and never before the provider allows it (G16)', () => {
    let trouble = failure(failure(null, 'a', 0), 'b', 0);
    const waits = [trouble.probeAtMs];
    while (waits.length < 6) {
      const nowMs = trouble.probeAtMs;
      trouble = failure({ ...trouble, probing: 'a' }, 'a', nowMs);
      waits.push(trouble.probeAtMs - nowMs);
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 30_000, 30_000, 30_000]);
    expect(failure({ ...trouble, probing: 'a' }, 'a', 0, 90_000).probeAtMs).toBe(90_000);
    expect(failure(trouble, 'late', 1_000_000, 90_000).probeAtMs).toBe(1_090_000);
  });

  test('reach an unavailable provider at most 10 times a minute and worker, for any number of waiting sessions', () => {
    const sessions = fc.array(fc.record({ session: fc.nat(1000), afterMs: fc.nat(500) }), {
      minLength: 500,
      maxLength: 2000,
    });
    fc.assert(
      fc.property(sessions, fc.double({ min: 0, max: 0.999, noNaN: true }), (turns, random) => {
        let trouble: ModelTrouble | null = null;
        let nowMs = 0;
        const callsAtMs: number[] = [];
        for (const turn of turns) {
          nowMs += turn.afterMs;
          const session = String(turn.session);
          const found = checkCall(trouble, { session, nowMs });
          if (found.kind === 'wait') continue;
          if (found.kind === 'probe' && trouble !== null) trouble = { ...trouble, probing: session };
          trouble = noteFailure(trouble, { session, nowMs, retryAfterMs: 0, random }, bounds);
          callsAtMs.push(nowMs);
        }
        for (const from of callsAtMs) {
          const inMinute = callsAtMs.filter((at) => at >= from && at < from + 60_000).length;
          expect(inMinute).toBeLessThanOrEqual(10);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('the pause of a turn', () => {
  test('grows with each pause, differs from turn to turn, and is never shorter than the provider asks (G16)', () => {
    const pause = (pauses: number, random = 0, atLeastMs = 0) =>
      pauseAfterFailureMs({ pauses, random, atLeastMs }, bounds);
    expect([0, 1, 2, 3, 4, 30].map((pauses) => pause(pauses))).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(pause(1, 0.999)).toBeLessThan(5_100);
    expect(pause(0, 0.5, 120_000)).toBe(120_000);
  });
});
