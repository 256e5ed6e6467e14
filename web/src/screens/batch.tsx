// One batch: its progress and cost, its submissions to the provider, its failures, and its items.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type Batch } from '../api.ts';
import { countText, microsOf, percentText, usdText } from '../format/amounts.ts';
import { ageText } from '../format/time.ts';
import { useCanAct } from '../me.ts';
import { Age, Cost, Facts, Figure, Status, Time, TONES } from '../parts/bits.tsx';
import { DialogButton } from '../parts/dialog-button.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel, PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Tags } from '../parts/tags.tsx';
import { BatchActions, RetryFailed } from './batch-actions.tsx';
import { endedItems } from './batch-columns.tsx';
import { BatchItems } from './batch-items.tsx';

const route = getRouteApi('/app/batches/$id');

export function BatchScreen(): ReactElement {
  const { id } = route.useParams();
  const batch = useQuery({ queryKey: ['batches', id], queryFn: () => api.getBatch({ id }) });
  if (batch.isError || batch.data === undefined)
    return (
      <>
        <h1>Batch</h1>
        <NoData query={batch} />
      </>
    );
  return <BatchView batch={batch.data} />;
}

function BatchView({ batch }: { batch: Batch }): ReactElement {
  const canAct = useCanAct();
  const { id, name, status, outcome, counts, pauseReason, pauseDetail } = batch;
  return (
    <>
      <div className="row">
        <h1>
          <SafeText text={name ?? 'Batch'} />
        </h1>
        <Status status={outcome ?? status} />
        <span className="row end">
          <a className="button" href={`/v1/batches/${id}/results`} download={`${id}.jsonl`}>
            Download results
          </a>
          {canAct && <BatchActions batch={batch} />}
        </span>
      </div>
      {pauseReason !== null && (
        <p className="banner" role="status">
          Paused: <strong>{pauseReason}</strong> <SafeText text={pauseDetail ?? ''} />
        </p>
      )}
      <ItemsBar counts={counts} />
      <Figures batch={batch} />
      <Failures batch={batch} canRetry={canAct} />
      <Hops of={batch} />
      <BatchFacts batch={batch} />
      <BatchItems id={id} />
    </>
  );
}

/** How the items have ended, and what the others do: those that failed are the red part. */
function ItemsBar({ counts }: Pick<Batch, 'counts'>): ReactElement {
  const states = CHOICES.listBatchItems.status
    .filter((state) => counts[state] > 0)
    .toSorted((one, other) => placeOf(one) - placeOf(other));
  return (
    <div className="items-bar">
      <div
        className="share-bar"
        role="progressbar"
        aria-label={`${endedItems(counts)} of ${counts.total} items have ended`}
        aria-valuemin={0}
        aria-valuemax={Math.max(1, counts.total)}
        aria-valuenow={endedItems(counts)}
      >
        {states.map((state) => (
          <span key={state} data-tone={TONE_OF[state]} style={{ flexGrow: counts[state] }} />
        ))}
      </div>
      <ul className="row" aria-label="Items by state">
        {states.map((state) => (
          <li key={state}>
            <Link to="." search={(before: object) => ({ ...before, status: state }) as never} className="share-key">
              <i data-tone={TONE_OF[state]} aria-hidden />
              {state} <strong>{countText(counts[state])}</strong>
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Items that have not begun are no trouble. */
const TONE_OF: Readonly<Record<string, string | undefined>> = { ...TONES, pending: undefined };
const ORDER: readonly string[] = [
  'answered',
  'silent',
  'failed',
  'expired',
  'cancelled',
  'running',
  'parked',
  'waiting',
];
/** Items that have not begun stand last. */
const placeOf = (state: string): number => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length);

function Figures({ batch }: { batch: Batch }): ReactElement {
  const { counts, followUps, ratePerMinute, eta, maxCostUsd, reservedUsd, expectedCostUsd } = batch;
  const { liveCostUsd, savedPercent, wastedUsd } = batch;
  return (
    <dl className="figures">
      <Figure
        name="Ended items"
        note={`of ${countText(counts.total)}${followUps === 0 ? '' : `, ${countText(followUps)} follow-ups`}`}
      >
        {percentText(endedItems(counts), counts.total)}
      </Figure>
      <Figure name="Items a minute">{ratePerMinute === null ? '—' : countText(Math.round(ratePerMinute))}</Figure>
      <Figure name="Ends" note={eta === null ? undefined : `at the latest ${ageText(eta.to)}`}>
        {batch.endedAt === null ? eta === null ? '—' : ageText(eta.from) : <Age at={batch.endedAt} />}
      </Figure>
      <Figure
        name="Cost"
        note={`${maxCostUsd === null ? 'no cap' : `cap ${usdText(maxCostUsd)}`}, reserved ${usdText(reservedUsd)}`}
      >
        <Cost of={batch} />
      </Figure>
      {expectedCostUsd !== null && <Figure name="Expected in all">{usdText(expectedCostUsd)}</Figure>}
      {liveCostUsd !== null && (
        <Figure
          name="Live it would cost"
          note={savedPercent === null ? undefined : `saved ${savedPercent} %, wasted ${usdText(wastedUsd)}`}
        >
          {usdText(liveCostUsd)}
        </Figure>
      )}
    </dl>
  );
}

function BatchFacts({ batch }: { batch: Batch }): ReactElement {
  const { pilot, deadlineAt, endedAt } = batch;
  return (
    <details className="panel turn-facts">
      <summary>
        Facts: {batch.via}, <SafeText text={batch.agentId} />, submitted <Age at={batch.createdAt} /> by{' '}
        <SafeText text={batch.createdBy ?? 'another key'} />
      </summary>
      <Facts
        facts={{
          Id: <span className="mono">{batch.id}</span>,
          Way: batch.via,
          Agent: batch.agentId,
          'In flight at most': batch.concurrency,
          Slots: batch.slots,
          Weight: batch.weight,
          Tags: Object.keys(batch.tags).length > 0 && <Tags tags={batch.tags} />,
          Pilot: pilot !== null && `${pilot} items`,
          'Pauses at': `${batch.maxFailurePercent} % failed`,
          Deadline: deadlineAt !== null && <Time at={deadlineAt} />,
          Submitted: (
            <>
              <Time at={batch.createdAt} /> by <SafeText text={batch.createdBy ?? 'another key'} />
            </>
          ),
          Ended: endedAt !== null && <Time at={endedAt} />,
        }}
      />
    </details>
  );
}

function Failures({ batch, canRetry }: { batch: Batch; canRetry: boolean }): ReactElement | null {
  if (batch.errors.length === 0) return null;
  return (
    <Panel title="Failures">
      <ul className="states">
        {batch.errors.map((group) => (
          <li key={group.code}>
            <span>
              {countText(group.count)} ×{' '}
              <Link to="." search={(before: object) => ({ ...before, status: 'failed', code: group.code }) as never}>
                <span className="mono">{group.code}</span>
              </Link>{' '}
              <SafeText text={group.sample} />
            </span>
            {canRetry && batch.status !== 'cancelling' && (
              <DialogButton
                dialog={(close) => <RetryFailed id={batch.id} code={group.code} count={group.count} onClose={close} />}
              >
                Retry these…
              </DialogButton>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

type Hop = Batch['hops'][number];

const HOP_COLUMNS: readonly PlainColumn<Hop>[] = [
  { title: 'Call', cell: ({ n }) => n },
  { title: 'Way', cell: ({ via }) => via },
  { title: 'Requests', cell: ({ requests }) => countText(requests) },
  {
    title: 'From the cache',
    cell: ({ cacheHitRate }) => (cacheHitRate === null ? 'not known' : percentText(cacheHitRate, 1)),
  },
  { title: 'Submitted', cell: ({ submittedAt }) => <Age at={submittedAt} /> },
  { title: 'Why', cell: ({ reason }) => <SafeText text={reason} /> },
  { title: 'Ids of the provider', className: 'mono', cell: ({ providerBatchIds }) => providerBatchIds.join(' ') },
];

/**
 * Whether the calls of one round were simulated is not stored: what is known of the batch counts.
 */
function Hops({ of: { hops, simulated } }: { of: Batch }): ReactElement | null {
  if (hops.length === 0) return null;
  const cost: PlainColumn<Hop> = {
    title: 'Cost',
    cell: ({ costUsd }) => <Cost of={{ costMicros: microsOf(costUsd), simulated }} isInColumn />,
  };
  return (
    <Panel title="Rounds" className="scroll-x" tabIndex={0}>
      <PlainTable columns={HOP_COLUMNS.toSpliced(4, 0, cost)} rows={hops} idOf={({ n, via }) => `${n} ${via}`} />
    </Panel>
  );
}
