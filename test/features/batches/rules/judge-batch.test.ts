import { expect, test } from 'vitest';
import { FAILURE_WINDOW, judgeBatch, type BatchState } from '../../../../src/features/batches/rules/judge-batch.ts';

const running: BatchState = {
  status: 'running',
  itemCount: 100,
  inFlight: 10,
  followUps: 0,
  answered: 0,
  silent: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  pilot: null,
  maxFailurePercent: 50,
  recent: '',
  costMicros: 0,
  maxCostMicros: null,
  isCapReached: false,
  isCapFreed: false,
  pauseReason: null,
  budget: null,
  via: 'live',
  probeTo: null,
  probeMs: null,
  isWayChosen: false,
};

const end = (outcome: string) => ({ kind: 'end', outcome });
const pause = (reason: string) => ({ kind: 'pause', reason });
const CONTINUE = { kind: 'continue' };
const RESUME = { kind: 'resume' };

const tooMany = 'x'.repeat(FAILURE_WINDOW / 2 + 1) + '.'.repeat(FAILURE_WINDOW / 2 - 1);
/** All items have ended, and what they have started has not. */
const following = { inFlight: 0, answered: 60, failed: 40, recent: 'x'.repeat(FAILURE_WINDOW), followUps: 1 };
const atCap = { costMicros: 5, maxCostMicros: 5 };
const paused = { status: 'paused', pauseReason: 'cost_cap', maxCostMicros: 5, isCapFreed: true } as const;

test.each<[string, Partial<BatchState>, object]>([
  ['with a reply or a silence for each item is completed', { inFlight: 0, answered: 90, silent: 10 }, end('completed')],
  ['with a failure is partly completed', { inFlight: 0, answered: 99, failed: 1 }, end('partly')],
  ['without a reply has failed', { inFlight: 0, failed: 99, expired: 1 }, end('failed')],
  ['whose items were cancelled is cancelled', { inFlight: 0, cancelled: 100 }, end('cancelled')],
  ['waits for what its items have started', following, CONTINUE],
  ['pauses at its cap meanwhile', { ...following, isCapReached: true }, pause('cost_cap')],
  ['pauses for a budget meanwhile', { ...following, budget: 'all per day' }, pause('budget')],
  ['ends after that', { ...following, followUps: 0 }, end('partly')],
  ['with too many failures among the last 50 ends pauses', { recent: tooMany }, pause('failure_rate')],
  ['with one failure less continues', { recent: `.${tooMany.slice(1)}` }, CONTINUE],
  ['with fewer ends never pauses for failures', { recent: 'x'.repeat(FAILURE_WINDOW - 1) }, CONTINUE],
  ['at its cost cap pauses', atCap, pause('cost_cap')],
  ['that is paused is not paused again', { ...atCap, status: 'paused' }, CONTINUE],
  ['at its cap resumes when calls in flight have left room', paused, RESUME],
  ['at its cap stays paused without room', { ...paused, isCapFreed: false }, CONTINUE],
  ['at its cap stays paused when its ended items have cost that', { ...paused, costMicros: 5 }, CONTINUE],
  ['that a person has paused stays so', { ...paused, pauseReason: 'manual' }, CONTINUE],
])('a batch %s', (_name, state, verdict) => {
  expect(judgeBatch({ ...running, ...state })).toMatchObject(verdict);
});

const probe = (probeTo: number) => ({ kind: 'probe', probeTo });
const CHOOSE = { kind: 'choose_way' };
/** The first 20 items have begun. */
const probing = { probeTo: 20, probeMs: 1_000 };
/** As an older version leaves it, which has ended the wait without a choice. */
const older = { probeTo: null, probeMs: 1_000, answered: 20 };

test.each<[string, Partial<BatchState>, object]>([
  ['20 items of few go first', { itemCount: 5 }, probe(5)],
  ['2 percent of the items go first', { itemCount: 5_000 }, probe(100)],
  ['200 items of many go first', { itemCount: 1_000_000 }, probe(200)],
  ['none go before the pilot has ended', { pilot: 20, answered: 10 }, CONTINUE],
  ['those that follow the pilot go first', { answered: 20 }, probe(40)],
  ['the others wait for them', { ...probing, answered: 15, inFlight: 5 }, CONTINUE],
  ['the others wait an hour at most', { ...probing, probeMs: 3_600_000, answered: 15, inFlight: 5 }, CHOOSE],
  ['the way is chosen when they have ended', { ...probing, answered: 19, failed: 1 }, CHOOSE],
  ['it is chosen once', { ...probing, answered: 20, isWayChosen: true }, CONTINUE],
  ['those of an older version are waited for', { ...older, inFlight: 5 }, CONTINUE],
  ['those of an older version decide, too', older, CHOOSE],
])('with via "auto", %s', (_name, state, verdict) => {
  expect(judgeBatch({ ...running, via: 'auto', inFlight: 0, ...state })).toEqual(verdict);
});
