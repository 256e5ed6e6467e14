// (l) A live batch beside the same messages posted one by one, as many at once.
import type { BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { alternate } from '../rig/alternate.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { msOf } from '../rig/ms-of.ts';
import { until } from '../rig/until.ts';

export const liveBatches: BenchPart = { letter: 'l', title: 'a live batch', run };

const concurrency = 64;
const text = 'Hello. [[reply: Done.]]';
const pollMs = 20;

async function run(context: BenchContext): Promise<BarLine[]> {
  const items = context.isQuick ? 500 : 2_000;
  return await withService(context, {}, async (service) => {
    await postOneByOne(service, 100);
    context.say(`${items} messages and ${items} items, ${concurrency} at once`);
    const { runsOf, ratioOf } = await alternate(
      context.isQuick ? 1 : 3,
      [
        { name: 'messages', measure: () => postOneByOne(service, items) },
        { name: 'batch', measure: () => runBatch(service, items) },
      ],
      Number,
    );
    const shown = (name: 'messages' | 'batch'): string =>
      runsOf(name)
        .map((seconds) => `${seconds.toFixed(1)} s`)
        .join(', ');
    const measured = ratioOf('batch', 'messages');
    const what = `${items} items live`;
    return [
      {
        part: 'l',
        what,
        floor: shown('messages'),
        holdfast: shown('batch'),
        measured,
        unit: 'x',
        bar: 1.1,
        sense: 'atMost',
      },
    ];
  });
}

/** Seconds until all messages, each in a separate session, are answered. */
async function postOneByOne(service: BenchService, count: number): Promise<number> {
  const name = `batch:${crypto.randomUUID()}`;
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < count) await service.send(`${name}:${(next += 1)}`, text);
  };
  return (await msOf(() => Promise.all(Array.from({ length: concurrency }, client)))) / 1000;
}

/** Seconds from the submission to the end of the batch. */
async function runBatch(service: BenchService, count: number): Promise<number> {
  const items = Array.from({ length: count }, () => ({ text }));
  const ms = await msOf(async () => {
    const made = await service.ask('POST', '/v1/batches', { items, concurrency, promptMode: 'full' });
    const { id } = made as { id: string };
    await until(pollMs, async () => {
      const { status, outcome } = (await service.ask('GET', `/v1/batches/${id}`)) as {
        status: string;
        outcome: string;
      };
      if (status === 'ended' && outcome !== 'completed') throw new Error(`the batch ended as ${outcome}`);
      return status === 'ended';
    });
  });
  return ms / 1000;
}
