// Evaluations in words and numbers: verdicts, what candidates change, and what a grader measures.
import type { api } from '../api.ts';
import { columnUsdText, countText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';

export type Evaluation = Awaited<ReturnType<typeof api.getEvaluation>>;
export type Candidate = Evaluation['candidates'][number];
export type Summary = Evaluation['results'][number];
export type Comparison = NonNullable<Summary['comparison']>;
export type Result = Awaited<ReturnType<typeof api.listEvaluationResults>>['items'][number];
type GradeSummary = Summary['graders'][number];
export type Grader = Evaluation['graders'][number];
/** What is compared, and by what. */
export type Compared = Pick<Evaluation, 'candidates' | 'graders' | 'primary'>;
/** What the numbers of a grader are. */
export type Unit = 'share' | 'score' | 'usd' | 'seconds';

/** A verdict, or a change of one item: a sign and a word; the colour repeats them. */
interface Sign {
  mark: string;
  word: string;
  tone: 'good' | 'bad' | undefined;
}

const BETTER: Sign = { mark: '▲', word: 'better', tone: 'good' };
const WORSE: Sign = { mark: '▼', word: 'worse', tone: 'bad' };
const UNKNOWN: Sign = { mark: '?', word: 'not known', tone: undefined };
const SAME: Sign = { mark: '=', word: 'same', tone: undefined };

export const SIGN_OF: Readonly<Record<Comparison['verdict'], Sign>> = {
  better: BETTER,
  worse: WORSE,
  unknown: UNKNOWN,
};

export function signOfChange(change: number): Sign {
  return change === 0 ? SAME : change > 0 ? BETTER : WORSE;
}

/** True until nothing of it changes any more by itself. */
export const isOpen = ({ status }: Pick<Evaluation, 'status'>): boolean => status !== 'ended';

/** What a candidate changes: `model openai/gpt-6, thinking low`. */
export function changesText({ model, thinking, temperature, systemPrompt }: Candidate): string {
  const changes = [
    model === undefined ? [] : `model ${model}`,
    thinking === undefined ? [] : `thinking ${thinking}`,
    temperature === undefined ? [] : `temperature ${temperature}`,
    systemPrompt === undefined ? [] : 'its own system prompt',
  ].flat();
  return changes.length === 0 ? 'As it was recorded' : changes.join(', ');
}

export const nameOfGrader = ({ name, type }: Grader): string => name ?? type;

/** The one that decides. */
export function primaryOf({ graders, primary }: Pick<Evaluation, 'graders' | 'primary'>): Grader {
  // An evaluation has at least one grader.
  return graders.find((grader) => nameOfGrader(grader) === primary) ?? graders[0]!;
}

/** What the numbers of a grader are, by which candidates are compared. */
export function unitOf({ type }: Grader): Unit {
  return UNITS[type] ?? 'share';
}

const UNITS: Partial<Record<Grader['type'], Unit>> = { cost: 'usd', time: 'seconds', model: 'score' };

/** What a candidate did by one grader; a value of null: nothing. */
export interface Measure {
  unit: Unit;
  value: number | null;
  interval: GradeSummary['interval'];
}

/** The share of items that pass, or the mean where scores decide. */
export function measureOf({ graders }: Summary, grader: Grader): Measure {
  const unit = unitOf(grader);
  const { passRate = null, interval = null, mean = null } = graders.find(isOf(grader)) ?? {};
  return unit === 'share' ? { unit, value: passRate, interval } : { unit, value: mean, interval: null };
}

/** The share that passes, of a grader of scores that also says so; null: there is none. */
export function passText({ graders }: Summary, grader: Grader): string | null {
  const passRate = graders.find(isOf(grader))?.passRate ?? null;
  return unitOf(grader) === 'share' || passRate === null ? null : `${amountText(passRate, 'share')} pass`;
}

const isOf =
  (grader: Grader) =>
  ({ name }: GradeSummary): boolean =>
    name === nameOfGrader(grader);

/** The end of the scale on which all measures of a grader are drawn. */
export function topOf(measures: readonly Measure[]): number {
  if (measures.every(({ unit }) => unit === 'share' || unit === 'score')) return 1;
  const most = Math.max(0, ...measures.map(({ value }) => value ?? 0));
  return most === 0 ? 1 : most * 1.1;
}

export function amountText(amount: number | null, unit: Unit): string {
  if (amount === null) return '—';
  switch (unit) {
    case 'share':
      return `${tenths(amount * 100)} %`;
    case 'score':
      return amount.toFixed(2);
    case 'usd':
      return columnUsdText(amount);
    case 'seconds':
      return durationText(amount * 1_000);
    default:
      return unit satisfies never;
  }
}

/** `70.8 % to 84.1 %`. */
export function intervalText({ from, to }: { from: number; to: number }, unit: Unit): string {
  return `${amountText(from, unit)} to ${amountText(to, unit)}`;
}

/** A difference with its sign, shares in points: `+9.2 points`, `−$0.0116`. */
export function differenceText(difference: number | null, unit: Unit): string {
  if (difference === null) return '—';
  const sign = difference > 0 ? '+' : difference < 0 ? '−' : '';
  const size = Math.abs(difference);
  return `${sign}${unit === 'share' ? `${tenths(size)} points` : amountText(size, unit)}`;
}

/** `43 % less` than the baseline; null: one of them is not known, or there is no more or less. */
export function relativeText(amount: number | null, before: number | null): string | null {
  if (amount === null || before === null || before === 0) return null;
  const percent = Math.round((amount / before - 1) * 100);
  return percent === 0 ? 'the same' : `${countText(Math.abs(percent))} % ${percent < 0 ? 'less' : 'more'}`;
}

/** What a run cost on average; null: not known. */
export function costOfRun({ costUsd, runs }: Summary): number | null {
  return costUsd === null || runs === 0 ? null : costUsd / runs;
}

/** A probability as it is reported: `0.013`, `<0.001`. */
export function probabilityText(p: number | null): string {
  if (p === null) return '—';
  return p < 0.001 ? '<0.001' : p.toPrecision(2);
}

const tenths = (value: number): string => String(Math.round(value * 10) / 10);
