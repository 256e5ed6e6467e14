// The actions on a batch: pause, resume, cancel, change its settings, and run failed items again.
import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Batch } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { DialogButton } from '../parts/dialog-button.tsx';
import { Field, Select } from '../parts/fields.tsx';
import { RowMenu } from '../parts/row-menu.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useActions } from '../parts/use-actions.tsx';

export function BatchActions({ batch }: { batch: Batch }): ReactElement {
  const queries = useQueryClient();
  const { act, problem } = useActions();
  const [cancelling, setCancelling] = useState<'finish' | 'stop' | null>(null);
  const { id, status, counts } = batch;
  const isOpen = status === 'running' || status === 'paused';
  const failed = counts.failed + counts.expired;
  const change = (changed: typeof api.pauseBatch): void =>
    act(async () => queries.setQueryData(['batches', id], await changed({ id })));
  return (
    <>
      {status === 'running' && <Button onClick={() => change(api.pauseBatch)}>Pause batch</Button>}
      {status === 'paused' && (
        <Button tone="main" onClick={() => change(api.resumeBatch)}>
          Resume batch
        </Button>
      )}
      {isOpen && <DialogButton dialog={(close) => <ChangeBatch batch={batch} onClose={close} />}>Change…</DialogButton>}
      {failed > 0 && (isOpen || status === 'ended') && (
        <DialogButton dialog={(close) => <RetryFailed id={id} count={failed} onClose={close} />}>
          Retry failed…
        </DialogButton>
      )}
      {isOpen && (
        <RowMenu
          actions={[
            { name: 'Cancel…', tone: 'bad', onChoose: () => setCancelling('finish') },
            { name: 'Cancel and stop turns…', tone: 'bad', onChoose: () => setCancelling('stop') },
          ]}
        />
      )}
      {cancelling !== null && <CancelBatch batch={batch} running={cancelling} onClose={() => setCancelling(null)} />}
      {problem}
    </>
  );
}

/**
 * Asks before the items of a batch that have not begun are cancelled, and with `stop` those in
 * flight, too.
 */
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
      <Field
        name="Cost cap in US dollars (empty: none)"
        type="number"
        min="0"
        step="any"
        value={cap}
        onChange={setCap}
      />
      <Field name="Items in flight at most" type="number" min="1" value={concurrency} onChange={setConcurrency} />
      <Select name="Way, for items that have not begun" value={via} options={VIAS} onChange={setVia} />
    </Confirm>
  );
}
