import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decideCronRunEffect,
  failurePauseMs,
  planTicks,
  type DueCron,
  type Tick,
  decideFires,
  formatSlot,
  type Firing,
  type HeldCron,
} from '../../../../src/features/crons/rules/fires.ts';
import type { MisfirePolicy } from '../../../../src/features/crons/config.ts';
import type { Timetable } from '../../../../src/features/crons/rules/timetable.ts';
import type { MessageId, SessionId } from '../../../../src/core/ids.ts';

const SECOND = 1000;
const everySecond: Timetable = { kind: 'every', everyMs: SECOND, anchorMs: 0 };

function due(more: Partial<DueCron>): DueCron {
  return {
    timetable: everySecond,
    slotMs: 10 * SECOND,
    staggerMs: 0,
    notBeforeMs: null,
    policy: 'run_once',
    maxCatchUp: 5,
    nowMs: 10 * SECOND,
    ...more,
  };
}

const shown = (ticks: readonly Tick[]): string[] =>
  ticks.map((tick) =>
    tick.kind === 'fire' ? `fire ${tick.slotMs / SECOND}` : `${tick.kind} ${tick.slotMs / SECOND} ${tick.reason}`,
  );

test('a slot that is due fires, and the next follows from it', () => {
  expect(planTicks(due({ nowMs: 10_400 }))).toEqual({
    ticks: [{ kind: 'fire', slotMs: 10_000 }],
    nextSlotMs: 11_000,
    hasMore: false,
  });
});

test('nothing is due before its time and its stagger', () => {
  expect(planTicks(due({ nowMs: 9_999 })).ticks).toEqual([]);
  expect(planTicks(due({ nowMs: 10_499, staggerMs: 500 })).ticks).toEqual([]);
  expect(shown(planTicks(due({ nowMs: 10_500, staggerMs: 500 })).ticks)).toEqual(['fire 10']);
});

describe('missed slots', () => {
  test.each<[MisfirePolicy, string[]]>([
    ['run_once', ['missed 10 superseded', 'missed 11 superseded', 'missed 12 superseded', 'fire 13']],
    ['run_all', ['missed 10 superseded', 'missed 11 superseded', 'fire 12', 'fire 13']],
    ['skip', ['skipped 10 late', 'skipped 11 late', 'skipped 12 late', 'fire 13']],
  ])('%s', (policy, expected) => {
    expect(shown(planTicks(due({ policy, nowMs: 13_900, maxCatchUp: 2 })).ticks)).toEqual(expected);
  });

  test('a daily slot that is an hour late fires once, unless the policy makes up for nothing', () => {
    const daily: Timetable = { kind: 'every', everyMs: 86_400_000, anchorMs: 0 };
    const late = due({ timetable: daily, slotMs: 86_400_000, nowMs: 90_000_000 });
    expect(shown(planTicks(late).ticks)).toEqual(['fire 86400']);
    expect(shown(planTicks({ ...late, policy: 'skip' }).ticks)).toEqual(['skipped 86400 late']);
    expect(shown(planTicks({ ...late, policy: 'skip', nowMs: 86_459_000 }).ticks)).toEqual(['fire 86400']);
  });

  test('slots in the rest after a failure are passed over', () => {
    expect(shown(planTicks(due({ nowMs: 12_000, notBeforeMs: 12_000 })).ticks)).toEqual([
      'skipped 10 backoff',
      'skipped 11 backoff',
      'fire 12',
    ]);
  });

  test('a very long absence is processed in bounded plans with common rows', () => {
    const plan = planTicks(due({ nowMs: 10_000_000 }));
    expect(plan.hasMore).toBe(true);
    expect(plan.ticks).toEqual([{ kind: 'missed', slotMs: 10_000, reason: 'superseded', count: 5_000 }]);
    expect(plan.nextSlotMs).toBe(5_010_000);
  });
});

test('every slot gets exactly one result, for any policy and any number of checks (G20)', () => {
  const policyArb = fc.constantFrom<MisfirePolicy>('run_once', 'run_all', 'skip');
  fc.assert(
    fc.property(
      policyArb,
      fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 8 }),
      (policy, waits, maxCatchUp) => {
        let nowMs = 10_000;
        let slotMs = 10_000;
        const fates: number[] = [];
        for (const wait of waits) {
          nowMs += wait;
          const plan = planTicks(due({ policy, maxCatchUp, slotMs, nowMs }));
          for (const tick of plan.ticks) {
            const count = tick.kind === 'fire' ? 1 : tick.count;
            for (let n = 0; n < count; n += 1) fates.push(tick.slotMs + n * SECOND);
          }
          slotMs = plan.nextSlotMs!;
        }
        expect(fates).toEqual(fates.map((_, at) => 10_000 + at * SECOND));
        expect(slotMs).toBe(10_000 + fates.length * SECOND);
      },
    ),
  );
});

describe('after a run', () => {
  const cron = { isOneShot: false, isDeletedAfterRun: false, failures: 0, isManual: false, isChanged: false };
  const failed = { kind: 'failed' as const, code: 'model_overloaded', message: 'busy' };

  test('rests grow from 30 seconds to an hour', () => {
    expect([1, 2, 3, 4, 5, 9].map(failurePauseMs)).toEqual([30_000, 60_000, 300_000, 900_000, 3_600_000, 3_600_000]);
  });

  test('a failure makes it rest, the tenth in a row switches it off', () => {
    expect(decideCronRunEffect(failed, { ...cron, failures: 2 }, 1000)).toMatchObject({
      failures: 3,
      notBeforeMs: 301_000,
      disabledReason: null,
    });
    expect(decideCronRunEffect(failed, { ...cron, failures: 9 }, 1000)).toMatchObject({
      failures: 10,
      disabledReason: expect.stringContaining('10 times'),
    });
  });

  test('a one-time cron is tried again three times, if the failure is temporary', () => {
    const once = { ...cron, isOneShot: true };
    expect(decideCronRunEffect(failed, once, 1000)).toMatchObject({ retrySlotMs: 31_000, disabledReason: null });
    expect(decideCronRunEffect(failed, { ...once, failures: 3 }, 1000)).toMatchObject({
      retrySlotMs: null,
      disabledReason: 'failed: busy',
    });
    expect(decideCronRunEffect({ ...failed, code: 'unknown_model' }, once, 1000)).toMatchObject({
      retrySlotMs: null,
      disabledReason: 'failed: busy',
    });
  });

  test('a run that was requested or stopped by a person, or whose cron was changed, changes nothing', () => {
    const before = { failures: 4, notBeforeMs: null, retrySlotMs: null, disabledReason: null };
    expect(decideCronRunEffect(failed, { ...cron, failures: 4, isManual: true }, 1000)).toEqual(before);
    expect(decideCronRunEffect(failed, { ...cron, failures: 4, isChanged: true }, 1000)).toEqual(before);
    expect(decideCronRunEffect({ kind: 'cancelled' }, { ...cron, failures: 4 }, 1000)).toEqual(before);
  });
});

const SLOT_MS = Date.parse('2026-03-01T12:00:00.250Z');
const session = 'session' as SessionId;

function firingOf(cronId: string, more: Partial<Firing> = {}, slots = 1): Firing {
  return {
    cronId,
    revision: 0,
    firstSlotMs: SLOT_MS,
    sessionId: session,
    kind: 'cron',
    body: '{"text":"tick"}',
    route: 'cron',
    event: null,
    waitingMax: 20,
    ticks: Array.from({ length: slots }, (_, n) => ({
      tick: { kind: 'fire', slotMs: SLOT_MS + n * 1000 },
      messageId: `${cronId}-${n}` as MessageId,
    })),
    nextSlotMs: null,
    dueMs: null,
    disabledReason: null,
    ...more,
  };
}

const line = (text: string) =>
  ({ kind: 'heartbeat', event: { id: 'event', text, contextKey: 'cron', isTrusted: true } }) as const;

const heldOf = (firings: readonly Firing[], held: Partial<HeldCron> = {}) =>
  new Map(firings.map(({ cronId }) => [cronId, { cronId, name: cronId, waiting: 0, lastEventText: null, ...held }]));

const decide = (firings: readonly Firing[], held: Partial<HeldCron> = {}, known: readonly string[] = []) =>
  decideFires(firings, heldOf(firings, held), new Set(known)).map(
    ({ cronId, status, reason, messageId, leavesLine }) => ({
      cronId,
      status,
      reason,
      messageId,
      leavesLine,
    }),
  );

test('a slot is named as PostgreSQL writes its epoch, so versions side by side fire it once (G20)', () => {
  expect(formatSlot('daily', SLOT_MS)).toBe('cron:daily:1772366400.250000');
});

test('crons of one session share its room, and the slots over it are skipped', () => {
  const firings = [firingOf('a', { waitingMax: 2 }, 2), firingOf('b', { waitingMax: 2 })];
  expect(decide(firings)).toMatchObject([
    { messageId: 'a-0', status: 'claimed' },
    { messageId: 'a-1', status: 'claimed' },
    { messageId: null, status: 'skipped', reason: 'inbox_full' },
  ]);
});

test('of slots that leave a line together, the last leaves it, with one poll', () => {
  expect(decide([firingOf('a', line('Look.'), 3)])).toMatchObject([
    { status: 'completed', reason: 'duplicate', leavesLine: false },
    { status: 'completed', reason: 'duplicate', leavesLine: false },
    { status: 'claimed', reason: null, leavesLine: true, messageId: 'a-2' },
  ]);
});

test('a line that waits already is left once, whichever of two crons leaves it', () => {
  const firings = [firingOf('a', line('Look.')), firingOf('b', line('Look.'))];
  expect(decide(firings).map(({ leavesLine }) => leavesLine)).toEqual([true, false]);
  expect(decide(firings, { lastEventText: 'Look.' }).map(({ leavesLine }) => leavesLine)).toEqual([false, false]);
});

test('a line is left in a session without room, and gets no poll', () => {
  const [fire] = decide([firingOf('a', line('Look.'))], { waiting: 20 });
  expect(fire).toMatchObject({ status: 'completed', reason: null, leavesLine: true, messageId: null });
});

test('a slot that has a fire already stays as it is (G20)', () => {
  expect(decide([firingOf('a', {}, 2)], {}, [formatSlot('a', SLOT_MS)])).toMatchObject([{ messageId: 'a-1' }]);
});
