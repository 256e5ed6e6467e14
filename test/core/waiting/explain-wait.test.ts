import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  explainWait,
  WORKER_LOST_MS,
  workerState,
  type ServedLane,
  type WaitFacts,
} from '../../../src/kernel/rules/why.ts';

const NOW = 1_000_000;
const FREE: ServedLane = { workers: 1, slots: 4, inUse: 0, due: 1, queueAwaySince: null, lastSeenAt: NOW };
const PARK = { code: 'model_away', text: 'Away.', since: 1_000, until: null, by: 'anthropic' };
const TURN = { id: 'turn', claimedAt: 600, park: null };
const HELD = { owner: 'worker', expiresAt: NOW + 1_000, seenAt: NOW };
const PAUSE = {
  lane: 'main',
  agent: null,
  session: null,
  reason: 'too dear',
  pausedBy: 'key:ops',
  since: 800,
};
const SILENT = NOW - WORKER_LOST_MS - 1;

const facts = (more: Partial<WaitFacts> = {}): WaitFacts => ({
  receivedAt: 500,
  delivery: null,
  lane: 'main',
  turn: null,
  lock: null,
  dueAt: 500,
  rungAt: 700,
  gatherUntil: null,
  pause: null,
  yielded: null,
  ...more,
});

const explain = (more: Partial<WaitFacts>, lane: Partial<ServedLane> = {}) =>
  explainWait(facts(more), { lanes: { main: { ...FREE, ...lane } }, storage: null }, NOW);

describe('the reason why a message waits', () => {
  test.each<[string, Partial<WaitFacts>, Partial<ServedLane>, object]>([
    ['a parked turn', { turn: { ...TURN, park: PARK }, dueAt: null }, {}, PARK],
    ['a parked turn that is due', { turn: { ...TURN, park: PARK } }, {}, PARK],
    ['a running turn', { turn: TURN, lock: HELD }, {}, { code: 'session_busy', since: 600, by: 'turn' }],
    ['a claim without a turn', { lock: HELD }, {}, { code: 'session_busy', since: 500, by: 'worker' }],
    ['a worker without a row', { turn: TURN, lock: { ...HELD, seenAt: null } }, {}, { code: 'session_busy' }],
    [
      'a lease of a silent worker',
      { turn: TURN, lock: { ...HELD, seenAt: SILENT } },
      {},
      { code: 'lock_of_lost_worker', since: SILENT, until: NOW + 1_000, by: 'worker' },
    ],
    [
      'a lease that has expired',
      { turn: TURN, lock: { ...HELD, expiresAt: NOW - 1 } },
      {},
      { code: 'lock_of_lost_worker', until: null },
    ],
    [
      'a lease that has expired, without a worker',
      { turn: TURN, lock: { ...HELD, expiresAt: NOW - 1 } },
      { workers: 0, lastSeenAt: 900 },
      { code: 'no_worker', since: 900, by: 'main' },
    ],
    [
      'a lease of a silent worker that was the only one',
      { turn: TURN, lock: { ...HELD, seenAt: SILENT } },
      { workers: 0, lastSeenAt: SILENT },
      { code: 'no_worker', since: SILENT, by: 'main' },
    ],
    [
      'a pause',
      { pause: PAUSE, gatherUntil: NOW + 1 },
      { workers: 0 },
      {
        code: 'paused',
        text: 'key:ops has paused the lane main: too dear. End it with "holdfast resume --lane main"',
        since: 800,
        by: 'key:ops',
      },
    ],
    [
      'a pause of everything',
      { pause: { ...PAUSE, lane: null, reason: null } },
      {},
      { text: 'key:ops has paused everything. End it with "holdfast resume"' },
    ],
    ['a running turn of what is paused', { pause: PAUSE, turn: TURN, lock: HELD }, {}, { code: 'session_busy' }],
    [
      'a pause of a session whose worker is lost',
      { pause: PAUSE, turn: TURN, lock: { ...HELD, expiresAt: NOW - 1 } },
      {},
      { code: 'paused' },
    ],
    ['quiet', { gatherUntil: NOW + 1 }, {}, { code: 'gathering', until: NOW + 1 }],
    [
      'a wait of the session',
      { dueAt: NOW + 9, yielded: { since: 1, until: NOW + 5 } },
      {},
      { code: 'yielded', since: 1, until: NOW + 5 },
    ],
    ['a time', { dueAt: NOW + 9 }, {}, { code: 'delayed', until: NOW + 9 }],
    ['a slot', {}, { inUse: 4 }, { code: 'lane_full', by: 'main' }],
    ['a slot, while the queue is away', {}, { inUse: 4, queueAwaySince: 800 }, { code: 'lane_full' }],
    ['the queue', {}, { queueAwaySince: 800 }, { code: 'queue_unreachable', since: 800 }],
    ['a slot, when more sessions are due than there are slots', {}, { inUse: 1, due: 5 }, { code: 'lane_full' }],
    [
      'a slot, shortly after its job was enqueued in a lane that runs turns',
      { rungAt: NOW - 1 },
      { inUse: 1 },
      { code: 'lane_full' },
    ],
    ['a job', {}, {}, { code: 'ring_lost', since: 700 }],
    [
      'a job, long after it was enqueued in a lane that runs turns',
      {},
      { inUse: 1 },
      { code: 'ring_lost', since: 700 },
    ],
    ['a worker that takes over what another has released', { turn: TURN }, { inUse: 4 }, { code: 'lane_full' }],
  ])('is %s', (_name, more, lane, expected) => {
    expect(explain(more, lane)).toMatchObject(expected);
  });

  test.each<[string, Partial<WaitFacts>, Partial<ServedLane>, string]>([
    ['a worker', {}, { workers: 0 }, 'storage_unavailable'],
    ['a running turn', { turn: TURN, lock: HELD }, {}, 'storage_unavailable'],
    ['the takeover from a lost worker', { lock: { ...HELD, seenAt: SILENT } }, {}, 'storage_unavailable'],
    ['a job', {}, {}, 'storage_unavailable'],
    ['a model', { turn: { ...TURN, park: PARK } }, {}, 'model_away'],
    ['the end of a pause', { pause: PAUSE }, {}, 'paused'],
    ['a time', { dueAt: NOW + 9 }, {}, 'delayed'],
  ])('while the disk is full, of what waits for %s', (_name, more, lane, code) => {
    const storage = { code: '53100', since: 800 };
    const why = explainWait(facts(more), { lanes: { main: { ...FREE, ...lane } }, storage }, NOW);
    expect(why.code).toBe(code);
    if (code === 'storage_unavailable') expect(why.since).toBe(800);
  });

  test('is the missing worker in a lane that no process has ever served', () => {
    expect(explainWait(facts(), { lanes: {}, storage: null }, NOW).code).toBe('no_worker');
  });

  test('never says that a worker is missing while one holds the session', () => {
    fc.assert(
      fc.property(anyFacts, anyLane, (some, lane) => {
        const why = explainWait({ ...some, turn: null, lock: HELD }, { lanes: { main: lane }, storage: null }, NOW);
        expect(why.code).toBe('session_busy');
      }),
    );
  });

  test('always has a code, a text and a beginning that is not before the message, but for a wait that began earlier', () => {
    fc.assert(
      fc.property(anyFacts, anyLane, (some, lane) => {
        const why = explainWait(some, { lanes: { main: lane }, storage: null }, NOW);
        expect(why.text).not.toBe('');
        if (why.code !== 'yielded' && some.turn?.park !== PARK)
          expect(why.since).toBeGreaterThanOrEqual(some.receivedAt);
        if (lane.workers > 0) expect(why.code).not.toBe('no_worker');
      }),
    );
  });
});

test('a process is lost when it has missed three reports, also while it drains', () => {
  expect(workerState({ silentMs: WORKER_LOST_MS, isDraining: false })).toBe('running');
  expect(workerState({ silentMs: WORKER_LOST_MS, isDraining: true })).toBe('draining');
  expect(workerState({ silentMs: WORKER_LOST_MS + 1, isDraining: true })).toBe('lost');
});

const time = fc.integer({ min: 0, max: 2 * NOW });
const anyFacts: fc.Arbitrary<WaitFacts> = fc.record({
  receivedAt: fc.integer({ min: 0, max: NOW }),
  delivery: fc.constant(null),
  lane: fc.constant('main'),
  turn: fc.option(fc.record({ id: fc.constant('turn'), claimedAt: time, park: fc.constantFrom(null, PARK) })),
  lock: fc.option(fc.record({ owner: fc.constant('worker'), expiresAt: time, seenAt: fc.option(time) })),
  dueAt: fc.option(time),
  rungAt: fc.option(time),
  gatherUntil: fc.option(time),
  pause: fc.option(fc.constant(PAUSE)),
  yielded: fc.option(fc.record({ since: time, until: time })),
});
const anyLane: fc.Arbitrary<ServedLane> = fc.record({
  workers: fc.integer({ min: 0, max: 2 }),
  slots: fc.integer({ min: 0, max: 4 }),
  inUse: fc.integer({ min: 0, max: 5 }),
  due: fc.integer({ min: 0, max: 5 }),
  queueAwaySince: fc.option(time),
  lastSeenAt: fc.option(time),
});
