// (z) How soon a message to one process starts a turn in another: from the 202 to the start of the
// turn that the database has noted, while nothing else happens; then again after the connection on
// which the worker waits for jobs was ended.
import { endListeners } from '../../test/servers/end-listeners.ts';
import { askDatabase } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { plainTurnText } from '../rig/prompts.ts';
import { startRedisServer } from '../rig/redis-server.ts';
import { median } from '../rig/statistics.ts';
import { ringMs } from '../rig/turn-bars.ts';
import { until } from '../rig/until.ts';

export const rings: BenchPart = { letter: 'z', title: 'from a message in one process to its turn in another', run };

const roles = ['api,scheduler', 'worker'];
const warmUpTurns = 50;
const pollMs = 5;

async function run(context: BenchContext): Promise<BarLine[]> {
  const redis = await startRedisServer();
  try {
    return [...(await measure(context, 'PostgreSQL')), ...(await measure(context, 'Redis', redis.url))];
  } finally {
    await redis.stop();
  }
}

async function measure(context: BenchContext, queue: string, redisUrl?: string): Promise<BarLine[]> {
  const messages = context.isQuick ? 30 : 200;
  const databaseUrl = await context.place.createDatabase(`rings_${queue.toLowerCase()}`);
  const env = { DATABASE_URL: databaseUrl, ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }) };
  return await withService(context, { roles, env }, async (service) => {
    context.say(`the queue in ${queue}: ${messages} messages, and as many after the listening connection was ended`);
    const [key] = await service.seed(1, 0);
    await service.run({ sessions: [key!], turnsEach: warmUpTurns, text: plainTurnText });
    const undisturbed = await startsOf(service, databaseUrl, messages);
    const ended = await endListeners(
      env.REDIS_URL === undefined ? { databaseUrl } : { databaseUrl, redisUrl: env.REDIS_URL },
    );
    if (ended === 0) throw new Error('no connection of the worker waits for jobs');
    const afterwards = await startsOf(service, databaseUrl, messages);
    return [
      lineOf(`from the 202 to the start of the turn, the queue in ${queue}, median`, undisturbed),
      lineOf(`the same after the listening connection was ended, the queue in ${queue}, median`, afterwards),
    ];
  });
}

/**
 * The milliseconds until the turn of each message has started; 0 where it started before the answer
 * had arrived.
 */
async function startsOf(service: BenchService, databaseUrl: string, messages: number): Promise<number[]> {
  const answered = new Map<string, number>();
  for (const key of await service.seed(messages, 0)) {
    const body = { text: plainTurnText };
    const { message } = (await service.ask('POST', `/v1/sessions/${key}/messages`, body)) as {
      message: { id: string };
    };
    answered.set(message.id, performance.timeOrigin + performance.now());
    await until(pollMs, async () => {
      const { status } = (await service.ask('GET', `/v1/messages/${message.id}`)) as { status: string };
      return status === 'answered';
    });
  }
  const started = await askDatabase<{ id: string; atMs: number }>(
    databaseUrl,
    `select inbox.id, extract(epoch from turns.started_at)::float8 * 1000 as "atMs"
     from holdfast.inbox join holdfast.turns on turns.id = inbox.turn_id`,
  );
  const startedAtMs = new Map(started.map(({ id, atMs }) => [id, atMs]));
  return [...answered].map(([id, atMs]) => Math.max(0, startedAtMs.get(id)! - atMs));
}

function lineOf(what: string, times: readonly number[]): BarLine {
  return {
    part: 'z',
    what,
    floor: '',
    holdfast: `the first ${formatNumber(times[0]!)} ms, the longest ${formatNumber(Math.max(...times))} ms`,
    measured: median(times),
    unit: ' ms',
    bar: ringMs,
    sense: 'atMost',
  };
}
