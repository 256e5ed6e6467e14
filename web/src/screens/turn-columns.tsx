// The columns of the list of turns.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { ListedTurn } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { Age, Cost, Status } from '../parts/bits.tsx';
import type { Column } from '../parts/data-table.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { From, SessionLink, Words } from '../parts/short-key.tsx';
import { Tags } from '../parts/tags.tsx';
import { unknownText } from '../parts/turn-status.tsx';

export const TURN_COLUMNS: readonly Column<ListedTurn>[] = [
  { title: 'Status', width: '96px', isClear: true, cell: ({ status }) => <Status status={status} /> },
  {
    title: 'Turn',
    width: '134px',
    yields: true,
    isClear: true,
    cell: ({ id, kind }) => (
      <Link to="/turns/$id" params={{ id }}>
        {kind} {id.slice(-6)}
      </Link>
    ),
  },
  {
    title: 'Session',
    width: 'minmax(104px, 2fr)',
    isClear: true,
    cell: ({ sessionKey, sessionTitle }) => <SessionLink sessionKey={sessionKey} title={sessionTitle} />,
  },
  {
    title: 'First words',
    width: 'minmax(96px, 3fr)',
    isClear: true,
    cell: ({ firstWords }) => <Words text={firstWords} />,
  },
  {
    title: 'Answer',
    width: 'minmax(96px, 3fr)',
    isClear: true,
    cell: (turn) => <Answer turn={turn} />,
  },
  { title: 'From', width: '100px', yields: true, cell: (turn) => <From of={turn} /> },
  { title: 'Agent', width: '90px', isExtra: true, cell: ({ sessionKey }) => sessionKey.split(':')[1] },
  { title: 'Lane', width: '80px', isExtra: true, cell: ({ lane }) => lane },
  { title: 'Provider', width: '90px', isExtra: true, cell: ({ provider }) => <SafeText text={provider} /> },
  {
    title: 'Model',
    isExtra: true,
    width: 'minmax(84px, 1fr)',
    cell: ({ model }) => <SafeText text={model.replace(/^[^/]+\//, '')} />,
  },
  { title: 'Steps', width: '44px', isExtra: true, isNumber: true, cell: ({ stepCount }) => stepCount },
  {
    title: 'Tokens',
    isExtra: true,
    width: '58px',
    isNumber: true,
    cell: ({ usage }) => countText(usage.inputTokens + usage.outputTokens),
  },
  { title: 'Cost', width: '100px', isNumber: true, yields: true, cell: (turn) => <Cost of={turn} isInColumn /> },
  {
    title: 'Waited',
    isExtra: true,
    width: '60px',
    isNumber: true,
    cell: ({ queuedAt, firstClaimedAt }) => durationText(lengthMs(queuedAt, firstClaimedAt)),
  },
  {
    title: 'Took',
    yields: true,
    width: '60px',
    isNumber: true,
    cell: ({ startedAt, endedAt }) => durationText(lengthMs(startedAt, endedAt)),
  },
  { title: 'Started', width: '84px', cell: ({ startedAt }) => <Age at={startedAt} /> },
  { title: 'Ended', width: '96px', isExtra: true, cell: ({ endedAt }) => <Age at={endedAt} /> },
  { title: 'Attempt', width: '70px', isExtra: true, isNumber: true, cell: ({ attempt }) => attempt },
  {
    title: 'Worker',
    width: 'minmax(100px, 1fr)',
    isExtra: true,
    cell: ({ workerTitle }) => <SafeText text={workerTitle ?? ''} />,
  },
  { title: 'Tags', width: 'minmax(120px, 1fr)', isExtra: true, cell: ({ tags }) => <Tags tags={tags} /> },
  { title: 'Id', width: '290px', isExtra: true, cell: ({ id }) => <span className="mono">{id}</span> },
  {
    title: 'Why',
    isExtra: true,
    width: 'minmax(120px, 2fr)',
    cell: ({ error, why }) => <SafeText text={error?.message ?? why?.text ?? ''} />,
  },
];

/** What came out of it; what a person has to check stands first. */
function Answer({ turn }: { turn: ListedTurn }): ReactElement {
  const { error, why, reply } = turn;
  const unknown = unknownText(turn);
  const text = error?.message ?? why?.text ?? reply;
  return (
    <span data-tone={unknown === null ? undefined : 'bad'}>
      <Words text={unknown === null ? text : `${unknown}: ${text ?? 'no answer'}`} />
    </span>
  );
}
