// The columns of the list of batches.
import { Link } from '@tanstack/react-router';
import type { Batch } from '../api.ts';
import { columnUsdText, countText, percentText } from '../format/amounts.ts';
import { ageText } from '../format/time.ts';
import { Age, Cost, Status } from '../parts/bits.tsx';
import type { Column } from '../parts/data-table.tsx';
import type { RowActions } from '../parts/row-menu.tsx';
import { SafeText } from '../parts/safe-text.tsx';

export const BATCH_COLUMNS: readonly Column<Batch>[] = [
  { title: 'Status', width: '84px', cell: ({ status, outcome }) => <Status status={outcome ?? status} /> },
  {
    title: 'Batch',
    width: 'minmax(102px, 2fr)',
    cell: ({ id, name }) => (
      <Link to="/batches/$id" params={{ id }}>
        <SafeText text={name ?? id} />
      </Link>
    ),
  },
  { title: 'Via', width: '104px', cell: ({ via }) => via },
  {
    title: 'Ended items',
    width: 'minmax(164px, 1fr)',
    cell: ({ counts }) => (
      <>
        <progress value={endedItems(counts)} max={Math.max(1, counts.total)} aria-label="Ended items" />{' '}
        {percentText(endedItems(counts), counts.total)} of {countText(counts.total)}
      </>
    ),
  },
  { title: 'Failed', width: '52px', isNumber: true, cell: ({ counts }) => countText(counts.failed) },
  {
    title: 'A minute',
    width: '58px',
    isNumber: true,
    cell: ({ ratePerMinute }) => (ratePerMinute === null ? '' : countText(Math.round(ratePerMinute))),
  },
  { title: 'Ends', width: '76px', cell: ({ eta, endedAt }) => endText(eta, endedAt) },
  {
    title: 'Cost of cap',
    width: '164px',
    isNumber: true,
    cell: (batch) => (
      <>
        <Cost of={batch} isInColumn />
        {batch.maxCostUsd !== null && ` of ${columnUsdText(batch.maxCostUsd)}`}
      </>
    ),
  },
  { title: 'Submitted', width: '80px', cell: ({ createdAt }) => <Age at={createdAt} /> },
];

export type BatchChange = 'pause' | 'resume' | 'cancel' | 'stop';

const CHANGES: Readonly<Record<BatchChange, string>> = {
  pause: 'Pause',
  resume: 'Resume',
  cancel: 'Cancel…',
  stop: 'Cancel and stop turns…',
};

/** What can be done to a batch in its state. */
function changesOf({ status }: Batch): BatchChange[] {
  if (status === 'running') return ['pause', 'cancel', 'stop'];
  return status === 'paused' ? ['resume', 'cancel', 'stop'] : [];
}

export function actionsOf(batch: Batch, onChange: (change: BatchChange, batch: Batch) => void): RowActions {
  return {
    of: batch.name ?? batch.id,
    actions: changesOf(batch).map((change) => ({
      name: CHANGES[change],
      tone: change === 'cancel' || change === 'stop' ? 'bad' : undefined,
      onChoose: () => onChange(change, batch),
    })),
  };
}

function endText(eta: Batch['eta'], endedAt: string | null): string {
  if (endedAt !== null) return ageText(endedAt);
  return eta === null ? '' : ageText(eta.to);
}

/** How many items have ended, with any result. */
export function endedItems({ answered, silent, failed, cancelled, expired }: Batch['counts']): number {
  return answered + silent + failed + cancelled + expired;
}
