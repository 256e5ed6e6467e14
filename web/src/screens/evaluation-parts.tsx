// What the list of evaluations and the screen of one share: states, verdicts and progress.
import type { ReactElement } from 'react';
import { countText } from '../format/amounts.ts';
import { Chip, Status, TONES } from '../parts/bits.tsx';
import {
  amountText,
  nameOfGrader,
  SIGN_OF,
  signOfChange,
  unitOf,
  type Comparison,
  type Evaluation,
  type Grader,
  type Result,
} from './evaluation-words.ts';

/** How it ended, or what it does. */
export function EvaluationStatus({ of: { status, outcome } }: { of: Evaluation }): ReactElement {
  const isAtWork = status === 'preparing' || status === 'judging';
  return isAtWork ? (
    <Chip tone={TONES['running']} data-dot>
      {status}
    </Chip>
  ) : (
    <Status status={outcome ?? status} />
  );
}

export function Verdict({ verdict }: Pick<Comparison, 'verdict'>): ReactElement {
  return <SignChip sign={SIGN_OF[verdict]} />;
}

/** What became of one item. */
export function ChangeChip({ change }: { change: number }): ReactElement {
  return <SignChip sign={signOfChange(change)} />;
}

function SignChip({ sign: { mark, word, tone } }: { sign: ReturnType<typeof signOfChange> }): ReactElement {
  return (
    <Chip tone={tone}>
      <span aria-hidden>{mark}</span> {word}
    </Chip>
  );
}

/**
 * How many of the repeats of a candidate have passed by the grader that decides, or their mean where
 * scores do; and whether one of them diverged or failed.
 */
export function Passed({ of, grader }: { of: Result['candidates'][number]; grader: Grader }): ReactElement {
  const { passed, score, runs } = of;
  const unit = unitOf(grader);
  const others = [...new Set(runs.flatMap(({ status }) => (status === 'answered' ? [] : status)))];
  return (
    <>
      {unit !== 'share' ? (
        amountText(score, unit)
      ) : passed === null ? (
        '—'
      ) : (
        <span className="passed" data-tone={passed ? 'good' : 'bad'}>
          <span aria-hidden>{passed ? '✓' : '✗'}</span>
          <span className="hidden-visually">{passed ? 'passed' : 'not passed'}</span> {passesOf(runs, grader)} of{' '}
          {runs.length}
        </span>
      )}
      {others.length > 0 && <small className="soft"> {others.join(', ')}</small>}
    </>
  );
}

function passesOf(runs: Result['candidates'][number]['runs'], grader: Grader): number {
  const name = nameOfGrader(grader);
  return runs.filter(({ grades }) => grades.find((grade) => grade.name === name)?.pass === true).length;
}

/** How many of its runs have ended, and while models judge, how many judgements were given. */
export function progressOf({ status, counts }: Evaluation): { name: string; done: number; all: number } {
  return status === 'judging'
    ? { name: 'Judgements', done: counts.judged, all: counts.judgements }
    : { name: 'Ended runs', done: counts.ended, all: counts.runs };
}

export function Progress({ of }: { of: Evaluation }): ReactElement {
  const { name, done, all } = progressOf(of);
  return (
    <>
      <progress value={done} max={Math.max(1, all)} aria-label={name} /> {countText(done)} of {countText(all)}
      {of.status === 'judging' && ' judged'}
    </>
  );
}
