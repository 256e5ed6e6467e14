// (peers) What a user would pick instead: the same turn written by hand on BullMQ with Redis and
// PostgreSQL, and on DBOS, beside Holdfast with its queue in PostgreSQL and in Redis. All of them
// answer over HTTP from one process, are asked by the same client, call the same model and work on
// one PostgreSQL server.
import { alternate, type Alternation } from '../rig/alternate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { describeLoads, type LoadResult } from '../rig/closed-loop.ts';
import { installPeers, startPeer, type Peer, type PeerName } from '../rig/peer-process.ts';
import { turnText } from '../rig/prompts.ts';
import { startRedisServer } from '../rig/redis-server.ts';
import { median } from '../rig/statistics.ts';
import { peerRates, peerTimes } from '../rig/turn-bars.ts';

export const peers: BenchPart = { letter: 'peers', title: 'what a user would pick instead', run };

const sessions = 64;
/** Of a session alone. Then a new session follows: each turn makes its history longer. */
const turnsPerSession = 20;

const queues = ['postgres', 'redis'] as const;
const titleOf = {
  postgres: 'Holdfast with PostgreSQL',
  redis: 'Holdfast with Redis',
  bullmq: 'bare BullMQ on Redis',
  dbos: 'DBOS on PostgreSQL',
};

/** Holdfast by where it has its queue, and its peers. */
type Side = keyof typeof titleOf;
type Sides = Record<Side, Pick<Peer, 'run'>>;

async function run(context: BenchContext): Promise<BarLine[]> {
  context.say('npm ci in bench/peers');
  await installPeers();
  const redis = await startRedisServer();
  const started: Peer[] = [];
  const open = async (name: PeerName): Promise<Peer> => {
    const databaseUrl = await context.place.createDatabase(`peer_${name}`);
    const peer = await startPeer(name, { databaseUrl, redisUrl: redis.url, modelUrl: context.model.url });
    started.push(peer);
    return peer;
  };
  try {
    return await withService(context, {}, (onPostgres) =>
      withService(context, { redisUrl: redis.url }, async (onRedis) => {
        const sides = { postgres: onPostgres, redis: onRedis, bullmq: await open('bullmq'), dbos: await open('dbos') };
        const rates = await measureLoad(context, sides);
        const times = await measureAlone(context, sides);
        return (['bullmq', 'dbos'] as const).flatMap((peer) => [
          ...queues.map((queue) => rateLine(rates, queue, peer)),
          ...queues.map((queue) => timeLine(times, queue, peer)),
        ]);
      }),
    );
  } finally {
    for (const peer of started) await peer.stop();
    await redis.stop();
  }
}

async function measureLoad(context: BenchContext, sides: Sides): Promise<Alternation<Side, LoadResult>> {
  const { rounds, turnsEach, warmUpTurns } = context.isQuick
    ? { rounds: 2, turnsEach: 6, warmUpTurns: 4 }
    : { rounds: 5, turnsEach: 16, warmUpTurns: 30 };
  const load = { sessions, turnsEach, text: turnText };
  context.say('warming up');
  for (const side of Object.values(sides)) await side.run({ ...load, turnsEach: warmUpTurns });
  context.say(`${Object.values(titleOf).join(', ')} by turns, ${rounds} rounds`);
  return await alternate(
    rounds,
    namesOf(sides).map((name) => ({ name, measure: () => sides[name].run(load) })),
    ({ turnsPerSecond }) => turnsPerSecond,
  );
}

/** The median time of a turn, in milliseconds. */
async function measureAlone(context: BenchContext, sides: Sides): Promise<Alternation<Side, number>> {
  const { rounds, sessionsPerRound } = context.isQuick
    ? { rounds: 2, sessionsPerRound: 1 }
    : { rounds: 5, sessionsPerRound: 5 };
  context.say(`each of them alone, ${rounds} rounds`);
  const measure = async (side: Pick<Peer, 'run'>): Promise<number> => {
    const latenciesMs: number[] = [];
    for (let session = 1; session <= sessionsPerRound; session += 1) {
      latenciesMs.push(...(await side.run({ sessions: 1, turnsEach: turnsPerSession, text: turnText })).latenciesMs);
    }
    return median(latenciesMs);
  };
  return await alternate(
    rounds,
    namesOf(sides).map((name) => ({ name, measure: () => measure(sides[name]) })),
    (ms) => ms,
  );
}

function namesOf(sides: Sides): Side[] {
  return Object.keys(sides) as Side[];
}

function rateLine(
  { runsOf, ratioOf }: Alternation<Side, LoadResult>,
  queue: (typeof queues)[number],
  peer: PeerName,
): BarLine {
  return {
    part: 'peers',
    what: `turns/s at ${sessions} sessions, ${titleOf[queue]} to ${titleOf[peer]}`,
    floor: describeLoads(runsOf(peer)),
    holdfast: describeLoads(runsOf(queue)),
    measured: ratioOf(queue, peer),
    unit: 'x',
    bar: peerRates[peer][queue],
    sense: 'atLeast',
  };
}

function timeLine(
  { runsOf, ratioOf }: Alternation<Side, number>,
  queue: (typeof queues)[number],
  peer: PeerName,
): BarLine {
  return {
    part: 'peers',
    what: `a turn alone, p50, ${titleOf[queue]} to ${titleOf[peer]}`,
    floor: `${formatNumber(median(runsOf(peer)))} ms`,
    holdfast: `${formatNumber(median(runsOf(queue)))} ms`,
    measured: ratioOf(queue, peer),
    unit: 'x',
    bar: peerTimes[peer][queue],
    sense: 'atMost',
  };
}
