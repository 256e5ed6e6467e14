// The prices that costs are computed with.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { NoData } from '../parts/loading.tsx';
import { Panel, PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';

export function PriceTable(): ReactElement {
  const found = useQuery({ queryKey: ['prices'], queryFn: () => api.getPrices() });
  if (found.isError || found.data === undefined) return <NoData query={found} />;
  const { version, rows } = found.data;
  return (
    <Panel title="Price table">
      <p>
        Version <code>{version}</code>. Dollars per million tokens. The first row that fits a model and a day holds;
        rows of <code>models.prices</code> come first.
      </p>
      <PlainTable columns={COLUMNS} rows={rows} idOf={(_row, at) => at} />
    </Panel>
  );
}

type Price = Awaited<ReturnType<typeof api.getPrices>>['rows'][number];

const COLUMNS: readonly PlainColumn<Price>[] = [
  { title: 'Model', className: 'mono', cell: ({ model }) => <SafeText text={model} /> },
  { title: 'In effect', cell: ({ from, to }) => effectText(from, to) },
  {
    title: 'Input',
    cell: ({ inputPerMTok, longPrompt }) => (
      <>
        {inputPerMTok}
        {longPrompt !== null && (
          <small className="soft">
            {' '}
            (above {longPrompt.overTokens.toLocaleString('en-US')} tokens: {longPrompt.inputPerMTok})
          </small>
        )}
      </>
    ),
  },
  { title: 'Output', cell: ({ outputPerMTok }) => outputPerMTok },
  { title: 'Cache read', cell: ({ cacheReadPerMTok }) => cacheReadPerMTok },
  {
    title: 'Cache write 5 min, 1 h',
    cell: ({ cacheWrite5mPerMTok, cacheWrite1hPerMTok }) => `${cacheWrite5mPerMTok}, ${cacheWrite1hPerMTok}`,
  },
  { title: 'In batches', cell: ({ batchPercent }) => `${batchPercent} %` },
  { title: 'Source', cell: ({ source }) => <SafeText text={source} /> },
  { title: 'Last check', cell: ({ checkedAt }) => checkedAt ?? 'not known' },
];

/** The days on which a row is in effect. */
function effectText(from: string | null, to: string | null): string {
  if (from === null && to === null) return 'always';
  if (to === null) return `from ${from}`;
  return from === null ? `until ${to}` : `from ${from} until ${to}`;
}
