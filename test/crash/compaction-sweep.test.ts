// Goal: if a worker fails at any point while it compacts a session, the history is compacted once,
// its memory is written once, and the turn continues as if nothing had happened. Method: as in
// turn-sweep.test.ts, with a turn that has to compact 26,000 tokens of history before its first
// answer. Only the exhaustive form strikes statements other than those of the compaction.
import { expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import type { StrikePoint } from './rig/fault.ts';
import { smallWindow } from './rig/seed-long-history.ts';
import { nameOf, recordTurn, strike, type StrikeReport } from './rig/strike.ts';
import { everyPoint, isFullSweep, missedPoints, printPoints, racePoints, sweptWorkers } from './rig/sweep-points.ts';

const long = { isLong: true };
let rig: CrashRig;
let turn: Map<string, number>;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const made = await startCrashRig({
    databaseUrl: testDatabase.url,
    workers: sweptWorkers,
    agentDefaults: smallWindow,
  });
  onEnd(() => made.close());
  rig = made;
  await recordTurn(rig);
  turn = await recordTurn(rig, long);
});

function isOfCompaction({ kind }: StrikePoint): boolean {
  return kind.includes('compaction');
}

const isAfter = ({ when }: StrikePoint): boolean => when === 'after';

/**
 * Strikes the compaction's points that the form selects; the exhaustive form strikes all points of
 * the turn.
 */
async function strikeSome(
  points: StrikePoint[],
  isTaken: (point: StrikePoint) => boolean = () => true,
): Promise<StrikeReport[]> {
  const taken = isFullSweep() ? points : points.filter(isOfCompaction).filter(isTaken);
  printPoints('compaction', taken, points);
  const reports: StrikeReport[] = [];
  for (const point of taken) reports.push(await strike(rig, point, long));
  return reports;
}

function expectNoFaults(reports: StrikeReport[]): void {
  const faults = reports.flatMap(({ point, violations }) => violations.map((fault) => `${nameOf(point)}: ${fault}`));
  expect(faults).toEqual([]);
  const { missed, missedMax } = missedPoints(reports);
  const names = missed.map(({ point }) => nameOf(point)).join('; ');
  expect(missed.length, `not reached: ${names}`).toBeLessThanOrEqual(missedMax);
}

test('a compaction is begun, answered and completed, each in one round trip', () => {
  const ofCompaction = [...turn].filter(([kind]) => kind.includes('compaction'));
  expect(Object.fromEntries(ofCompaction)).toEqual({
    'begin-compaction': 1,
    'compaction-answered': 1,
    'compaction-completed': 1,
  });
});

test('a worker killed at any round trip leaves one summary and one memory, and loses nothing else (G1, G11, G12)', async () => {
  expectNoFaults(await strikeSome(everyPoint(turn, 'kill')));
});

test('a worker that is paused past its lease during a compaction writes nothing when it wakes (G7)', async () => {
  expectNoFaults(await strikeSome(everyPoint(turn, 'freeze'), isAfter));
});

test('a statement of a compaction that arrives when the session has another worker writes nothing (G7)', async () => {
  expectNoFaults(await strikeSome(racePoints(turn)));
});

test('a statement with an unknown outcome is neither lost nor doubled (G23)', async () => {
  expectNoFaults(await strikeSome(everyPoint(turn, 'cut'), isAfter));
});
