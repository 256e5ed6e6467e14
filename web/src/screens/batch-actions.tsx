// The actions on a batch: pause, resume, cancel, change its settings, and run failed items again.
import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Batch } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';

type Question = 'cancel' | 'stop' | 'change' | 'retry';

export function BatchActions({ batch }: { batch: Batch }): ReactElement {
  const queries = useQueryClient();
  const [question, setQuestion] = useState<Question | null>(null);
  const [error, setError] = useState<unknown>(null);
  const { id, status, counts } = batch;
  const isOpen = status === 'running' || status === 'paused';
  const failed = counts.failed + counts.expired;

  async function act(change: Promise<Batch>): Promise<void> {
    setError(null);
    try {
      queries.setQueryData(['batches', id], await change);
    } catch (cause) {
      setError(cause);
    }
  }

  const close = (): void => setQuestion(null);
  return (
    <>
      {status === 'running' && (
        <button type="button" className="button" onClick={() => void act(api.pauseBatch({ id }))}>
          Pause batch
        </button>
      )}
      {status === 'paused' && (
        <button type="button" className="button" data-tone="main" onClick={() => void act(api.resumeBatch({ id }))}>
          Resume batch
        </button>
      )}
      {isOpen && (
        <button type="button" className="button" onClick={() => setQuestion('change')}>
          Change…
        </button>
      )}
      {failed > 0 && (isOpen || status === 'ended') && (
        <button type="button" className="button" onClick={() => setQuestion('retry')}>
          Retry failed…
        </button>
      )}
      {isOpen && (
        <>
          <button type="button" className="button" data-tone="bad" onClick={() => setQuestion('cancel')}>
            Cancel…
          </button>
          <button type="button" className="button" data-tone="bad" onClick={() => setQuestion('stop')}>
            Cancel and stop turns…
          </button>
        </>
      )}
      {error !== null && <Problem error={error} />}
      {question === 'change' && <ChangeBatch batch={batch} onClose={close} />}
      {question === 'retry' && <RetryFailed id={id} count={failed} onClose={close} />}
      {(question === 'cancel' || question === 'stop') && (
        <CancelBatch batch={batch} running={question === 'stop' ? 'stop' : 'finish'} onClose={close} />
      )}
    </>
  );
}

/** Asks before the items of a batch that have not begun are cancelled, and with `stop` those in flight, too. */
export function CancelBatch(props: { batch: Batch; running: 'stop' | 'finish'; onClose: () => void }): ReactElement {
  const { batch, running, onClose } = props;
  const queries = useQueryClient();
  const { pending, waiting, running: begun, parked } = batch.counts;
  const inFlight = waiting + begun + parked;
  return (
    <Confirm
      title={`Cancel ${countText(pending)} items that have not begun?`}
      verb={running === 'stop' ? 'Cancel and stop' : 'Cancel'}
      onClose={onClose}
      perform={async () => {
        queries.setQueryData(['batches', batch.id], await api.cancelBatch({ id: batch.id, body: { running } }));
        await queries.invalidateQueries({ queryKey: ['batches', 'list'] });
      }}
    >
      <p>
        In <SafeText text={batch.name ?? batch.id} />.{' '}
        {running === 'stop'
          ? `${countText(inFlight)} that wait or run are stopped, too.`
          : `${countText(inFlight)} that wait or run still finish.`}{' '}
        What has ended stays.
      </p>
    </Confirm>
  );
}

/** Asks before failed and expired items run again; with a code only those that failed with it. */
export function RetryFailed(props: { id: string; code?: string; count: number; onClose: () => void }): ReactElement {
  const { id, code, count, onClose } = props;
  const queries = useQueryClient();
  return (
    <Confirm
      title={`Run ${countText(count)} items again?`}
      verb={`Run ${countText(count)} again`}
      onClose={onClose}
      perform={async () => {
        await api.retryFailedItems({ id, body: code === undefined ? {} : { code } });
        await queries.invalidateQueries({ queryKey: ['batches', id] });
      }}
    >
      <p>
        {code === undefined ? 'All that failed or expired' : `Those that failed with ${code}`} run once more. What the
        earlier attempts cost stays in the sum.
      </p>
    </Confirm>
  );
}

const VIAS = ['live', 'provider-batch', 'auto'] as const;

function ChangeBatch({ batch, onClose }: { batch: Batch; onClose: () => void }): ReactElement {
  const queries = useQueryClient();
  const [cap, setCap] = useState(batch.maxCostUsd === null ? '' : String(batch.maxCostUsd));
  const [concurrency, setConcurrency] = useState(String(batch.concurrency));
  const [via, setVia] = useState(batch.via);
  async function perform(): Promise<void> {
    const body = { maxCostUsd: cap.trim() === '' ? null : Number(cap), concurrency: Number(concurrency), via };
    queries.setQueryData(['batches', batch.id], await api.updateBatch({ id: batch.id, body }));
  }
  return (
    <Confirm title="Change the batch" verb="Change" onClose={onClose} perform={perform}>
      <label className="field">
        Cost cap in US dollars (empty: none)
        <input type="number" min="0" step="any" value={cap} onChange={(event) => setCap(event.target.value)} />
      </label>
      <label className="field">
        Items in flight at most
        <input type="number" min="1" value={concurrency} onChange={(event) => setConcurrency(event.target.value)} />
      </label>
      <label className="field">
        Way, for items that have not begun
        <select value={via} onChange={(event) => setVia(event.target.value as Batch['via'])}>
          {VIAS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
    </Confirm>
  );
}
