// All batches, newest first: how far they are, how fast, what they cost. A new one is made from a
// file.
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState, type ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type Batch } from '../api.ts';
import { DialogButton } from '../parts/dialog-button.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { Problem } from '../parts/problem.tsx';
import { CancelBatch } from './batch-actions.tsx';
import { actionsOf, BATCH_COLUMNS, type BatchChange } from './batch-columns.tsx';
import { NewBatch } from './new-batch.tsx';

const BATCHES: List<Batch> = {
  title: 'Batches',
  noun: 'batch',
  key: ['batches', 'list'],
  pageSize: 50,
  // A state that the service does not know is refused by it, and shown.
  read: ({ status }, page, signal) => api.listBatches({ status: status as Batch['status'], ...page }, { signal }),
  columns: BATCH_COLUMNS,
  filters: [{ name: 'status', title: 'Status', options: CHOICES.listBatches.status }],
  idOf: ({ id }) => id,
  pathOf: ({ id }) => `/batches/${id}`,
  empty: {
    text: 'No batch was submitted yet. A batch is a file with one conversation per line.',
    command: 'npx holdfast batch submit tickets.jsonl --pilot 20 --wait',
  },
};

export function Batches(): ReactElement {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<{ batch: Batch; running: 'stop' | 'finish' } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const rowActions = useMemo(() => {
    const onChange = (change: BatchChange, batch: Batch): void => {
      setError(null);
      if (change === 'cancel' || change === 'stop')
        return setAsked({ batch, running: change === 'stop' ? 'stop' : 'finish' });
      const { id } = batch;
      (change === 'pause' ? api.pauseBatch({ id }) : api.resumeBatch({ id }))
        .then(() => queries.invalidateQueries({ queryKey: ['batches'] }))
        .catch(setError);
    };
    return (batch: Batch) => actionsOf(batch, onChange);
  }, [queries]);
  return (
    <ListScreen
      list={BATCHES}
      rowActions={rowActions}
      buttons={
        <DialogButton
          tone="main"
          dialog={(close) => (
            <NewBatch onClose={close} onSubmitted={(id) => void navigate({ to: '/batches/$id', params: { id } })} />
          )}
        >
          New batch…
        </DialogButton>
      }
    >
      {error !== null && <Problem error={error} />}
      {asked !== null && <CancelBatch {...asked} onClose={() => setAsked(null)} />}
    </ListScreen>
  );
}
