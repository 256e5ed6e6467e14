// An item beside the list: what was asked, expected and recorded; and what each candidate answered,
// compared with the baseline, with its calls, its grades, and where it left the recorded turn.
import { useEffect, useRef, type ReactElement } from 'react';
import { columnUsdText } from '../format/amounts.ts';
import { jsonText } from '../format/json-text.ts';
import { durationText } from '../format/time.ts';
import { Chip, Empty, Facts } from '../parts/bits.tsx';
import { TurnLink } from '../parts/links.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { PanelHead } from '../parts/side-panel.tsx';
import { ChangeChip, Passed } from './evaluation-parts.tsx';
import { primaryOf, type Compared, type Result } from './evaluation-words.ts';
import { TextDifference } from './text-difference.tsx';

type Tried = Result['candidates'][number];
type Run = Tried['runs'][number];

interface ItemPanelProps {
  row: Result;
  evaluation: Compared;
  onClose: () => void;
}

export function ItemPanel({ row, evaluation, onClose }: ItemPanelProps): ReactElement {
  const { candidates, primary } = evaluation;
  const { n, change, candidates: tried } = row;
  const baseline = tried[0];
  const section = useRef<HTMLElement>(null);
  // By a link, the list with its item is opened below what the window shows.
  useEffect(() => {
    if ((section.current?.getBoundingClientRect().top ?? 0) > innerHeight / 2) section.current?.scrollIntoView();
  }, []);
  return (
    <section ref={section} className="approval evaluation-item" aria-labelledby="opened">
      <PanelHead onClose={onClose}>
        <h2 id="opened">Item {n}</h2>
        {candidates.length > 1 && <ChangeChip change={change} />}
      </PanelHead>
      <Asked row={row} />
      {tried.map((each) => (
        <section key={each.name} className="tried" aria-label={each.name}>
          <div className="row">
            <h3>
              <SafeText text={each.name} />
            </h3>
            <Passed of={each} grader={primaryOf(evaluation)} />
            {each === baseline && candidates.length > 1 && <span className="soft">the baseline</span>}
          </div>
          {each.runs.length === 0 && <p className="soft">None of its runs has ended.</p>}
          {each.runs.map((run) => (
            <RunDetails
              key={run.repeat}
              name={each.name}
              run={run}
              primary={primary}
              before={each === baseline ? undefined : baseline?.runs.find(({ repeat }) => repeat === run.repeat)}
            />
          ))}
        </section>
      ))}
    </section>
  );
}

function Asked({ row: { input, expected, recorded, turnId, tags } }: { row: Result }): ReactElement {
  if (input === null) return <Empty>This item is erased: its words are gone, its grades are kept.</Empty>;
  return (
    <>
      <h3>Input</h3>
      <LongText text={input} />
      {expected != null && (
        <>
          <h3>Expected</h3>
          <LongText text={typeof expected === 'string' ? expected : jsonText(expected)} />
        </>
      )}
      {recorded !== null && (
        <details>
          <summary>Recorded answer</summary>
          <LongText text={recorded} />
        </details>
      )}
      <Facts
        facts={{
          'Copied from': turnId !== null && <TurnLink id={turnId} />,
          Tags:
            Object.keys(tags).length > 0 &&
            Object.entries(tags).map(([key, value]) => (
              <Chip key={key}>
                <SafeText text={`${key}: ${value}`} />
              </Chip>
            )),
        }}
      />
    </>
  );
}

interface RunDetailsProps {
  /** The name of the candidate. */
  name: string;
  run: Run;
  primary: string;
  /** The run of the baseline with which it is compared; absent: it is one of the baseline. */
  before: Run | undefined;
}

/** The first repeat is open. */
function RunDetails({ name, run, primary, before }: RunDetailsProps): ReactElement {
  const { repeat, status, turnId, reply, divergence, calls, error, costUsd, seconds, grades } = run;
  const decides = grades.find((one) => one.name === primary);
  return (
    <details className="part" open={repeat === 1}>
      <summary className="row">
        <strong>Run {repeat}</strong>
        {status !== 'answered' && (
          <Chip tone={status === 'failed' ? 'bad' : 'warn'} data-dot>
            {status}
          </Chip>
        )}
        {decides !== undefined && <PassMark pass={decides.pass} score={decides.score} />}
        <span className="soft">
          {columnUsdText(costUsd)}
          {seconds !== null && `, ${durationText(seconds * 1_000)}`}
        </span>
      </summary>
      {turnId !== null && (
        <p>
          <TurnLink id={turnId} />
        </p>
      )}
      {error !== null && (
        <p data-tone="bad">
          <strong>{error.code}</strong> <SafeText text={error.message} />
        </p>
      )}
      {divergence !== null && <Divergence of={divergence} />}
      <h4>{before === undefined ? 'Reply' : 'Reply, compared with the baseline'}</h4>
      {reply === null ? (
        <p className="soft">It has no reply.</p>
      ) : before?.reply == null ? (
        <LongText text={reply} />
      ) : (
        <>
          {before.reply === reply && <p className="soft">The same as the reply of the baseline.</p>}
          <TextDifference a={before.reply} b={reply} names={{ A: 'the baseline', B: name }} />
        </>
      )}
      {calls.length > 0 && (
        <>
          <h4>Calls of tools</h4>
          <ol className="calls">
            {calls.map((call, at) => (
              <li key={at} className="mono">
                <SafeText text={call} />
              </li>
            ))}
          </ol>
        </>
      )}
      <h4>Grades</h4>
      <ul className="grades">
        {grades.map(({ name: grader, pass, score, reason }) => (
          <li key={grader}>
            <strong>
              <SafeText text={grader} />
            </strong>{' '}
            <PassMark pass={pass} score={score} /> <SafeText text={reason} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function PassMark({ pass, score }: Pick<Run['grades'][number], 'pass' | 'score'>): ReactElement | null {
  if (pass === null) return score === null ? null : <Chip>{String(Number(score.toPrecision(3)))}</Chip>;
  return <Chip tone={pass ? 'good' : 'bad'}>{pass ? '✓ passed' : '✗ not passed'}</Chip>;
}

const KINDS: Readonly<Record<NonNullable<Run['divergence']>['kind'], string>> = {
  call: 'it made a call that was not recorded',
  ended: 'it answered where a tool was called',
  continued: 'it called a tool where the recorded turn answered',
};

/** Where it first did something else than was recorded. */
function Divergence({ of }: { of: NonNullable<Run['divergence']> }): ReactElement {
  const { step, kind, expected, got } = of;
  return (
    <div className="divergence">
      <p>
        First divergence: at step {step} {KINDS[kind]}.
      </p>
      <dl>
        <dt>Recorded</dt>
        <dd className="mono">{expected === null ? 'nothing' : <SafeText text={expected} />}</dd>
        <dt>Got</dt>
        <dd className="mono">{got === null ? 'nothing' : <SafeText text={got} />}</dd>
      </dl>
    </div>
  );
}
