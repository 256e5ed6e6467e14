// (peers) What a user would pick instead: the same turn written by hand on BullMQ with Redis and PostgreSQL, and on DBOS, beside Holdfast with
// its queue in Redis. All three answer over HTTP from one process, call the same model with the same client code and work on one
// PostgreSQL server.
import { alternate, type Alternation } from '../rig/alternate.ts';
import type { BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { describeLoads, type LoadResult } from '../rig/closed-loop.ts';
import { installPeers, startPeer, type Peer } from '../rig/peer-process.ts';
import { turnText } from '../rig/prompts.ts';
import { startRedisServer } from '../rig/redis-server.ts';

export const peers: BenchPart = { letter: 'peers', title: 'what a user would pick instead', run };

const sessions = 64;
/** How many times the turns per second of the peer. BullMQ by itself keeps none of the guarantees. */
const barOf = { dbos: 1.5, bullmq: 0.75 };

type Side = 'holdfast' | 'bullmq' | 'dbos';

async function run(context: BenchContext): Promise<BarLine[]> {
  context.say('npm ci in bench/peers');
  await installPeers();
  const redis = await startRedisServer();
  const started: Peer[] = [];
  try {
    return await withService(context, { redisUrl: redis.url }, async (service) => {
      const open = async (name: 'bullmq' | 'dbos'): Promise<Peer> => {
        const databaseUrl = await context.place.createDatabase(`peer_${name}`);
        const peer = await startPeer(name, { databaseUrl, redisUrl: redis.url, modelUrl: context.model.url });
        started.push(peer);
        return peer;
      };
      const found = await measure(context, {
        holdfast: service,
        bullmq: await open('bullmq'),
        dbos: await open('dbos'),
      });
      return [lineOf(found, 'dbos', 'DBOS on PostgreSQL'), lineOf(found, 'bullmq', 'bare BullMQ on Redis')];
    });
  } finally {
    for (const peer of started) await peer.stop();
    await redis.stop();
  }
}

async function measure(
  context: BenchContext,
  sides: Record<Side, Pick<Peer, 'run'>>,
): Promise<Alternation<Side, LoadResult>> {
  const { rounds, turnsEach, warmUpTurns } = context.isQuick
    ? { rounds: 2, turnsEach: 6, warmUpTurns: 4 }
    : { rounds: 5, turnsEach: 16, warmUpTurns: 30 };
  const load = { sessions, turnsEach, text: turnText };
  context.say('warming up');
  for (const side of [sides.holdfast, sides.bullmq, sides.dbos]) await side.run({ ...load, turnsEach: warmUpTurns });
  context.say(`Holdfast, BullMQ and DBOS by turns, ${rounds} rounds`);
  return await alternate(
    rounds,
    [
      { name: 'holdfast', measure: () => sides.holdfast.run(load) },
      { name: 'bullmq', measure: () => sides.bullmq.run(load) },
      { name: 'dbos', measure: () => sides.dbos.run(load) },
    ],
    ({ turnsPerSecond }) => turnsPerSecond,
  );
}

function lineOf(found: Alternation<Side, LoadResult>, peer: 'bullmq' | 'dbos', title: string): BarLine {
  return {
    part: 'peers',
    what: `turns/s at ${sessions} sessions, Holdfast with Redis to ${title}`,
    floor: describeLoads(found.runsOf(peer)),
    holdfast: describeLoads(found.runsOf('holdfast')),
    measured: found.ratioOf('holdfast', peer),
    unit: 'x',
    bar: barOf[peer],
    sense: 'atLeast',
  };
}
