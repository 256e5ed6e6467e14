// All turns, newest first. Turns that start meanwhile are counted on a button, and the list does
// not jump.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { lazy, useEffect, useState, type ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type ListedTurn } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { beginningOfRange } from '../format/time.ts';
import { useLive } from '../live/live-provider.tsx';
import { Button } from '../parts/button.tsx';
import type { List, Search } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { haveBegun } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { TURN_COLUMNS } from './turn-columns.tsx';

const TurnPanel = lazy(async () => ({ default: (await import('./turn-panel.tsx')).TurnPanel }));

/** Of a reply: rows are copied as JSON, and a list shows little of it. */
const TEXT_CHARS = 300;
const BATCHES_SHOWN = 5;

type TurnQuery = NonNullable<Parameters<typeof api.listTurns>[0]>;

const TURNS: List<ListedTurn> = {
  title: 'Turns',
  noun: 'turn',
  // Not named `turn`: events do not refresh it, the button does.
  key: ['turns'],
  read: (search, page, signal) =>
    api.listTurns({ ...(filterOf(search) as TurnQuery), steps: 'none', textChars: TEXT_CHARS, ...page }, { signal }),
  columns: TURN_COLUMNS,
  hasChooser: true,
  filters: [
    { name: 'since', title: 'Time', options: 'times' },
    { name: 'status', title: 'Status', options: CHOICES.listTurns.status },
    { name: 'agent', title: 'Agent', options: 'agents' },
    { name: 'model', title: 'Model', options: 'models' },
    { name: 'kind', title: 'Kind', options: CHOICES.listTurns.kind, usual: 'all but batch' },
    { name: 'code', title: 'Error code', options: 'codes' },
    { name: 'session', title: 'Session' },
    { name: 'q', title: 'Id or text' },
    { name: 'callStatus', title: 'Outcome of a call', options: CHOICES.listTurns.callStatus, isRare: true },
    { name: 'lane', title: 'Lane', options: CHOICES.listTurns.lane, isRare: true },
    { name: 'tool', title: 'Tool', isRare: true },
    { name: 'worker', title: 'Worker', isRare: true },
    { name: 'batch', title: 'Batch', isRare: true },
    { name: 'until', title: 'Started before', isRare: true },
    { name: 'minMs', title: 'Took at least, in ms', isRare: true },
    { name: 'minCostUsd', title: 'Cost at least, in $', isRare: true },
    { name: 'tag', title: 'Tag, as key:value', isRare: true },
    { name: 'score', title: 'Score, as name:value', isRare: true },
  ],
  idOf: ({ id }) => id,
  pathOf: ({ id }) => `/turns/${id}`,
  panel: (id, close) => <TurnPanel key={id} id={id} onClose={close} />,
  copied: (row) => ({ id: row.id, path: `/v1/turns/${row.id}`, command: `npx holdfast turns show ${row.id}`, row }),
  bulk: { target: 'turns', actions: ['retry', 'abort'], filterOf: bulkOf },
  empty: {
    text: 'There is no turn yet. A turn begins when a message arrives.',
    command: 'npx holdfast send main "Hello"',
  },
};

export function Turns(): ReactElement {
  const queries = useQueryClient();
  return (
    <ListScreen
      list={TURNS}
      news={<NewTurns onShow={() => void queries.resetQueries({ queryKey: ['turns'] })} />}
      above={<BatchesOfTurns />}
      isReady={haveBegun(useQuery(newestBatchesQuery))}
    />
  );
}

/** True while the list leaves out the turns of batches: they would bury all others. */
const areFolded = ({ kind, lane, batch, session, q, tag }: Search): boolean =>
  lane !== 'batch' && [kind, batch, session, q, tag].every((value) => value === undefined);

const newestBatchesQuery = {
  queryKey: ['batches', 'newest'],
  queryFn: () => api.listBatches({ limit: BATCHES_SHOWN }),
};

/** One link for each of the newest batches, instead of all of their turns. */
function BatchesOfTurns(): ReactElement | null {
  const isFolded = areFolded(useSearch({ strict: false }));
  const batches = useQuery(newestBatchesQuery).data?.items ?? [];
  if (!isFolded || batches.length === 0) return null;
  return (
    <ul className="row plain-list" aria-label="Turns of batches">
      {batches.map(({ id, name, counts }) => (
        <li key={id}>
          <Link to="/turns" search={{ batch: id }} className="chip">
            Batch <SafeText text={name ?? id.slice(-6)} />: {countText(counts.total - counts.pending)} of{' '}
            {countText(counts.total)} items
          </Link>
        </li>
      ))}
      <li>
        <Link to="/turns" search={{ kind: 'batch' }}>
          all turns of batches
        </Link>
      </li>
    </ul>
  );
}

/** How many turns have started since the list was read. */
function NewTurns({ onShow }: { onShow: () => void }): ReactElement | null {
  const { startedTurns } = useLive();
  const [seen, setSeen] = useState(startedTurns);
  const count = startedTurns - seen;
  useEffect(() => setSeen((before) => Math.min(before, startedTurns)), [startedTurns]);
  if (count <= 0) return null;
  return (
    <Button
      tone="main"
      onClick={() => {
        setSeen(startedTurns);
        onShow();
      }}
    >
      {countText(count)} new
    </Button>
  );
}

/** A value that the service does not know is refused by it, and shown. */
function filterOf(search: Search): object {
  const { status, minMs, minCostUsd } = search;
  return {
    ...bulkFilterOf(search),
    status: status?.split(','),
    minMs: numberOf(minMs),
    minCostUsd: numberOf(minCostUsd),
  };
}

/** An action on all that match knows no scores and no outcomes of calls. */
function bulkOf({ score, callStatus, ...search }: Search): object | null {
  return (score ?? callStatus) === undefined ? bulkFilterOf(search) : null;
}

/** The same for an action on all that match. */
function bulkFilterOf({ status, minMs, minCostUsd, since, ...rest }: Search): object {
  return {
    ...rest,
    ...(since === undefined ? {} : { since: beginningOfRange(since) }),
    ...(areFolded(rest) ? { except: 'batch' } : {}),
    ...(status === undefined ? {} : { status: status.split(',') }),
    ...(minMs === undefined ? {} : { minMs: numberOf(minMs) }),
    ...(minCostUsd === undefined ? {} : { minCostUsd: numberOf(minCostUsd) }),
  };
}

/** What is not a number stays as it was written: the service refuses it, and says so. */
function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  return Number.isNaN(number) ? (text as unknown as number) : number;
}
