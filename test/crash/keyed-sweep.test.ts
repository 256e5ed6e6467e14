// Goal: a POST with an Idempotency-Key has one effect and one answer, whenever its api process is
// killed. Method: record the database round trips of each POST, then send it again and kill the
// process at one of them; the client retries at another process with the same key, twice. The full
// form (`HOLDFAST_CRASH_SWEEP=full`) kills before and after every round trip of every route, the
// long form right after the commit of every effect, the short form that of every eighth route.
// test/api/keyed-requests.test.ts has all routes, in one process. No worker runs, so the tables
// show every effect.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { readIdempotencyKeys } from '../rows/keys.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import type { HeldBytes, RoundTrip } from '../servers/round-trips.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import type { Ground, KeyedScenario } from './rig/keyed-ground.ts';
import { KEYED_SETTINGS } from './rig/keyed-channels.ts';
import { KEYED_SCENARIOS } from './rig/keyed-scenarios.ts';
import { isOfTurn, kindOf } from './rig/statement-kinds.ts';
import { everyPoint, isFullSweep, printPoints } from './rig/sweep-points.ts';
import { nameOf } from './rig/strike.ts';
import type { StrikePoint } from './rig/fault.ts';
import type { Victim } from './rig/victim.ts';

const played = KEYED_SCENARIOS.filter((_, at) => isLongForm() || at % 8 === 0);

let rig: CrashRig;
let second: Victim;
let sessions = 0;

const newSession = (): string => `keyed-${(sessions += 1)}`;
const storesKey = ({ sql }: RoundTrip): boolean =>
  sql.some((text) => /insert into "?holdfast"?\."?idempotency_keys/.test(text));

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  rig = await startCrashRig({ databaseUrl: testDatabase.url, workers: 0, settings: KEYED_SETTINGS });
  onEnd(() => rig.close());
  second = await rig.startVictim('api-2', 'api');
});

function groundOf(victim: Victim): Ground {
  return {
    post: (path, body, key) => rig.clientOf(victim).ask(path, body, key),
    rows: async (sql, values = []) => (await rig.database.query<Record<string, unknown>>(sql, values)).rows,
  };
}

/** The points of a scenario: each round trip of its POST, or the one that commits the effect. */
async function pointsOf({ name, prepare }: KeyedScenario): Promise<{ points: StrikePoint[]; effects: Set<string> }> {
  const request = await prepare(groundOf(second), newSession());
  const kinds = new Map<string, number>();
  const effects: StrikePoint[] = [];
  // Connections in a transaction, and those in which the key was stored but is not committed.
  const begun = new Set<number>();
  const storing = new Set<number>();
  const stop = rig.api.proxy.onRoundTrip((trip) => {
    if (trip.outcome !== 'pending' || !isOfTurn(trip)) return;
    const kind = kindOf(trip);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (/^begin\b(?!-)/.test(kind)) begun.add(trip.connection);
    if (storesKey(trip)) storing.add(trip.connection);
    if (kind === 'commit') begun.delete(trip.connection);
    if (begun.has(trip.connection) || !storing.delete(trip.connection)) return;
    effects.push({ fault: 'kill', kind, ordinal: kinds.get(kind) ?? 1, when: 'after' });
  });
  await groundOf(rig.api).post(request.path, request.body, randomUUID());
  stop();
  const all = everyPoint(kinds, 'kill');
  const points = isFullSweep() ? all : effects;
  printPoints(`a POST with a key (${name})`, points, all);
  return {
    points,
    effects: new Set(effects.map(({ kind }) => kind)),
  };
}

/** Returns what is wrong after a kill at the point. */
async function strike({ prepare, secret }: KeyedScenario, point: StrikePoint, isEffect: boolean): Promise<string[]> {
  await rig.api.revive();
  const other = groundOf(second);
  const request = await prepare(other, newSession());
  const key = randomUUID();
  let killed: Promise<void> = Promise.resolve();
  const armed = rig.api.proxy.arm({
    when: point.when,
    at: point.ordinal,
    matches: (trip) => isOfTurn(trip) && kindOf(trip) === point.kind,
    async hit(): Promise<HeldBytes> {
      killed = rig.api.kill();
      await killed;
      return 'drop';
    },
  });
  // The first request gets no answer if the process is killed before it is sent.
  await groundOf(rig.api)
    .post(request.path, request.body, key)
    .catch(() => null);
  const isStruck = armed.isTaken();
  armed.disarm();
  // The connection ends before the process is known to be dead, and the next scenario checks
  // whether it is.
  await killed;
  const [kept] = await readIdempotencyKeys(other, { key }, 'key');
  if (kept !== undefined) await request.meanwhile?.();
  const again = await other.post(request.path, request.body, key);
  const last = await other.post(request.path, request.body, key);
  const effects = await request.effects();
  return [
    // Other round trips may not occur this time: a ring after the answer, or a count that is
    // cached.
    ...(isStruck || !isEffect ? [] : ['the process was not killed']),
    ...(again.status === request.status ? [] : [`answered ${again.status}: ${JSON.stringify(again.body)}`]),
    ...(isDeepStrictEqual(last.body, secret === undefined ? again.body : { ...again.body, [secret]: null })
      ? []
      : ['two retries were answered differently']),
    ...(last.isReplay ? [] : ['the answer of a retry is not marked as a replay']),
    ...(effects === 1 ? [] : [`it had ${effects} effects`]),
  ].map((fault) => `${nameOf(point)}: ${fault}`);
}

beforeAll(async () => {
  // The first request of a process opens connections.
  await groundOf(rig.api).post('/v1/sessions/first/messages', { text: 'x' });
});

test.each(played)('$name whose api process is killed has one effect and one answer (G2)', async (scenario) => {
  await rig.api.revive();
  const { points, effects } = await pointsOf(scenario);
  expect(effects.size).toBeGreaterThan(0);
  const faults: string[] = [];
  for (const point of points) faults.push(...(await strike(scenario, point, effects.has(point.kind))));
  expect(faults).toEqual([]);
});
