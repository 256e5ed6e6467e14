// The prices that costs are computed with.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { NoData } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';

export function PriceTable(): ReactElement {
  const found = useQuery({ queryKey: ['prices'], queryFn: () => api.getPrices() });
  if (found.isError || found.data === undefined) return <NoData query={found} />;
  const { version, rows } = found.data;
  return (
    <section className="panel" aria-labelledby="prices">
      <h2 id="prices">Price table</h2>
      <p>
        Version <code>{version}</code>. Dollars per million tokens. The first row that fits a model and a day holds;
        rows of <code>models.prices</code> come first.
      </p>
      <table className="plain cards">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">In effect</th>
            <th scope="col">Input</th>
            <th scope="col">Output</th>
            <th scope="col">Cache read</th>
            <th scope="col">Cache write 5 min, 1 h</th>
            <th scope="col">In batches</th>
            <th scope="col">Source</th>
            <th scope="col">Last check</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              <th scope="row" className="mono">
                <SafeText text={row.model} />
              </th>
              <td data-label="In effect">{effectText(row.from, row.to)}</td>
              <td data-label="Input">
                {row.inputPerMTok}
                {row.longPrompt !== null && (
                  <small className="soft">
                    {' '}
                    (above {row.longPrompt.overTokens.toLocaleString('en-US')} tokens: {row.longPrompt.inputPerMTok})
                  </small>
                )}
              </td>
              <td data-label="Output">{row.outputPerMTok}</td>
              <td data-label="Cache read">{row.cacheReadPerMTok}</td>
              <td data-label="Cache write 5 min, 1 h">
                {row.cacheWrite5mPerMTok}, {row.cacheWrite1hPerMTok}
              </td>
              <td data-label="In batches">{row.batchPercent} %</td>
              <td data-label="Source">
                <SafeText text={row.source} />
              </td>
              <td data-label="Last check">{row.checkedAt ?? 'not known'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The days on which a row is in effect. */
function effectText(from: string | null, to: string | null): string {
  if (from === null && to === null) return 'always';
  if (to === null) return `from ${from}`;
  return from === null ? `until ${to}` : `from ${from} until ${to}`;
}
