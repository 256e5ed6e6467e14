// The wait for an evaluation, and what is printed and written when it has ended. The exit code says
// how it ended, and whether it meets its thresholds.
import { access, constants, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { EvaluationResultView } from '../contract.ts';
import type { ApiClient } from '../../../cli/api-client.ts';
import { CliError, EXIT, type ExitCode } from '../../../cli/cli-error.ts';
import { fileError, writeError } from '../../../cli/file-error.ts';
import { pollUntilEnd } from '../../../cli/poll-until-end.ts';
import { printFields } from '../../../cli/print.ts';
import { createProgress } from '../../../cli/progress.ts';
import type { Terminal } from '../../../cli/terminal.ts';
import { lineOf, moneyText } from '../../../core/words.ts';
import { findShortfalls, type Thresholds } from '../rules/thresholds.ts';
import {
  explainRun,
  findWorstRun,
  listWorst,
  nameOf,
  passText,
  resultText,
  shortenResult,
  type ShownEvaluation,
  writeJUnit,
  writeMarkdown,
} from '../rules/reports.ts';

const POLL_MS = 1_000;
const PERCENT = 100;
/** Enough that the worst of them are all that are shown. */
const WORST_READ = 20;
const PAGE_ITEMS = 100;
const REASON_CHARS_MAX = 400;

const END_EXITS: Record<NonNullable<ShownEvaluation['outcome']>, ExitCode> = {
  completed: EXIT.ok,
  failed: EXIT.turnFailed,
  cancelled: EXIT.turnAborted,
};

interface Ends extends Thresholds {
  junit: string | undefined;
  markdown: string | undefined;
}

/** How many of its runs have ended. */
export function countRuns({ counts }: Pick<ShownEvaluation, 'counts'>): string {
  return `${counts.ended}/${counts.runs}`;
}

/**
 * Follows an evaluation until it ends or is paused, or with `isOnce` shows it as it is now. Throws
 * `CliError` with exit code 9 when it does not meet its thresholds.
 */
export async function watchEvaluation(
  { id, isOnce = false, ...ends }: Ends & { id: string; isOnce?: boolean },
  api: ApiClient,
  terminal: Terminal,
): Promise<ExitCode> {
  // A service that is not there now is an error; one that leaves later may be restarting.
  let evaluation: ShownEvaluation = await api.getEvaluation({ id });
  if (isOnce) {
    await report(evaluation, ends, { api, terminal });
    const { outcome } = evaluation;
    if (ends.failUnder === undefined && ends.maxWorse === undefined) return EXIT.ok;
    if (outcome === null) terminal.note('it has not ended, so it does not meet its thresholds; to wait for it: --wait');
    return outcome === null ? EXIT.turnAborted : END_EXITS[outcome];
  }
  const show = createProgress(terminal);
  const exit = await pollUntilEnd({ read: () => readWithPause(id, api), everyMs: POLL_MS }, ([read, end]) => {
    evaluation = read;
    show(describeProgress(read), end !== null);
    return end;
  });
  if (exit === EXIT.interrupted) terminal.note(`it continues: holdfast eval show ${id} --wait`);
  else await report(evaluation, ends, { api, terminal });
  return exit;
}

/** An evaluation, and the exit code if its wait is over. */
async function readWithPause(id: string, api: ApiClient): Promise<[ShownEvaluation, ExitCode | null]> {
  const evaluation = await api.getEvaluation({ id });
  const { status, outcome, batchId, judgingBatchId } = evaluation;
  if (outcome !== null) return [evaluation, END_EXITS[outcome]];
  const carrier = judgingBatchId ?? batchId;
  if (status !== 'paused' || carrier === null) return [evaluation, null];
  // Calls in flight may cost less than they have reserved: then it resumes by itself.
  const { pauseReason, reservedUsd } = await api.getBatch({ id: carrier });
  return [evaluation, pauseReason === 'cost_cap' && reservedUsd > 0 ? null : EXIT.turnAborted];
}

function describeProgress(evaluation: ShownEvaluation): { percent: number; facts: string } {
  const { counts, status, costUsd } = evaluation;
  const [done, all] = [counts.ended + counts.judged, counts.runs + counts.judgements];
  const facts = [
    `${countRuns(evaluation)} runs`,
    ...(counts.judgements === 0 ? [] : [`${counts.judged}/${counts.judgements} judgements`]),
    ...(status === 'running' || status === 'ended' ? [] : [status]),
    moneyText(costUsd),
  ];
  return { percent: all === 0 ? 0 : Math.floor((done * PERCENT) / all), facts: facts.join('  ') };
}

interface Means {
  api: ApiClient;
  terminal: Terminal;
}

/** Prints what came out, writes the reports, and judges the thresholds of what has ended. */
async function report(
  evaluation: ShownEvaluation,
  { junit, markdown, ...thresholds }: Ends,
  means: Means,
): Promise<void> {
  const { api, terminal } = means;
  const { id, outcome, status } = evaluation;
  const results = await readResults(evaluation, junit !== undefined, api);
  if (terminal.isJson) terminal.json(evaluation);
  else print(evaluation, results, terminal);
  if (junit !== undefined) await write(junit, writeJUnit(evaluation, results), terminal);
  if (markdown !== undefined) await write(markdown, writeMarkdown(evaluation, results), terminal);
  if (status === 'paused') terminal.note(`to continue: holdfast eval resume ${id}`);
  if (outcome !== 'completed') return;
  const shortfalls = findShortfalls(evaluation, thresholds);
  if (shortfalls.length === 0) return;
  throw new CliError({
    code: 'under_threshold',
    exitCode: EXIT.partly,
    message: `the evaluation ${id} does not meet its thresholds:\n  ${shortfalls.join('\n  ')}`,
    fix: `read the worst items: "holdfast eval show ${id}"`,
  });
}

/** The results, the worst first; all of them, or enough for the worst. */
async function readResults(
  { id, outcome }: ShownEvaluation,
  isAll: boolean,
  api: ApiClient,
): Promise<EvaluationResultView[]> {
  if (outcome === null) return [];
  if (!isAll) return (await api.listEvaluationResults({ id, limit: WORST_READ })).items;
  const results: EvaluationResultView[] = [];
  for await (const result of api.each('listEvaluationResults', { id, limit: PAGE_ITEMS }))
    results.push(shortenResult(result));
  return results;
}

/** Throws `CliError` if no report can be written there: before an evaluation costs anything. */
export async function refuseUnwritable(file: string): Promise<void> {
  await access(dirname(resolve(file)), constants.W_OK).catch((cause: unknown) => {
    throw fileError('write', file, { cause, fix: 'pass the name of a file in a folder that this user may write to' });
  });
}

async function write(file: string, text: string, terminal: Terminal): Promise<void> {
  await writeFile(file, text).catch((error: unknown) => {
    throw writeError(file, error) ?? error;
  });
  terminal.note(`written to ${file}`);
}

function print(evaluation: ShownEvaluation, results: readonly EvaluationResultView[], terminal: Terminal): void {
  const { id, dataset, status, outcome, detail, counts, costUsd, costCapUsd, primary } = evaluation;
  printFields(terminal, {
    id,
    name: nameOf(evaluation),
    status: outcome === null ? status : `${status}: ${outcome}`,
    why: detail,
    'data set': `${dataset.name}, version ${dataset.version}`,
    items: [counts.items, ...listNonZero(counts, ['excluded', 'erased'])].join(', '),
    runs: countRuns(evaluation),
    judgements: counts.judgements === 0 ? null : `${counts.judged}/${counts.judgements}`,
    cost: `${moneyText(costUsd)}${costCapUsd === null ? '' : ` of ${moneyText(costCapUsd)}`}`,
  });
  if (evaluation.results.length === 0) return;
  terminal.print('');
  terminal.table(
    [
      { title: 'CANDIDATE', value: ({ name }) => name },
      { title: primary.toUpperCase(), value: (one) => resultText(one, primary).value, align: 'right' },
      { title: '95 % INTERVAL', value: (one) => resultText(one, primary).interval, dropOrder: 3 },
      { title: 'DIVERGED', value: ({ diverged }) => diverged, dropOrder: 1 },
      { title: 'FAILED', value: ({ failed }) => failed, dropOrder: 2 },
      { title: 'COST', value: (one) => moneyText(one.costUsd), align: 'right' },
      { title: 'SECONDS', value: ({ seconds }) => seconds?.toFixed(1), align: 'right', dropOrder: 4 },
      { title: 'VERDICT', value: ({ comparison }) => comparison?.verdict ?? 'baseline', style: verdictStyle },
    ],
    evaluation.results,
  );
  for (const { name, comparison, cost, time } of evaluation.results)
    for (const [what, one] of Object.entries({ [primary]: comparison, cost, time }))
      if (one !== null) terminal.print(`${name}, ${what}: ${one.text}`);
  const worst = listWorst(results);
  if (worst.length > 0) terminal.print(`\nThe worst items:`);
  for (const result of worst) printItem(result, primary, terminal);
}

function verdictStyle({ comparison }: ShownEvaluation['results'][number]): 'green' | 'red' | undefined {
  if (comparison === null || comparison.verdict === 'unknown') return undefined;
  return comparison.verdict === 'better' ? 'green' : 'red';
}

/** Its candidates in words, and a run that has not passed. */
function printItem(result: EvaluationResultView, primary: string, terminal: Terminal): void {
  const marks = result.candidates.map(
    ({ name, passed, score }) => `${name} ${passed === null ? (score ?? '-') : passText(passed)}`,
  );
  terminal.print(`#${result.n}  ${marks.join(', ')}  ${lineOf(result.input) ?? '(erased)'}`);
  const run = findWorstRun(result, primary);
  if (run === undefined) return;
  terminal.print(`    ${lineOf(explainRun(run, primary), REASON_CHARS_MAX) ?? ''}`);
  if (run.turnId !== null) terminal.print(`    its steps: holdfast turns show ${run.turnId}`);
}

function listNonZero<Name extends string>(counts: Readonly<Record<Name, number>>, names: readonly Name[]): string[] {
  return names.flatMap((name) => (counts[name] === 0 ? [] : [`${counts[name]} ${name}`]));
}
