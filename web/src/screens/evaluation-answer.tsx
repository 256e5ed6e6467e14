// The answer of an evaluation as a picture: a bar for each candidate with its interval, the verdict
// in words, and its cost and time against the baseline. Tables below it have all numbers.
import type { CSSProperties, ReactElement } from 'react';
import { countText, namedCountText, usdText } from '../format/amounts.ts';
import { durationText } from '../format/time.ts';
import { Panel, PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { Verdict } from './evaluation-parts.tsx';
import {
  amountText,
  changesText,
  costOfRun,
  differenceText,
  intervalText,
  measureOf,
  nameOfGrader,
  passText,
  primaryOf,
  probabilityText,
  relativeText,
  SIGN_OF,
  topOf,
  unitOf,
  type Candidate,
  type Comparison,
  type Evaluation,
  type Grader,
  type Measure,
  type Summary,
  type Unit,
} from './evaluation-words.ts';

/** Where the scale is marked. */
const MARKS = [0, 0.25, 0.5, 0.75, 1];

export function Answer({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { candidates, graders, primary, results, counts } = evaluation;
  const grader = primaryOf(evaluation);
  const measures = results.map((summary) => measureOf(summary, grader));
  const top = topOf(measures);
  const unit = unitOf(grader);
  const before = measures[0]?.value ?? null;
  const style = { '--before': before === null ? undefined : percent(before, top) } as CSSProperties;
  return (
    <>
      <Panel title="Answer" className="answer">
        <p className="soft">
          {unit === 'share' ? 'Share of items that pass' : 'Mean'} by <SafeText text={primary} />, of{' '}
          {namedCountText(counts.items, 'item')}.{unit === 'share' && ' A whisker is a 95 % interval.'}
          {results.length > 1 && ' The broken line is the baseline.'}
        </p>
        <div className="gauge-marks" aria-hidden>
          {MARKS.map((mark) => (
            <span key={mark}>{amountText(mark * top, unit)}</span>
          ))}
        </div>
        <ol className="candidates" aria-label="Candidates" style={style}>
          {results.map((summary, at) => (
            <CandidateRow
              key={summary.name}
              summary={summary}
              candidate={candidates[at]}
              // There is one for each.
              measure={measures[at]!}
              top={top}
              baseline={results[0]!}
            />
          ))}
        </ol>
        <Comparisons results={results} unit={unit} />
      </Panel>
      {graders.length > 1 && <GraderTable evaluation={evaluation} />}
    </>
  );
}

interface CandidateRowProps {
  summary: Summary;
  /** What it changes; absent: not known. */
  candidate: Candidate | undefined;
  measure: Measure;
  top: number;
  baseline: Summary;
}

function CandidateRow({ summary, candidate, measure, top, baseline }: CandidateRowProps): ReactElement {
  const { name, comparison } = summary;
  const prompt = candidate?.systemPrompt;
  return (
    <li className="candidate" data-tone={comparison === null ? undefined : SIGN_OF[comparison.verdict].tone}>
      <div className="candidate-name">
        <h3>
          <SafeText text={name} />
        </h3>
        <p className="soft">{candidate !== undefined && <SafeText text={changesText(candidate)} />}</p>
      </div>
      <Gauge measure={measure} top={top} isBaseline={comparison === null} />
      <p className="candidate-value">
        <strong>{amountText(measure.value, measure.unit)}</strong>
        {measure.interval !== null && <small className="soft">{intervalText(measure.interval, measure.unit)}</small>}
      </p>
      <p className="candidate-verdict">
        {comparison === null ? (
          <span className="soft">The baseline</span>
        ) : (
          <>
            <Verdict verdict={comparison.verdict} /> <SafeText text={withoutVerdict(comparison)} />
          </>
        )}
      </p>
      <Costs summary={summary} baseline={baseline} />
      {prompt !== undefined && (
        <details className="candidate-prompt">
          <summary className="soft">System prompt, {countText(prompt.length)} characters</summary>
          <LongText text={prompt} />
        </details>
      )}
    </li>
  );
}

/** The sentence without the verdict at its beginning, which the chip beside it says. */
function withoutVerdict({ text }: Comparison): string {
  const rest = text.replace(/^(?:Better|Worse|Not known): /, '');
  return `${rest.charAt(0).toUpperCase()}${rest.slice(1)}`;
}

const percent = (value: number, top: number): string =>
  `${Math.max(0, Math.min(100, (value / top) * 100)).toFixed(2)}%`;

function Gauge(props: { measure: Measure; top: number; isBaseline: boolean }): ReactElement {
  const { measure, top, isBaseline } = props;
  const { value, interval, unit } = measure;
  const name = [
    value === null ? 'not known' : amountText(value, unit),
    ...(interval === null ? [] : [`95 % interval ${intervalText(interval, unit)}`]),
  ].join(', ');
  return (
    <div className="gauge" role="img" aria-label={name} data-baseline={isBaseline || undefined}>
      {value !== null && <span className="gauge-bar" style={{ width: percent(value, top) }} />}
      {interval !== null && (
        <span
          className="gauge-interval"
          style={{ left: percent(interval.from, top), width: percent(interval.to - interval.from, top) }}
        />
      )}
    </div>
  );
}

/** What its runs cost and took against the baseline, and how many of them went another way. */
function Costs({ summary, baseline }: { summary: Summary; baseline: Summary }): ReactElement {
  const { runs, diverged, failed, costUsd, seconds, cost, time } = summary;
  return (
    <dl className="candidate-facts">
      <div>
        <dt>Cost</dt>
        <dd>
          {usdText(costUsd)} <Against of={cost} text={relativeText(costOfRun(summary), costOfRun(baseline))} />
        </dd>
      </div>
      <div>
        <dt>Time of a run</dt>
        <dd>
          {seconds === null ? '—' : durationText(seconds * 1_000)}{' '}
          <Against of={time} text={relativeText(seconds, baseline.seconds)} />
        </dd>
      </div>
      <div>
        <dt>Diverged</dt>
        <dd data-tone={diverged > 0 ? 'warn' : undefined}>
          {countText(diverged)} <span className="soft">of {countText(runs)} runs</span>
        </dd>
      </div>
      <div>
        <dt>Failed</dt>
        <dd data-tone={failed > 0 ? 'bad' : undefined}>{countText(failed)}</dd>
      </div>
    </dl>
  );
}

/** How much more or less than the baseline, and whether that is known; nothing for the baseline. */
function Against({ of, text }: { of: Comparison | null; text: string | null }): ReactElement | null {
  if (of === null || text === null) return null;
  const { mark, word, tone } = SIGN_OF[of.verdict];
  return (
    <span className="against" data-tone={tone}>
      {tone !== undefined && <span aria-hidden>{mark} </span>}
      {text}, {word}
    </span>
  );
}

interface ComparisonRow {
  candidate: string;
  of: string;
  comparison: Comparison;
  unit: Unit;
}

const TESTS: Readonly<Record<Comparison['test'], string>> = {
  mcnemar: 'McNemar, exact',
  'sign-flip': 'flips of signs',
};

const COMPARISON_COLUMNS: readonly PlainColumn<ComparisonRow>[] = [
  {
    title: 'Candidate',
    cell: ({ candidate, of }) => (
      <>
        <SafeText text={candidate} /> <span className="soft">{of}</span>
      </>
    ),
  },
  { title: 'Verdict', cell: ({ comparison: { verdict } }) => <Verdict verdict={verdict} /> },
  {
    title: 'Difference',
    isNumber: true,
    cell: ({ comparison: { difference }, unit }) => differenceText(difference, unit),
  },
  {
    title: '95 % interval',
    isNumber: true,
    cell: ({ comparison: { interval }, unit }) =>
      interval === null ? '—' : `${differenceText(interval.from, unit)} to ${differenceText(interval.to, unit)}`,
  },
  { title: 'p', isNumber: true, cell: ({ comparison: { p } }) => probabilityText(p) },
  { title: 'Adjusted p', isNumber: true, cell: ({ comparison: { adjustedP } }) => probabilityText(adjustedP) },
  { title: 'Test', cell: ({ comparison: { test } }) => TESTS[test] },
  { title: 'Better', isNumber: true, cell: ({ comparison: { better } }) => countText(better) },
  { title: 'Worse', isNumber: true, cell: ({ comparison: { worse } }) => countText(worse) },
  {
    title: 'Items',
    isNumber: true,
    cell: ({ comparison: { items, groups } }) =>
      items === groups ? countText(items) : `${countText(items)} of ${countText(groups)} conversations`,
  },
  {
    title: 'Would show',
    isNumber: true,
    cell: ({ comparison: { detectable }, unit }) => (detectable === null ? '—' : differenceText(detectable, unit)),
  },
  {
    title: 'Items needed',
    isNumber: true,
    cell: ({ comparison: { itemsNeeded } }) => (itemsNeeded === null ? '—' : countText(itemsNeeded)),
  },
];

/** All numbers of the comparisons. */
function Comparisons({ results, unit }: { results: readonly Summary[]; unit: Unit }): ReactElement | null {
  const rows = results.flatMap(({ name, comparison, cost, time }): ComparisonRow[] =>
    [
      { candidate: name, of: '', comparison, unit },
      { candidate: name, of: 'cost', comparison: cost, unit: 'usd' as const },
      { candidate: name, of: 'time', comparison: time, unit: 'seconds' as const },
    ].flatMap(({ comparison: compared, ...row }) => (compared === null ? [] : { ...row, comparison: compared })),
  );
  if (rows.length === 0) return null;
  return (
    <details className="comparisons">
      <summary>Numbers of the comparisons</summary>
      <div className="scroll-x" tabIndex={0} role="region" aria-label="Numbers of the comparisons">
        <PlainTable columns={COMPARISON_COLUMNS} rows={rows} idOf={({ candidate, of }) => `${candidate} ${of}`} />
      </div>
    </details>
  );
}

/** What every grader says of every candidate. */
function GraderTable({ evaluation: { graders, results, primary } }: { evaluation: Evaluation }): ReactElement {
  const columns: PlainColumn<Grader>[] = [
    {
      title: 'Grader',
      cell: (grader) => (
        <>
          {nameOfGrader(grader)}
          {nameOfGrader(grader) === primary && <span className="soft"> decides</span>}
        </>
      ),
    },
    ...results.map((summary): PlainColumn<Grader> => ({
      title: summary.name,
      isNumber: true,
      cell: (grader) => {
        const { value, unit, interval } = measureOf(summary, grader);
        const passes = passText(summary, grader);
        return (
          <>
            {amountText(value, unit)}{' '}
            {interval !== null && <small className="soft">({intervalText(interval, unit)})</small>}
            {passes !== null && <small className="soft">({passes})</small>}
          </>
        );
      },
    })),
  ];
  return (
    <Panel title="All graders">
      <div className="scroll-x" tabIndex={0} role="region" aria-label="What all graders say">
        <PlainTable columns={columns} rows={graders} idOf={nameOfGrader} />
      </div>
    </Panel>
  );
}
