// The round of evaluations in a scheduler: makes the batches that carry them, writes and grades what
// has ended, and ends what is complete. Everything follows from rows, so any number of schedulers may
// do it, and what a crash leaves out the next round does.
import { agentOf, isAgent, modelRefOf } from '../../config.ts';
import { modelOfRef } from '../../core/models.ts';
import { EVERYTHING } from '../../core/scope.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { OFTEN } from '../../kernel/queue/start-rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { workOff } from '../../work-off.ts';
import { beginUpload, type NewBatch } from '../batches/store/upload.ts';
import { fillJudgedGrades, listJudgements } from './judge-runs.ts';
import { lowerIsBetter, nameGrader, unitOf } from './rules/graders.ts';
import { inputOfRun, listJudging, listRuns } from './rules/runs.ts';
import { summarize, type SummaryRun } from './rules/summarize.ts';
import { settlePortion } from './settle-runs.ts';
import {
  countPart,
  endEvaluation,
  HAS_OPEN_SQL,
  readOpenEvaluations,
  type EvaluationEnd,
  type OpenEvaluation,
  type Part,
  type Phase,
} from './store/evaluations.ts';
import { BEFORE_ALL, readCountedRuns, readRunsCost } from './store/judgements.ts';
import { readPages } from './store/read-pages.ts';
import { readAskedItems, sendItems, startPhase, type CarriedItem } from './store/upload-items.ts';

export function openEvaluationRounds({ service }: Process): ProcessPart {
  return {
    rounds: [
      {
        work: { sql: HAS_OPEN_SQL },
        round: (signal) => runEvaluationRound(service, signal),
        pauseMs: OFTEN,
        failure: 'Round of evaluations failed; the next round retries',
      },
    ],
  };
}

/** One round; true when something changed. One that fails keeps no other from being done. */
export async function runEvaluationRound(service: Service, signal: AbortSignal): Promise<boolean> {
  let hasChanged = false;
  let first: { fault: unknown } | undefined;
  for (const evaluation of await readOpenEvaluations(service.database)) {
    if (signal.aborted) break;
    try {
      hasChanged = (await advance(service, evaluation, signal)) || hasChanged;
    } catch (fault) {
      first ??= { fault };
    }
  }
  if (first !== undefined) throw first.fault;
  return hasChanged;
}

/** Does what an evaluation needs next; true when it has changed. */
function advance(service: Service, evaluation: OpenEvaluation, signal: AbortSignal): Promise<boolean> {
  switch (evaluation.status) {
    case 'preparing':
      return prepare(service, evaluation, signal);
    case 'running':
    case 'judging':
      return settle(service, evaluation, signal);
    default:
      return evaluation.status satisfies never;
  }
}

/** Makes the batch of the runs, once all items of the version are copied. */
async function prepare(service: Service, evaluation: OpenEvaluation, signal: AbortSignal): Promise<boolean> {
  const { database } = service;
  const { spec } = evaluation;
  const part = { ...evaluation, ...spec };
  const counted = await countPart(database, part);
  const sum = (pick: (one: (typeof counted)[number]) => number): number =>
    counted.reduce((total, one) => total + pick(one), 0);
  if (sum(({ copying }) => copying) > 0) return false;
  if (spec.via === 'provider-batch' && counted.some(({ hasCalls }) => hasCalls))
    return fail(
      service,
      evaluation,
      'Some items have recorded calls of tools: they cannot go through batches of the provider.',
    );
  const begun = await beginPhase(service, evaluation, {
    phase: { status: 'running', itemCount: sum(({ ready }) => ready), excluded: sum(({ excluded }) => excluded) },
    batch: { id: evaluation.batchId, maxCostMicros: evaluation.maxCostMicros },
    items: listRunItems(service, evaluation, part),
    signal,
  });
  if (begun === 0) return fail(service, evaluation, 'No item of this part of the data set can be run.');
  return begun !== null;
}

/** The runs of all items. Their numbers follow from those of the items, which stay when others are erased. */
async function* listRunItems(
  { database }: Service,
  { id, spec }: OpenEvaluation,
  part: Part,
): AsyncGenerator<CarriedItem> {
  const runsOfItem = spec.candidates.length * spec.repeats;
  for await (const items of readPages({ n: 0 }, ({ n }) => readAskedItems(database, part, n))) {
    for (const item of items) {
      for (const [at, place] of listRuns(item.n, spec).entries()) {
        // Its candidate is one of them.
        const body = inputOfRun(item, spec.candidates[place.candidate]!, { id, ...place });
        yield { n: (item.n - 1) * runsOfItem + at + 1, place, agentId: item.agentId, body };
      }
    }
  }
}

interface BegunPhase {
  phase: Phase;
  batch: Pick<NewBatch, 'id' | 'maxCostMicros'>;
  items: AsyncIterable<CarriedItem>;
  signal: AbortSignal;
}

/**
 * Makes the batch of a phase and begins it. Resolves with how many items it has; 0: none, so nothing
 * has begun. Null: it was broken off, or another process does it.
 */
async function beginPhase(
  service: Service,
  evaluation: OpenEvaluation,
  { phase, batch, items, signal }: BegunPhase,
): Promise<number | null> {
  const { database } = service;
  await beginUpload(database, buildBatch(service, evaluation, { ...batch, status: phase.status }));
  const sent = await sendItems(database, evaluation, { batchId: batch.id, items, signal });
  return sent === null ? null : startPhase(database, evaluation, { phase, batchId: batch.id, sent });
}

/** The batch that carries the runs of an evaluation, or its judgements. */
function buildBatch(
  { config }: Service,
  { id, name, agentId, spec, createdBy }: OpenEvaluation,
  of: BegunPhase['batch'] & Pick<Phase, 'status'>,
): NewBatch {
  const agent = isAgent(config, agentId) ? agentOf(config, agentId) : null;
  const title = `Evaluation ${name ?? id}`;
  return {
    id: of.id,
    name: of.status === 'judging' ? `${title}: judgements` : title,
    via: spec.via,
    agentId,
    model: agent === null ? '' : modelOfRef(modelRefOf(agent, agent.model) ?? agent.model).model,
    defaults: {},
    concurrency: spec.concurrency,
    weight: 1,
    pilot: null,
    // A run that fails counts against its candidate, and is no reason to pause.
    maxFailurePercent: 100,
    maxCostMicros: of.maxCostMicros,
    deadlineSeconds: null,
    fallback: 'live',
    cache: 'auto',
    createdBy,
    owner: null,
    scope: EVERYTHING,
  };
}

/** Settles what has ended, and begins the next phase after all of it. */
async function settle(service: Service, evaluation: OpenEvaluation, signal: AbortSignal): Promise<boolean> {
  const { status, batchStatus, batchOutcome } = evaluation;
  const isJudging = status === 'judging';
  const batchId = isJudging ? evaluation.judgingBatchId : evaluation.batchId;
  let hasSettled = false;
  let isThere = true;
  await workOff(
    async () => {
      const settled = await settlePortion(service, evaluation, { batchId });
      isThere = settled !== null;
      hasSettled ||= settled !== null && settled > 0;
      return settled !== null && settled > 0;
    },
    { signal },
  );
  if (!isThere) return fail(service, evaluation, `Its batch ${batchId} was deleted before it had ended.`);
  if (batchStatus !== 'ended' || signal.aborted) return hasSettled;
  if (batchOutcome === 'cancelled') return end(service, evaluation, { outcome: 'cancelled', detail: null });
  if (!isJudging && listJudging(evaluation.spec.graders).length > 0) {
    const begun = await beginJudging(service, evaluation, signal);
    if (begun !== 0) return begun !== null;
  }
  return end(service, evaluation, { outcome: 'completed', detail: null });
}

/** Makes the batch of the judgements; see `beginPhase`. */
async function beginJudging(service: Service, evaluation: OpenEvaluation, signal: AbortSignal): Promise<number | null> {
  const { id, batchId, judgingBatchId } = evaluation;
  const { maxCostMicros: most, micros } = await readRunsCost(service.database, id, batchId);
  const left = most === null ? null : Math.max(0, most - micros);
  return beginPhase(service, evaluation, {
    phase: { status: 'judging' },
    batch: { id: judgingBatchId, maxCostMicros: left },
    items: listJudgements(service, evaluation, signal),
    signal,
  });
}

function fail({ database }: Service, evaluation: OpenEvaluation, detail: string): Promise<boolean> {
  return endEvaluation(database, evaluation, { outcome: 'failed', detail, results: null });
}

/** Ends it with the results of all runs that have ended. */
async function end(
  service: Service,
  evaluation: OpenEvaluation,
  how: Omit<EvaluationEnd, 'results'>,
): Promise<boolean> {
  const { database } = service;
  const { id, spec } = evaluation;
  await fillJudgedGrades(service, evaluation);
  const graders = spec.graders.map((grader) => ({
    name: nameGrader(grader),
    lowerIsBetter: lowerIsBetter(grader),
    unit: unitOf(grader),
  }));
  const results = summarize({
    candidates: spec.candidates.map(({ name }) => name),
    graders,
    primary: graders.findIndex(({ name }) => name === spec.primary),
    effect: spec.effect,
    runs: await readRuns(service, id),
  });
  return endEvaluation(database, evaluation, { ...how, results });
}

/** All runs with what statistics need, without their words. */
async function readRuns({ database }: Service, id: string): Promise<SummaryRun[]> {
  const runs: SummaryRun[] = [];
  for await (const page of readPages(BEFORE_ALL, (after) => readCountedRuns(database, id, after)))
    for (const run of page)
      if (!run.isErased) runs.push({ ...run, grades: run.grades.map(({ pass, score }) => ({ pass, score })) });
  return runs;
}
