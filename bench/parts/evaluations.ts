// (evaluations) An evaluation of recorded turns beside a batch of as many items that makes the same
// model calls, on one service: runs per second, and the memory of the process. Then the pages of its
// results, the worst items first.
import { performance } from 'node:perf_hooks';
import type { ListAnswer } from '../../src/contract/answers.ts';
import type { DatasetView } from '../../src/features/evaluations/contract-datasets.ts';
import type { EvaluationResultView, EvaluationView } from '../../src/features/evaluations/contract.ts';
import { serverPidOf } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { msOf } from '../rig/ms-of.ts';
import { peakMemory } from '../rig/process-memory.ts';
import { processorMsOf } from '../rig/process-tree.ts';
import { turnText } from '../rig/prompts.ts';
import { quantile } from '../rig/statistics.ts';
import { until } from '../rig/until.ts';

export const evaluations: BenchPart = { letter: 'evaluations', title: 'an evaluation of recorded turns', run };

const candidate = 'claude-haiku-4-5';
/** Every tenth item has a worse answer of the candidate. */
const worseEvery = 10;
const worseText = `${turnText.replace('[[reply', `[[for: ${candidate}]] [[reply: Wrong.]] [[for: others]] [[reply`)}`;
const concurrency = 64;
const pageItems = 50;
const pollMs = 50;
const tags = { bench: 'evaluations' };

async function run(context: BenchContext): Promise<BarLine[]> {
  const items = context.isQuick ? 500 : 10_000;
  return await withService(context, {}, async (service) => {
    const measured = { service, server: await serverPidOf(context.place.databaseUrl) };
    await runBatch(service, 200, {});
    context.say(`${items} items in a batch, with two candidates, and in a batch again`);
    const before = await measure(measured, () => runBatch(service, items, tags));
    await copyTurns(context, service, items);
    let id = '';
    const evaluated = await measure(measured, async () => (id = await evaluate(service, items)));
    const after = await measure(measured, () => runBatch(service, items, {}));
    const [batchSeconds, batchMs] = [before.seconds + after.seconds, before.processorMs + after.processorMs];
    return [
      {
        part: 'evaluations',
        what: `${items} items, two candidates, to as many items of a batch`,
        floor: `${formatNumber((2 * items) / batchSeconds)}/s`,
        holdfast: `${formatNumber((2 * items) / evaluated.seconds)}/s`,
        measured: batchSeconds / evaluated.seconds,
        unit: 'x',
        bar: null,
      },
      {
        part: 'evaluations',
        what: 'processor time of service and PostgreSQL per run, to one per item of a batch',
        floor: `${formatNumber(batchMs / (2 * items))} ms`,
        holdfast: `${formatNumber(evaluated.processorMs / (2 * items))} ms`,
        measured: evaluated.processorMs / batchMs,
        unit: 'x',
        bar: null,
      },
      {
        part: 'evaluations',
        what: 'highest memory during an evaluation, over that during a batch',
        floor: `${formatNumber(before.megabytes)} MB`,
        holdfast: `${formatNumber(evaluated.megabytes)} MB`,
        measured: evaluated.megabytes - before.megabytes,
        unit: ' MB',
        bar: 80,
        sense: 'atMost',
      },
      await measurePages(service, id, items),
    ];
  });
}

interface Measured {
  service: BenchService;
  /** The process of its PostgreSQL server. */
  server: number;
}

interface Figures {
  seconds: number;
  /** Of the service and its PostgreSQL server. */
  processorMs: number;
  /** The highest of the service. */
  megabytes: number;
}

async function measure({ service, server }: Measured, work: () => Promise<unknown>): Promise<Figures> {
  const read = (): number => processorMsOf(service.pids, 'postgres') + processorMsOf([server]);
  const before = read();
  const { result: ms, peak } = await peakMemory(service.pid, () => msOf(work));
  return { seconds: ms / 1000, processorMs: read() - before, megabytes: peak.megabytes };
}

/** Resolves when all items of a batch of messages are answered. */
async function runBatch(service: BenchService, count: number, itemTags: Record<string, string>): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => ({
    text: n % worseEvery === 0 ? worseText : turnText,
    tags: itemTags,
  }));
  const made = await service.ask('POST', '/v1/batches', { items, concurrency, promptMode: 'full', via: 'live' });
  const { id } = made as { id: string };
  await until(pollMs, async () => {
    const { status, outcome, counts } = (await service.ask('GET', `/v1/batches/${id}`)) as {
      status: string;
      outcome: string;
      counts: { answered: number };
    };
    if (status !== 'ended') return false;
    if (outcome !== 'completed' || counts.answered !== count) throw new Error(`the batch ended as ${outcome}`);
    return true;
  });
}

/** Makes a data set of the turns that the batch has left. */
async function copyTurns(context: BenchContext, service: BenchService, items: number): Promise<void> {
  await service.ask('POST', '/v1/datasets', { name: 'bench' });
  const ms = await msOf(async () => {
    await service.ask('POST', '/v1/datasets/bench/items', { filter: { tag: tags, limit: items } });
    await until(pollMs, async () => {
      const { counts } = (await service.ask('GET', '/v1/datasets/bench')) as DatasetView;
      if (counts.excluded > 0) throw new Error(`${counts.excluded} turns cannot be asked again`);
      return counts.ready === items;
    });
  });
  context.say(`${items} turns were copied in ${formatNumber(ms / 1000)} s`);
}

/** Resolves with the id of an evaluation that has ended as its items are scripted. */
async function evaluate(service: BenchService, items: number): Promise<string> {
  const { id } = (await service.ask('POST', '/v1/evaluations', {
    dataset: 'bench',
    candidates: [{ name: 'recorded' }, { name: 'small', model: `anthropic/${candidate}` }],
    graders: [{ type: 'equal' }],
    repeats: 1,
    concurrency,
  })) as EvaluationView;
  await until(pollMs, async () => {
    const { status, outcome, counts, results } = (await service.ask('GET', `/v1/evaluations/${id}`)) as EvaluationView;
    if (status !== 'ended') return false;
    const worse = results[1]?.comparison?.worse;
    if (outcome !== 'completed' || counts.ended !== 2 * items || worse !== items / worseEvery)
      throw new Error(`the evaluation ended as ${outcome} with ${counts.ended} runs and ${worse} worse items`);
    return true;
  });
  return id;
}

/** How long a page of the results takes, from the worst item to the last. */
async function measurePages(service: BenchService, id: string, items: number): Promise<BarLine> {
  const taken: number[] = [];
  let read = 0;
  for (let cursor = ''; ;) {
    const begin = performance.now();
    const path = `/v1/evaluations/${id}/results?limit=${pageItems}${cursor}`;
    const page = (await service.ask('GET', path)) as ListAnswer<EvaluationResultView>;
    taken.push(performance.now() - begin);
    read += page.items.length;
    if (page.nextCursor === null) break;
    cursor = `&cursor=${page.nextCursor}`;
  }
  if (read !== items) throw new Error(`the results have ${read} of ${items} items`);
  return {
    part: 'evaluations',
    what: `a page of ${pageItems} of ${items} results, the worst first, p99`,
    floor: '',
    holdfast: `p50 ${formatNumber(quantile(taken, 0.5))} ms`,
    measured: quantile(taken, 0.99),
    unit: ' ms',
    bar: 300,
    sense: 'atMost',
  };
}
