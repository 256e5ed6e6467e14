// One evaluation: the answer as a picture, how far it is, its facts, and its items, the worst first.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, exactApi } from '../api.ts';
import { countText, namedCountText, usdText } from '../format/amounts.ts';
import { jsonText } from '../format/json-text.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { useCanAct } from '../me.ts';
import { useSettings } from '../settings.tsx';
import { Age, Empty, Facts, Figure, Time } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmButton } from '../parts/dialog-button.tsx';
import { NoData } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useActions } from '../parts/use-actions.tsx';
import { Answer } from './evaluation-answer.tsx';
import { EvaluationItems } from './evaluation-items.tsx';
import { EvaluationStatus, progressOf } from './evaluation-parts.tsx';
import { isOpen, nameOfGrader, type Evaluation } from './evaluation-words.ts';
import '../styles/evaluations.css';

const route = getRouteApi('/app/evaluations/$id');
/** There are no events about evaluations. */
const REREAD_MS = 2_000;

const SPLITS: Readonly<Record<Evaluation['split'], string>> = {
  work: 'the part to work with',
  heldBack: 'the part that is held back',
  all: 'all of it',
};

export function EvaluationScreen(): ReactElement {
  const { id } = route.useParams();
  const { isLive } = useSettings();
  const evaluation = useQuery({
    queryKey: ['evaluations', id],
    queryFn: () => exactApi.getEvaluation({ id }),
    refetchInterval: ({ state: { data } }) => isLive && data !== undefined && isOpen(data) && REREAD_MS,
  });
  if (evaluation.data === undefined)
    return (
      <>
        <h1>Evaluation</h1>
        <NoData query={evaluation} />
      </>
    );
  return <EvaluationView evaluation={evaluation.data} />;
}

function EvaluationView({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { name, status, detail, dataset, candidates, results, counts, batchId } = evaluation;
  const canAct = useCanAct();
  return (
    <>
      <div className="row">
        <h1>
          <SafeText text={name ?? 'Evaluation'} />
        </h1>
        <EvaluationStatus of={evaluation} />
        <span className="soft">
          {namedCountText(candidates.length, 'candidate')} on{' '}
          <Link to="/evaluations" search={{ dataset: dataset.name }}>
            <SafeText text={dataset.name} />
          </Link>{' '}
          v{dataset.version}
        </span>
        {canAct && isOpen(evaluation) && (
          <span className="row end">
            <Actions evaluation={evaluation} />
          </span>
        )}
      </div>
      {detail !== null && (
        <p className="banner" role="status" data-tone={status === 'ended' ? 'bad' : undefined}>
          {status === 'paused' && 'Paused: '}
          <SafeText text={detail} />
          {status === 'paused' && batchId !== null && (
            <>
              {' '}
              Its runs are in <BatchLink id={batchId} />.
            </>
          )}
        </p>
      )}
      {isOpen(evaluation) && <ProgressBar evaluation={evaluation} />}
      {results.length > 0 && <Answer evaluation={evaluation} />}
      <Figures evaluation={evaluation} />
      <EvaluationFacts evaluation={evaluation} />
      {counts.ended > 0 ? <EvaluationItems evaluation={evaluation} /> : <NoRun evaluation={evaluation} />}
    </>
  );
}

function Actions({ evaluation: { id, status, counts } }: { evaluation: Evaluation }): ReactElement {
  const { act, isBusy, problem } = useActions('evaluations');
  const left = counts.runs - counts.ended;
  return (
    <>
      {(status === 'running' || status === 'judging') && (
        <Button disabled={isBusy} onClick={() => act(() => api.pauseEvaluation({ id }))}>
          Pause evaluation
        </Button>
      )}
      {status === 'paused' && (
        <Button tone="main" disabled={isBusy} onClick={() => act(() => api.resumeEvaluation({ id }))}>
          Resume evaluation
        </Button>
      )}
      <CancelButton id={id} left={left} />
      {problem}
    </>
  );
}

function CancelButton({ id, left }: { id: string; left: number }): ReactElement {
  const queries = useQueryClient();
  return (
    <ConfirmButton
      name="Cancel…"
      buttonTone="bad"
      title={left > 0 ? `Cancel ${namedCountText(left, 'run')} that have not ended?` : 'Cancel this evaluation?'}
      verb="Cancel evaluation"
      perform={async () => {
        await api.cancelEvaluation({ id });
        await queries.invalidateQueries({ queryKey: ['evaluations'] });
      }}
    >
      <p>Runs in flight are stopped. Those that have ended are graded and kept.</p>
    </ConfirmButton>
  );
}

function ProgressBar({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { status } = evaluation;
  const { name, done, all } = progressOf(evaluation);
  return (
    <div className="items-bar">
      <div
        className="share-bar"
        role="progressbar"
        aria-label={name}
        aria-valuemin={0}
        aria-valuemax={Math.max(1, all)}
        aria-valuenow={done}
        aria-valuetext={`${countText(done)} of ${countText(all)}`}
      >
        {done > 0 && <span data-tone="live" style={{ flexGrow: done }} />}
        {/* Of the empty part. */}
        <span className="rest" style={{ flexGrow: all - done }} />
      </div>
      <p className="soft">
        {status === 'preparing'
          ? 'Its items are being prepared.'
          : `${name}: ${countText(done)} of ${countText(all)}. The answer is computed when all have ended.`}
      </p>
    </div>
  );
}

function Figures({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { counts, repeats, costUsd, judgingCostUsd, costCapUsd, createdAt, endedAt } = evaluation;
  const left = [
    counts.excluded > 0 && `${countText(counts.excluded)} excluded`,
    counts.erased > 0 && `${countText(counts.erased)} erased`,
  ].filter((text) => text !== false);
  const judging = judgingCostUsd === null || judgingCostUsd === 0 ? '' : `, judging ${usdText(judgingCostUsd)}`;
  return (
    <dl className="figures">
      <Figure name="Items" note={left.length === 0 ? 'none left out' : left.join(', ')}>
        {countText(counts.items)}
      </Figure>
      <Figure name="Ended runs" note={`of ${countText(counts.runs)}, ${repeats} of each`}>
        {countText(counts.ended)}
      </Figure>
      <Figure name="Cost" note={`${costCapUsd === null ? 'no cap' : `cap ${usdText(costCapUsd)}`}${judging}`}>
        {usdText(costUsd)}
      </Figure>
      <Figure name={endedAt === null ? 'Has taken' : 'Took'} note={<Age at={createdAt} />}>
        {durationText(lengthMs(createdAt, endedAt))}
      </Figure>
    </dl>
  );
}

function EvaluationFacts({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { id, split, graders, primary, effect, batchId, judgingBatchId, createdBy, createdAt, endedAt } = evaluation;
  return (
    <details className="panel turn-facts">
      <summary>
        Facts: graded by {graders.map(nameOfGrader).join(', ')}, started <Age at={createdAt} /> by{' '}
        <SafeText text={createdBy ?? 'another key'} />
      </summary>
      <Facts
        facts={{
          Id: <span className="mono">{id}</span>,
          'Part of the data set': SPLITS[split],
          'Grader that decides': <SafeText text={primary} />,
          'Smallest difference that matters': `${effect} points`,
          'Batch of its runs': batchId !== null && <BatchLink id={batchId} />,
          'Batch of its judgements': judgingBatchId !== null && <BatchLink id={judgingBatchId} />,
          Started: <Time at={createdAt} />,
          Ended: endedAt !== null && <Time at={endedAt} />,
        }}
      />
      <details>
        <summary>Graders, as they were asked for</summary>
        <pre tabIndex={0}>
          <SafeText text={jsonText(graders)} />
        </pre>
      </details>
    </details>
  );
}

function BatchLink({ id }: { id: string }): ReactElement {
  return (
    <Link to="/batches/$id" params={{ id }}>
      batch {id.slice(-6)}
    </Link>
  );
}

function NoRun({ evaluation: { status, id } }: { evaluation: Evaluation }): ReactElement {
  if (status === 'ended') return <Empty>It has ended before any of its runs.</Empty>;
  return (
    <Empty command={`npx holdfast eval show ${id} --wait`}>
      No run has ended yet. Items appear here, the worst first, when their runs have ended. This command waits for the
      answer in a terminal:
    </Empty>
  );
}
