// (u) Where a turn goes: its round trips and their bytes, alone and at 64 sessions, as a proxy in
// front of PostgreSQL, the model and Redis count them, and the timeline of a turn alone with the
// waits between. The proxy costs time, so the times are longer than those of (b).
import { performance } from 'node:perf_hooks';
import { Redis } from 'ioredis';
import { startPostgresProxy } from '../../test/servers/postgres-proxy.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { historyEntriesUsual, turnText } from '../rig/prompts.ts';
import { startRedisServer } from '../rig/redis-server.ts';
import { median } from '../rig/statistics.ts';
import { isOfQueue, nameOfTrip } from '../rig/trip-name.ts';

export const whereATurnGoes: BenchPart = { letter: 'u', title: 'round trips and timeline of a turn', run };

/** What the floor sends for a turn: five statements and two model calls. */
const floorTrips = 7;

/**
 * A round trip; times in milliseconds on the monotonic clock that the processes of a machine share.
 */
interface Trip {
  service: string;
  name: string;
  startedAtMs: number;
  endedAtMs: number;
  bytes: number;
}

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
/** The time on that clock at which `performance.now()` was zero. */
const originMs = nowMs() - performance.now();

/** The trips of some turns. */
interface Counted {
  turns: number;
  trips: Trip[];
}

async function run(context: BenchContext): Promise<BarLine[]> {
  const redis = await startRedisServer();
  try {
    return [
      ...(await measure(context, 'PostgreSQL', {})),
      ...(await measure(context, 'Redis', { redisUrl: redis.url })),
    ];
  } finally {
    await redis.stop();
  }
}

async function measure(context: BenchContext, queue: string, options: { redisUrl?: string }): Promise<BarLine[]> {
  const turns = context.isQuick ? { warmUp: 4, loaded: 8, alone: 60 } : { warmUp: 30, loaded: 30, alone: 300 };
  const { place, model } = context;
  const databaseUrl = options.redisUrl === undefined ? place.databaseUrl : place.redisDatabaseUrl;
  const { hostname, port } = new URL(databaseUrl);
  const proxy = await startPostgresProxy({ host: hostname, port: Number(port) });
  const redis = options.redisUrl === undefined ? null : new Redis(options.redisUrl);
  let trips: Trip[] = [];
  proxy.onRoundTrip((trip) => {
    if (trip.endedAt === null) return;
    const times = { startedAtMs: originMs + trip.startedAt, endedAtMs: originMs + trip.endedAt };
    const service = isOfQueue(trip) ? 'queue' : 'PostgreSQL';
    trips.push({ service, name: nameOfTrip(trip), ...times, bytes: trip.bytes });
  });
  /** Everything from now to the end of the work. */
  const count = async (work: () => Promise<number>): Promise<Counted> => {
    await model.takeCalls();
    trips = [];
    const before = await readRedis(redis);
    const ended = await work();
    const calls = (await model.takeCalls()).map((call) => ({ service: 'model', name: 'model call', ...call }));
    const after = await readRedis(redis);
    const commands = Array.from({ length: after.reads - before.reads }, () => ({
      service: 'queue',
      name: 'queue: commands to Redis',
      startedAtMs: 0,
      endedAtMs: 0,
      bytes: (after.bytes - before.bytes) / (after.reads - before.reads),
    }));
    return { turns: ended, trips: [...trips, ...calls, ...commands] };
  };
  try {
    const env = { DATABASE_URL: proxy.urlFor(databaseUrl) };
    return await withService(context, { ...options, env }, async (service) => {
      context.say(`the queue in ${queue}: warming up`);
      const keys = await service.seed(64, historyEntriesUsual);
      const load = { sessions: keys, text: turnText };
      await service.run({ ...load, turnsEach: turns.warmUp });
      const loaded = await count(async () => (await service.run({ ...load, turnsEach: turns.loaded })).turns);
      const spans: { beganAtMs: number; endedAtMs: number }[] = [];
      const [key] = await service.seed(1, historyEntriesUsual);
      const alone = await count(async () => {
        for (let turn = 1; turn <= turns.alone; turn += 1) {
          const beganAtMs = nowMs();
          await service.send(key!, turnText);
          spans.push({ beganAtMs, endedAtMs: nowMs() });
        }
        return spans.length;
      });
      for (const line of [...formatCounts(alone, loaded), ...formatTimeline(alone.trips, spans)]) context.say(line);
      return [lineOf('alone', queue, alone), lineOf('at 64 sessions', queue, loaded)];
    });
  } finally {
    redis?.disconnect();
    await proxy.close();
  }
}

/** How often Redis has read from its clients, and the bytes of both directions. */
async function readRedis(redis: Redis | null): Promise<{ reads: number; bytes: number }> {
  const info = redis === null ? '' : await redis.info('stats');
  const valueOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return {
    reads: valueOf('total_reads_processed'),
    bytes: valueOf('total_net_input_bytes') + valueOf('total_net_output_bytes'),
  };
}

function lineOf(what: string, queue: string, counted: Counted): BarLine {
  const services = Map.groupBy(counted.trips, ({ service }) => service);
  const each = (trips: readonly Trip[]): string =>
    `${formatNumber(trips.length / counted.turns)} (${formatNumber(bytesOf(trips) / counted.turns / 1e3)} kB)`;
  return {
    part: 'u',
    what: `round trips per turn ${what}, the queue in ${queue}`,
    floor: String(floorTrips),
    holdfast: [...services].map(([service, trips]) => `${service} ${each(trips)}`).join(', '),
    measured: counted.trips.length / counted.turns,
    unit: '',
    bar: null,
  };
}

function bytesOf(trips: readonly Trip[]): number {
  return trips.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Each kind of round trip: how many per turn, and their bytes, alone and at 64 sessions. */
function formatCounts(alone: Counted, loaded: Counted): string[] {
  const names = [...new Set([...alone.trips, ...loaded.trips].map(({ name }) => name))];
  const rows = names.map((name) => {
    const cells = [alone, loaded].map(({ turns, trips }) => {
      const found = trips.filter((trip) => trip.name === name);
      return { each: found.length / turns, bytes: found.length === 0 ? 0 : bytesOf(found) / found.length };
    });
    return { name, cells };
  });
  const text = ({ each, bytes }: { each: number; bytes: number }): string =>
    `${each.toFixed(2).padStart(7)} ${bytes.toFixed(0).padStart(7)} B`;
  return [
    `${'round trips per turn'.padEnd(44)}${'alone'.padStart(17)}${'64 sessions'.padStart(17)}`,
    ...rows
      .toSorted((a, b) => b.cells[0]!.each - a.cells[0]!.each)
      .map(({ name, cells }) => `${name.padEnd(44)}${cells.map(text).join('')}`),
  ];
}

/**
 * What most of the turns did, at the median times, and how long nothing was under way before it.
 */
function formatTimeline(trips: readonly Trip[], spans: readonly { beganAtMs: number; endedAtMs: number }[]): string[] {
  const seen = new Map<string, { starts: number[]; times: number[] }>();
  for (const { beganAtMs, endedAtMs } of spans) {
    const counts = new Map<string, number>();
    const inside = trips.filter((trip) => trip.startedAtMs >= beganAtMs && trip.startedAtMs <= endedAtMs);
    for (const trip of inside.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
      const count = (counts.get(trip.name) ?? 0) + 1;
      counts.set(trip.name, count);
      const name = count === 1 ? trip.name : `${trip.name} (${count})`;
      const times = seen.get(name) ?? { starts: [], times: [] };
      seen.set(name, times);
      times.starts.push(trip.startedAtMs - beganAtMs);
      times.times.push(trip.endedAtMs - trip.startedAtMs);
    }
  }
  const usual = [...seen]
    .filter(([, { starts }]) => starts.length > spans.length / 2)
    .map(([name, { starts, times }]) => ({ name, startMs: median(starts), takesMs: median(times) }))
    .toSorted((a, b) => a.startMs - b.startMs);
  const wholeMs = median(spans.map(({ beganAtMs, endedAtMs }) => endedAtMs - beganAtMs));
  let busyUntilMs = 0;
  const lines = [...usual, { name: 'the answer of the API', startMs: wholeMs, takesMs: 0 }].map((step) => {
    const waitMs = Math.max(0, step.startMs - busyUntilMs);
    busyUntilMs = Math.max(busyUntilMs, step.startMs + step.takesMs);
    return `${step.name.padEnd(44)}${[step.startMs, step.takesMs, waitMs].map((ms) => ms.toFixed(2).padStart(9)).join('')}`;
  });
  return [
    `${'a turn alone, ms'.padEnd(44)}${['begins', 'takes', 'after'].map((head) => head.padStart(9)).join('')}`,
    ...lines,
  ];
}
