// What cost the most: turns, sessions and crons.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactElement, type ReactNode } from 'react';
import { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { Age, Cost, Empty } from '../parts/bits.tsx';
import { NoData } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';

interface TopCostsShown {
  from: string;
  span: string;
  /** Only of turns with this tag. */
  tag: string | undefined;
}

/** Read when it is opened: it compares thousands of turns. */
export function TopCosts(shown: TopCostsShown): ReactElement {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Most expensive turns, sessions and crons</summary>
      {isOpen && <TopTables {...shown} />}
    </details>
  );
}

function TopTables({ from, span, tag }: TopCostsShown): ReactElement {
  const top = useQuery({ queryKey: ['usage', 'top', from, tag], queryFn: () => api.getTopCosts({ from, tag }) });
  if (top.isError || top.data === undefined) return <NoData query={top} />;
  if (top.data.turns.length === 0) return <Empty>No turn has a cost in this time.</Empty>;
  const { turns, sessions, crons, turnsRead, isCapped } = top.data;
  return (
    <>
      <p className="soft">
        {isCapped ? `Of the newest ${countText(turnsRead)} turns of the ${span}.` : `Of all turns of the ${span}.`}
      </p>
      <div className="split">
        <CostTable
          title="Turns"
          rows={turns.map(({ id, sessionKey, startedAt, ...cost }) => ({
            key: id,
            cost,
            name: (
              <Link to="/turns/$id" params={{ id }}>
                {id.slice(-6)} <SafeText text={sessionKey} />
              </Link>
            ),
            note: <Age at={startedAt} />,
          }))}
          note="Started"
        />
        <CostTable
          title="Sessions"
          rows={sessions.map(({ sessionKey, turns: count, ...cost }) => ({
            key: sessionKey,
            cost,
            name: (
              <Link to="/sessions/$key" params={{ key: sessionKey }}>
                <SafeText text={sessionKey} />
              </Link>
            ),
            note: countText(count),
          }))}
          note="Turns"
        />
        {crons.length > 0 && (
          <CostTable
            title="Crons"
            rows={crons.map(({ id, name, turns: count, ...cost }) => ({
              key: id,
              cost,
              name: (
                <Link to="/crons/$id" params={{ id }}>
                  <SafeText text={name} />
                </Link>
              ),
              note: countText(count),
            }))}
            note="Turns"
          />
        )}
      </div>
    </>
  );
}

function CostTable(props: {
  title: string;
  rows: { key: string; name: ReactNode; note: ReactNode; cost: { costMicros: number; simulated: boolean } }[];
  /** The head of the column of notes. */
  note: string;
}): ReactElement {
  const { title, rows, note } = props;
  return (
    <section className="panel scroll-x" aria-label={`Most expensive ${title.toLowerCase()}`} tabIndex={0}>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <th scope="col" className="number">
              {note}
            </th>
            <th scope="col" className="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              <th scope="row">{row.name}</th>
              <td className="number">{row.note}</td>
              <td className="number">
                <Cost of={row.cost} isInColumn />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
