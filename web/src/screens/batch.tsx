// One batch: its progress and cost, its submissions to the provider, its failures, and its items.
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Batch } from '../api.ts';
import { countText, microsOf, percentText, usdText } from '../format/amounts.ts';
import { ageText } from '../format/time.ts';
import { me } from '../me.ts';
import { Age, Cost, Fact, Figure, Status, Time } from '../parts/bits.tsx';
import { NoData } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { TagsFact } from '../parts/tags.tsx';
import { BatchActions, RetryFailed } from './batch-actions.tsx';
import { endedItems } from './batch-columns.tsx';
import { BatchItems } from './batch-items.tsx';

const route = getRouteApi('/app/batches/$id');

const STATES = [
  'pending',
  'waiting',
  'running',
  'parked',
  'answered',
  'silent',
  'failed',
  'cancelled',
  'expired',
] as const;

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
  const { data: who } = useSuspenseQuery(me);
  const { id, name, status, outcome, counts, pauseReason, pauseDetail } = batch;
  return (
    <>
      <div className="row">
        <h1>
          <SafeText text={name ?? 'Batch'} />
        </h1>
        <Status status={outcome ?? status} />
        <a className="button" href={`/v1/batches/${id}/results`} download={`${id}.jsonl`}>
          Download results
        </a>
        {who.role !== 'viewer' && <BatchActions batch={batch} />}
      </div>
      {pauseReason !== null && (
        <p className="banner" role="status">
          Paused: <strong>{pauseReason}</strong> <SafeText text={pauseDetail ?? ''} />
        </p>
      )}
      <progress
        className="wide"
        value={endedItems(counts)}
        max={Math.max(1, counts.total)}
        aria-label={`${endedItems(counts)} of ${counts.total} items have ended`}
      />
      <Figures batch={batch} />
      <Facts batch={batch} />
      <Failures batch={batch} canRetry={who.role !== 'viewer'} />
      <Hops of={batch} />
      <BatchItems id={id} />
    </>
  );
}

function Figures({ batch }: { batch: Batch }): ReactElement {
  const { counts, followUps, ratePerMinute, eta, maxCostUsd, reservedUsd, expectedCostUsd } = batch;
  const { liveCostUsd, savedPercent, wastedUsd } = batch;
  return (
    <>
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
      <ul className="row states" aria-label="Items by state">
        {STATES.filter((state) => counts[state] > 0).map((state) => (
          <li key={state}>
            <Status status={state} /> {countText(counts[state])}
          </li>
        ))}
      </ul>
    </>
  );
}

function Facts({ batch }: { batch: Batch }): ReactElement {
  const { id, via, agentId, concurrency, slots, weight, pilot, maxFailurePercent, deadlineAt, createdBy } = batch;
  return (
    <dl className="facts">
      <Fact name="Id">
        <span className="mono">{id}</span>
      </Fact>
      <Fact name="Way">{via}</Fact>
      <Fact name="Agent">{agentId}</Fact>
      <Fact name="In flight at most">{concurrency}</Fact>
      <Fact name="Slots">{slots}</Fact>
      <Fact name="Weight">{weight}</Fact>
      <TagsFact tags={batch.tags} />
      {pilot !== null && <Fact name="Pilot">{pilot} items</Fact>}
      <Fact name="Pauses at">{maxFailurePercent} % failed</Fact>
      {deadlineAt !== null && (
        <Fact name="Deadline">
          <Time at={deadlineAt} />
        </Fact>
      )}
      <Fact name="Submitted">
        <Time at={batch.createdAt} /> by <SafeText text={createdBy} />
      </Fact>
      {batch.endedAt !== null && (
        <Fact name="Ended">
          <Time at={batch.endedAt} />
        </Fact>
      )}
    </dl>
  );
}

function Failures({ batch, canRetry }: { batch: Batch; canRetry: boolean }): ReactElement | null {
  const [asked, setAsked] = useState<Batch['errors'][number] | null>(null);
  if (batch.errors.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="failures">
      <h2 id="failures">Failures</h2>
      <ul>
        {batch.errors.map((group) => (
          <li key={group.code}>
            {countText(group.count)} × <span className="mono">{group.code}</span> <SafeText text={group.sample} />{' '}
            {canRetry && batch.status !== 'cancelling' && (
              <button type="button" className="button" onClick={() => setAsked(group)}>
                Retry these…
              </button>
            )}
          </li>
        ))}
      </ul>
      {asked !== null && (
        <RetryFailed id={batch.id} code={asked.code} count={asked.count} onClose={() => setAsked(null)} />
      )}
    </section>
  );
}

/** Whether the calls of one round were simulated is not stored: what is known of the batch counts. */
function Hops({ of: { hops, simulated } }: { of: Batch }): ReactElement | null {
  if (hops.length === 0) return null;
  return (
    <section className="panel scroll-x" aria-labelledby="hops" tabIndex={0}>
      <h2 id="hops">Rounds</h2>
      <table className="plain">
        <thead>
          <tr>
            {['Call', 'Way', 'Requests', 'From the cache', 'Cost', 'Submitted', 'Why', 'Ids of the provider'].map(
              (title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {hops.map((hop) => (
            <tr key={`${hop.n} ${hop.via}`}>
              <td>{hop.n}</td>
              <td>{hop.via}</td>
              <td>{countText(hop.requests)}</td>
              <td>{hop.cacheHitRate === null ? 'not known' : percentText(hop.cacheHitRate, 1)}</td>
              <td>
                <Cost of={{ costMicros: microsOf(hop.costUsd), simulated }} isInColumn />
              </td>
              <td>
                <Age at={hop.submittedAt} />
              </td>
              <td>
                <SafeText text={hop.reason} />
              </td>
              <td className="mono">{hop.providerBatchIds.join(' ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
