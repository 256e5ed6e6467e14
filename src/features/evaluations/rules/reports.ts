// What came of an evaluation for programs that show tests (JUnit XML) and for a comment on a pull
// request (Markdown). Pure. Both have words of models and of people, escaped for their place: no
// such word adds an element, a cell, a link or a mention.
import { cutHead } from '../../../core/text.ts';
import { lineOf, moneyText } from '../../../core/words.ts';
import type { CandidateSummary, EvaluationResultView, EvaluationRunView, EvaluationView } from '../contract.ts';
import { percentText } from './thresholds.ts';

export const WORST_MAX = 5;
const REASON_CHARS_MAX = 2_000;
const REPLY_CHARS_MAX = 2_000;

/** What is shown of an evaluation. */
export type ShownEvaluation = Omit<EvaluationView, 'graders'>;
type Answers = EvaluationResultView['candidates'][number];

// Words that all reports share.

/** What the primary grader says of a candidate: the share that has passed with its interval, or the mean. */
export function resultText({ graders }: CandidateSummary, primary: string): { value: string; interval: string } {
  const grade = graders.find(({ name }) => name === primary);
  if (grade === undefined || (grade.passRate === null && grade.mean === null)) return { value: '-', interval: '' };
  const rest = grade.ungraded === 0 ? '' : ` (${grade.ungraded} not graded)`;
  if (grade.passRate === null)
    return { value: `${Number(grade.mean?.toPrecision(4)).toString()}${rest}`, interval: '' };
  const { interval } = grade;
  return {
    value: `${percentText(grade.passRate)}${rest}`,
    interval: interval === null ? '' : `${percentText(interval.from)} to ${percentText(interval.to)}`,
  };
}

/** How a run ended, where it left the recorded turn, and what its graders say, the primary one first. */
export function explainRun({ repeat, status, divergence, error, grades }: EvaluationRunView, primary: string): string {
  const said = grades
    .toSorted((a, b) => Number(b.name === primary) - Number(a.name === primary))
    .map(({ name, pass, reason }) => `${name}${pass === null ? '' : ` ${passText(pass)}`}: ${reason}`);
  return [
    `run ${repeat} ${status}.`,
    ...(divergence === null
      ? []
      : [`Step ${divergence.step}: ${divergence.got ?? 'none'}; recorded: ${divergence.expected ?? 'none'}.`]),
    ...(error === null ? [] : [`${error.code}: ${error.message}`]),
    ...said,
  ].join(' ');
}

/** Whether something has passed, in a word. */
export function passText(passed: boolean | null): string {
  if (passed === null) return '-';
  return passed ? 'passed' : 'failed';
}

/** The candidates that are judged: all but the baseline, or the only one. */
function judgedOf({ candidates }: EvaluationResultView): Answers[] {
  return candidates.slice(candidates.length > 1 ? 1 : 0);
}

/** The first of results, the worst first, that became worse or have not passed. */
export function listWorst(results: readonly EvaluationResultView[]): EvaluationResultView[] {
  return results
    .filter((result) => result.change < 0 || judgedOf(result).some(({ passed }) => passed === false))
    .slice(0, WORST_MAX);
}

/** The first run that has not passed, or else the first; undefined: there is none. */
export function findWorstRun(result: EvaluationResultView, primary: string): EvaluationRunView | undefined {
  const runs = judgedOf(result).flatMap((one) => one.runs);
  return runs.find((run) => hasFailed(run, primary)) ?? runs[0];
}

function hasFailed({ grades }: EvaluationRunView, primary: string): boolean {
  return grades.some(({ name, pass }) => name === primary && pass === false);
}

/** A result with what reports use alone: of thousands, all are held at once. */
export function shortenResult(result: EvaluationResultView): EvaluationResultView {
  const candidates = result.candidates.map(({ runs, ...rest }) => ({
    ...rest,
    runs: runs.map((run) => ({
      ...run,
      reply: run.reply === null ? null : cutHead(run.reply, REPLY_CHARS_MAX),
      calls: [],
    })),
  }));
  return { ...result, input: lineOf(result.input), expected: null, recorded: null, candidates };
}

// JUnit.

/**
 * One test suite for each candidate, and one test case for each item. The baseline stands for what is
 * there now, so it is no test beside others.
 */
export function writeJUnit(evaluation: ShownEvaluation, results: readonly EvaluationResultView[]): string {
  const judged = evaluation.candidates.slice(evaluation.candidates.length > 1 ? 1 : 0);
  const suites = judged.map(({ name }) => writeSuite(name, evaluation, results));
  const whole = element('testsuites', { name: nameOf(evaluation) }, suites);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${whole}\n`;
}

function writeSuite(name: string, evaluation: ShownEvaluation, results: readonly EvaluationResultView[]): string {
  const cases = results.flatMap((result) =>
    result.candidates.filter((one) => one.name === name).map((answers) => ({ result, answers })),
  );
  const summary = evaluation.results.find((one) => one.name === name);
  const facts = {
    verdict: summary?.comparison?.verdict ?? 'baseline',
    text: summary?.comparison?.text ?? '',
    costUsd: summary?.costUsd ?? '',
  };
  const counted = (passed: boolean | null): number => cases.filter(({ answers }) => answers.passed === passed).length;
  const attributes = {
    name,
    tests: cases.length,
    failures: counted(false),
    skipped: counted(null),
    errors: 0,
    time: cases.reduce((total, { answers }) => total + secondsOf(answers), 0).toFixed(3),
    timestamp: evaluation.createdAt,
  };
  const properties = Object.entries(facts).map(([key, value]) => element('property', { name: key, value }, []));
  return element('testsuite', attributes, [
    element('properties', {}, properties),
    ...cases.map((one) => writeCase(one, evaluation)),
  ]);
}

function writeCase(
  { result, answers }: { result: EvaluationResultView; answers: Answers },
  evaluation: ShownEvaluation,
): string {
  const { passed, runs } = answers;
  const attributes = {
    name: `#${result.n} ${lineOf(result.input) ?? 'erased'}`,
    classname: `${evaluation.dataset.name}.${answers.name}`,
    time: secondsOf(answers).toFixed(3),
  };
  return element('testcase', attributes, [
    ...(passed === null ? [element('skipped', { message: 'no grade says whether it has passed' }, [])] : []),
    ...(passed === false ? [writeFailure(runs, evaluation.primary)] : []),
  ]);
}

/** The reasons of all runs, because most of them decide. */
function writeFailure(runs: readonly EvaluationRunView[], primary: string): string {
  const reasons = runs.map((run) => cutHead(explainRun(run, primary), REASON_CHARS_MAX));
  const failed = runs.findIndex((run) => hasFailed(run, primary));
  const texts = runs.map(({ turnId, reply }, at) =>
    [
      reasons[at],
      ...(reply === null ? [] : [reply]),
      ...(turnId === null ? [] : [`its steps: holdfast turns show ${turnId}`]),
    ].join('\n'),
  );
  const attributes = { type: runs[failed]?.status ?? 'failed', message: reasons[failed] ?? reasons[0] ?? 'no run' };
  return element('failure', attributes, [escapeXml(texts.join('\n\n'))]);
}

function secondsOf({ runs }: Answers): number {
  return runs.reduce((total, { seconds }) => total + (seconds ?? 0), 0);
}

function element(name: string, attributes: Record<string, string | number>, content: readonly string[]): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeXml(String(value), ATTRIBUTE)}"`);
  const begin = `<${name}${written.join('')}`;
  return content.length === 0 ? `${begin}/>` : `${begin}>${content.join('\n')}</${name}>`;
}

/** What XML 1.0 cannot have, also as an entity: it is left out. */
const NOT_XML = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** In an attribute, blanks other than spaces would become spaces. */
const ATTRIBUTE = /[&<>"\t\n\r]/g;

function escapeXml(text: string, signs = /[&<>\r]/g): string {
  return text.replaceAll(NOT_XML, '').replaceAll(signs, (sign) => `&#${sign.charCodeAt(0)};`);
}

// Markdown.

/** A table of the candidates, and the worst items with the commands that show their turns. */
export function writeMarkdown(evaluation: ShownEvaluation, results: readonly EvaluationResultView[]): string {
  const { id, dataset, primary, counts, candidates } = evaluation;
  const excluded = counts.excluded === 0 ? '' : `, ${counts.excluded} excluded`;
  const worst = listWorst(results);
  const items = [
    '<details><summary>The worst items</summary>',
    table(
      ['item', ...candidates.map(({ name }) => code(name)), 'turn'],
      worst.map((item) => itemRow(item, primary)),
    ),
    '</details>',
  ];
  const parts = [
    `### ${code(nameOf(evaluation))}: ${headlineOf(evaluation)}`,
    `${counts.items} items of ${code(dataset.name)}, version ${dataset.version}${excluded}, graded by ${code(primary)}. ${shell(`holdfast eval show ${id}`)}`,
    table(
      ['candidate', 'result', '95 % interval', 'verdict', 'diverged', 'failed', 'cost', 'seconds per run'],
      evaluation.results.map((one) => candidateRow(one, primary)),
    ),
    ...(worst.length === 0 ? [] : items),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** The worst verdict, or how it ended without one. */
function headlineOf({ outcome, status, results }: ShownEvaluation): string {
  if (outcome !== 'completed') return outcome ?? status;
  const verdicts = results.flatMap(({ comparison }) => comparison?.verdict ?? []);
  return (['worse', 'unknown', 'better'] as const).find((one) => verdicts.includes(one)) ?? 'no comparison';
}

function candidateRow(one: CandidateSummary, primary: string): string[] {
  const { value, interval } = resultText(one, primary);
  const { comparison } = one;
  return [
    code(one.name),
    value,
    interval,
    comparison === null ? 'baseline' : `**${comparison.verdict}** ${code(comparison.text)}`,
    String(one.diverged),
    String(one.failed),
    moneyText(one.costUsd).replace('<', '&lt;'),
    one.seconds?.toFixed(1) ?? '-',
  ];
}

function itemRow(result: EvaluationResultView, primary: string): string[] {
  const turnId = findWorstRun(result, primary)?.turnId ?? result.turnId;
  return [
    `${result.n} ${code(lineOf(result.input) ?? 'erased')}`,
    ...result.candidates.map(({ passed, score }) => (passed === null ? (score?.toFixed(2) ?? '-') : passText(passed))),
    turnId === null ? '' : shell(`holdfast turns show ${turnId}`),
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/**
 * Words as code. Each sign that has a meaning in Markdown or HTML is written as its number; and in
 * code, names of people are not called.
 */
function code(text: string): string {
  const signs = (lineOf(text, REASON_CHARS_MAX) ?? '').replaceAll(
    /[^\p{L}\p{N} ,;?'%()/=+-]/gu,
    (sign) => `&#${sign.codePointAt(0)};`,
  );
  return `<code>${signs}</code>`;
}

/** A command, whose only words of others are ids. */
function shell(line: string): string {
  return `\`${line}\``;
}

/** What people call it. */
export function nameOf({ name, dataset }: Pick<EvaluationView, 'name' | 'dataset'>): string {
  return name ?? dataset.name;
}
