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
import { beginUpload, startBatch, type NewBatch } from '../batches/store/upload.ts';
import { addJudgements, fillJudgedGrades } from './judge-runs.ts';
import { isUpTo, listJudging, listRuns } from './rules/carried.ts';
import { lowerIsBetter, nameGrader, unitOf } from './rules/graders.ts';
import { inputOfRun } from './rules/runs.ts';
import { summarize, type SummaryRun } from './rules/summarize.ts';
import { settleEnded, type SettledMarks } from './settle-runs.ts';
import {
  beginJudging,
  beginRunning,
  countPart,
  endEvaluation,
  HAS_OPEN_SQL,
  readOpenEvaluations,
  type EvaluationEnd,
  type OpenEvaluation,
} from './store/evaluations.ts';
import { BEFORE_ALL, readCountedRuns, readRunsCost, type CountedRun, type RunKey } from './store/judgements.ts';
import { addPortion, PORTION_ITEMS, readAskedItems, type UploadStep } from './store/upload-items.ts';

export function openEvaluationRounds({ service }: Process): ProcessPart {
  const marks: SettledMarks = new Map();
  return {
    rounds: [
      {
        work: { sql: HAS_OPEN_SQL },
        round: (signal) => runEvaluationRound(service, marks, signal),
        pauseMs: OFTEN,
        failure: 'Round of evaluations failed; the next round retries',
      },
    ],
  };
}

/** One round; true when something changed. One that fails keeps no other from being done. */
export async function runEvaluationRound(service: Service, marks: SettledMarks, signal: AbortSignal): Promise<boolean> {
  let hasChanged = false;
  let first: { fault: unknown } | undefined;
  for (const evaluation of await readOpenEvaluations(service.database)) {
    if (signal.aborted) break;
    try {
      hasChanged = (await advance(service, evaluation, { marks, signal })) || hasChanged;
    } catch (fault) {
      first ??= { fault };
    }
  }
  if (first !== undefined) throw first.fault;
  return hasChanged;
}

interface RoundParts {
  marks: SettledMarks;
  signal: AbortSignal;
}

/** Does what an evaluation needs next; true when it has changed. */
function advance(service: Service, evaluation: OpenEvaluation, parts: RoundParts): Promise<boolean> {
  switch (evaluation.status) {
    case 'preparing':
      return prepare(service, evaluation, parts);
    case 'running':
    case 'judging':
      return settle(service, evaluation, parts);
    default:
      return evaluation.status satisfies never;
  }
}

/** Makes the batch of the runs, once all items of the version are copied. */
async function prepare(service: Service, evaluation: OpenEvaluation, { signal }: RoundParts): Promise<boolean> {
  const { database } = service;
  const { spec } = evaluation;
  const part = { ...evaluation, ...spec };
  const counted = await countPart(database, part);
  const sum = (pick: (one: (typeof counted)[number]) => number): number =>
    counted.reduce((total, one) => total + pick(one), 0);
  if (sum(({ copying }) => copying) > 0) return false;
  const itemCount = sum(({ ready }) => ready);
  if (itemCount === 0) return fail(service, evaluation, 'No item of this part of the data set can be run.');
  if (spec.via === 'provider-batch' && counted.some(({ hasCalls }) => hasCalls))
    return fail(
      service,
      evaluation,
      'Some items have recorded calls of tools: they cannot go through batches of the provider.',
    );
  await beginUpload(
    database,
    buildBatch(service, evaluation, { id: evaluation.batchId, maxCostMicros: evaluation.maxCostMicros }),
  );
  const limit = Math.ceil(PORTION_ITEMS / (spec.candidates.length * spec.repeats)) + 1;
  const isWhole = await addAll(
    () =>
      addPortion(database, evaluation, evaluation.batchId, async (last) => {
        const items = await readAskedItems(database, part, { fromN: last?.n ?? 0, limit });
        return items.flatMap((item) =>
          listRuns(item.n, spec)
            .filter((run) => last === null || run.n > last.n || !isUpTo(run, last))
            .map((place) => ({
              place,
              agentId: item.agentId,
              // Its candidate is one of them.
              body: inputOfRun(item, spec.candidates[place.candidate]!, { id: evaluation.id, ...place }),
            })),
        );
      }),
    signal,
  );
  return isWhole && beginRunning(database, evaluation, { itemCount, excluded: sum(({ excluded }) => excluded) });
}

/** Stores portions of items; false: another process does it, or the round is broken off. */
async function addAll(add: () => Promise<UploadStep>, signal: AbortSignal): Promise<boolean> {
  let last = 'stored' as UploadStep;
  await workOff(async () => (last = await add()) === 'stored', { signal });
  return last === 'none';
}

/** The batch that carries the runs of an evaluation, or its judgements. */
function buildBatch(
  { config }: Service,
  { id, name, agentId, spec, createdBy }: OpenEvaluation,
  of: Pick<NewBatch, 'id' | 'maxCostMicros'> & { isJudging?: true },
): NewBatch {
  const agent = isAgent(config, agentId) ? agentOf(config, agentId) : null;
  const title = `Evaluation ${name ?? id}`;
  return {
    id: of.id,
    name: of.isJudging === true ? `${title}: judgements` : title,
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

/** Starts the batch of the phase if necessary, settles what has ended, and begins the next phase after all of it. */
async function settle(service: Service, evaluation: OpenEvaluation, { marks, signal }: RoundParts): Promise<boolean> {
  const { database } = service;
  const { status, batchStatus, batchOutcome } = evaluation;
  const isJudging = status === 'judging';
  const batchId = isJudging ? evaluation.judgingBatchId : evaluation.batchId;
  if (batchStatus === 'uploading') {
    const itemCount = isJudging ? evaluation.judgementCount : evaluation.runCount;
    return startBatch(database, { batchId, itemCount, idempotency: null });
  }
  const settled = await settleEnded(service, evaluation, { batchId, marks, signal });
  if (settled === null) return fail(service, evaluation, `Its batch ${batchId} was deleted before it had ended.`);
  if (batchStatus !== 'ended' || signal.aborted) return settled > 0;
  if (batchOutcome === 'cancelled') return end(service, evaluation, { outcome: 'cancelled', detail: null });
  if (isJudging || listJudging(evaluation.spec.graders).length === 0)
    return end(service, evaluation, { outcome: 'completed', detail: null });
  return prepareJudging(service, evaluation, signal);
}

/** Makes the batch of the judgements, or ends the evaluation if there is nothing to judge. */
async function prepareJudging(service: Service, evaluation: OpenEvaluation, signal: AbortSignal): Promise<boolean> {
  const { database } = service;
  const { maxCostMicros: most, judgingBatchId: id } = evaluation;
  const left = most === null ? null : Math.max(0, most - (await readRunsCost(database, evaluation.id)));
  await beginUpload(database, buildBatch(service, evaluation, { id, maxCostMicros: left, isJudging: true }));
  if (!(await addAll(() => addJudgements(service, evaluation), signal))) return false;
  const judgements = await beginJudging(database, evaluation);
  if (judgements !== 0) return judgements !== null;
  return end(service, evaluation, { outcome: 'completed', detail: null });
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
  const { spec } = evaluation;
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
    runs: await readRuns(service, evaluation),
  });
  return endEvaluation(database, evaluation, { ...how, results });
}

/** Runs of one page. */
const PAGE_RUNS = 1_000;

/** All runs but those of erased items, with what statistics need, without their words. */
async function readRuns({ database }: Service, of: OpenEvaluation): Promise<SummaryRun[]> {
  const runs: SummaryRun[] = [];
  let after: RunKey | undefined = BEFORE_ALL;
  while (after !== undefined) {
    const page: CountedRun[] = await readCountedRuns(database, { of, after, limit: PAGE_RUNS });
    for (const run of page.filter(({ isErased }) => !isErased))
      runs.push({ ...run, grades: run.grades.map(({ pass, score }) => ({ pass, score })) });
    after = page.at(-1);
  }
  return runs;
}
