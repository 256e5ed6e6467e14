// What cost the most: turns, sessions and crons.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { Age, Cost, Empty } from '../parts/bits.tsx';
import { KeyLink } from '../parts/links.tsx';
import { NoData } from '../parts/loading.tsx';
import { PlainTable, type PlainColumn } from '../parts/panel.tsx';
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
  if (top.data.turns.length === 0) return <Empty>No turn of the {span} has a cost.</Empty>;
  const { turns, sessions, crons, turnsRead, isCapped } = top.data;
  return (
    <>
      <p className="soft">
        {isCapped ? `Of the newest ${countText(turnsRead)} turns of the ${span}.` : `Of all turns of the ${span}.`}
      </p>
      <div className="split">
        <CostTable
          title="Turns"
          rows={turns}
          idOf={({ id }) => id}
          name={({ id, sessionKey }) => (
            <Link to="/turns/$id" params={{ id }}>
              {id.slice(-6)} <SafeText text={sessionKey} />
            </Link>
          )}
          note={{ title: 'Started', isNumber: true, cell: ({ startedAt }) => <Age at={startedAt} /> }}
        />
        <CostTable
          title="Sessions"
          rows={sessions}
          idOf={({ sessionKey }) => sessionKey}
          name={({ sessionKey }) => <KeyLink sessionKey={sessionKey} />}
          note={TURNS}
        />
        {crons.length > 0 && (
          <CostTable
            title="Crons"
            rows={crons}
            idOf={({ id }) => id}
            name={({ id, name }) => (
              <Link to="/crons/$id" params={{ id }}>
                <SafeText text={name} />
              </Link>
            )}
            note={TURNS}
          />
        )}
      </div>
    </>
  );
}

const TURNS = { title: 'Turns', isNumber: true, cell: ({ turns }: { turns: number }) => countText(turns) } as const;

function CostTable<Row extends { costMicros: number; simulated: boolean }>(props: {
  title: string;
  rows: readonly Row[];
  idOf: (row: Row) => string;
  name: PlainColumn<Row>['cell'];
  note: PlainColumn<Row>;
}): ReactElement {
  const { title, rows, idOf, name, note } = props;
  return (
    <section className="panel scroll-x" aria-label={`Most expensive ${title.toLowerCase()}`} tabIndex={0}>
      <PlainTable
        columns={[
          { title, cell: name },
          note,
          { title: 'Cost', isNumber: true, cell: (row) => <Cost of={row} isInColumn /> },
        ]}
        {...{ rows, idOf }}
      />
    </section>
  );
}
