// The columns of the list of turns.
import { Link } from '@tanstack/react-router';
import type { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { Age, Cost, Status } from '../parts/bits.tsx';
import type { Column } from '../parts/data-table.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Tags } from '../parts/tags.tsx';

export type ListedTurn = Awaited<ReturnType<typeof api.listTurns>>['items'][number];

/** All columns, in their order. */
export const TURN_COLUMNS: readonly Column<ListedTurn>[] = [
  { title: 'Status', width: '96px', cell: ({ status }) => <Status status={status} /> },
  {
    title: 'Turn',
    width: '136px',
    cell: ({ id, kind }) => (
      <Link to="/turns/$id" params={{ id }}>
        {kind} {id.slice(-6)}
      </Link>
    ),
  },
  {
    title: 'Session',
    width: 'minmax(120px, 2fr)',
    cell: ({ sessionKey }) => (
      <Link to="/sessions/$key" params={{ key: sessionKey }}>
        <SafeText text={sessionKey} />
      </Link>
    ),
  },
  { title: 'Agent', width: '90px', cell: ({ sessionKey }) => sessionKey.split(':')[1] },
  { title: 'Lane', width: '80px', cell: ({ lane }) => lane },
  {
    title: 'Model',
    width: 'minmax(84px, 1fr)',
    cell: ({ model }) => <SafeText text={model.replace(/^[^/]+\//, '')} />,
  },
  { title: 'Steps', width: '44px', isNumber: true, cell: ({ stepCount }) => stepCount },
  {
    title: 'Tokens',
    width: '58px',
    isNumber: true,
    cell: ({ usage }) => countText(usage.inputTokens + usage.outputTokens),
  },
  { title: 'Cost', width: '124px', isNumber: true, cell: (turn) => <Cost of={turn} isInColumn /> },
  {
    title: 'Waited',
    width: '60px',
    isNumber: true,
    cell: ({ queuedAt, firstClaimedAt }) => durationText(lengthMs(queuedAt, firstClaimedAt)),
  },
  {
    title: 'Took',
    width: '60px',
    isNumber: true,
    cell: ({ startedAt, endedAt }) => durationText(lengthMs(startedAt, endedAt)),
  },
  { title: 'Started', width: '84px', cell: ({ startedAt }) => <Age at={startedAt} /> },
  { title: 'Ended', width: '96px', cell: ({ endedAt }) => <Age at={endedAt} /> },
  { title: 'Attempt', width: '70px', isNumber: true, cell: ({ attempt }) => attempt },
  { title: 'Worker', width: 'minmax(100px, 1fr)', cell: ({ worker }) => <SafeText text={worker} /> },
  { title: 'Tags', width: 'minmax(120px, 1fr)', cell: ({ tags }) => <Tags tags={tags} /> },
  { title: 'Id', width: '290px', cell: ({ id }) => <span className="mono">{id}</span> },
  {
    title: 'Why',
    width: 'minmax(120px, 2fr)',
    cell: ({ error, why }) => <SafeText text={error?.message ?? why?.text ?? ''} />,
  },
];

/** Those that are shown when no choice was made. */
export const USUAL_TURN_COLUMNS: ReadonlySet<string> = new Set([
  'Status',
  'Turn',
  'Session',
  'Model',
  'Steps',
  'Tokens',
  'Cost',
  'Waited',
  'Took',
  'Started',
  'Why',
]);
