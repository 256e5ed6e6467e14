// (j) Messages that wait for a busy session. A hundred messages that come while a turn runs give
// one further turn in mode `collect`; and a session that has little to do does not wait for another
// that has very much.
import type { BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { besideLine, turnsOf, warmUpTurns } from '../rig/one-by-one.ts';
import { slowTurnText, turnText } from '../rig/prompts.ts';
import { until } from '../rig/until.ts';

export const queueing: BenchPart = { letter: 'j', title: 'what waits', run };

const burst = 100;
const burstModelMs = 1_000;
const postsAtOnce = 64;
const pollMs = 20;
/** Room for all that is sent here, and a cap that lets one turn take the whole burst. */
const settings = {
  messages: { queue: { cap: 100_000 } },
  limits: { waitingPerSession: 100_000, waitingTotal: 1_000_000 },
};

async function run(context: BenchContext): Promise<BarLine[]> {
  return await withService(context, { settings }, async (service) => [
    await measureBurst(context, service),
    await measureNeighbour(context, service),
  ]);
}

async function measureBurst(context: BenchContext, service: BenchService): Promise<BarLine> {
  context.say(`${burst} messages while a turn runs`);
  const [session = ''] = await service.seed(1, 0);
  await service.ask('POST', `/v1/sessions/${session}/messages`, { text: slowTurnText(burstModelMs) });
  await untilStatus(service, session, 'running');
  await post(service, session, { count: burst, mode: 'collect', text: 'And this.' });
  await untilStatus(service, session, 'idle');
  const { items } = (await service.ask('GET', `/v1/turns?session=${session}&limit=200`)) as { items: unknown[] };
  return {
    part: 'j',
    what: `turns for ${burst} messages that came during one`,
    floor: `${burst} one by one`,
    holdfast: `${items.length} turns in all`,
    measured: items.length - 1,
    unit: '',
    bar: 1,
    sense: 'atMost',
  };
}

async function measureNeighbour(context: BenchContext, service: BenchService): Promise<BarLine> {
  const { crowd, turns } = context.isQuick ? { crowd: 1_000, turns: 60 } : { crowd: 10_000, turns: 200 };
  context.say(`a session alone, and beside one with ${crowd} waiting messages`);
  const [light = '', crowded = ''] = await service.seed(2, 0);
  await turnsOf(service, light, warmUpTurns);
  const alone = await turnsOf(service, light, turns);
  // Each message of the crowd gets its own turn.
  await post(service, crowded, { count: crowd, mode: 'followup', text: turnText });
  const beside = await turnsOf(service, light, turns);
  await service.ask('POST', `/v1/sessions/${crowded}/abort`, {});
  return besideLine(
    { part: 'j', what: `p99 beside ${crowd} waiting messages, less one step, to p99 alone` },
    alone,
    beside,
  );
}

/**
 * Sends this many messages of one kind to a session, many concurrently, without waiting for
 * answers.
 */
async function post(
  service: BenchService,
  session: string,
  { count, ...message }: { count: number; mode: string; text: string },
): Promise<void> {
  let left = count;
  const sender = async (): Promise<void> => {
    for (; left > 0;) {
      left -= 1;
      await service.ask('POST', `/v1/sessions/${session}/messages`, message);
    }
  };
  await Promise.all(Array.from({ length: Math.min(postsAtOnce, count) }, sender));
}

async function untilStatus(service: BenchService, session: string, wanted: string): Promise<void> {
  await until(pollMs, async () => {
    const { status } = (await service.ask('GET', `/v1/sessions/${session}`)) as { status: string };
    return status === wanted;
  });
}
