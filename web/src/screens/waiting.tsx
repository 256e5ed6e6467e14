// Every message that waits, with the reason.
import type { ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api } from '../api.ts';
import { Age } from '../parts/bits.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { SessionLink, Words } from '../parts/short-key.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { ModelBlocks } from './model-blocks.tsx';
import { Pauses, PauseWork } from './pauses.tsx';

/** This much of each message is shown. */
const TEXT_CHARS = 200;

type WaitingQuery = NonNullable<Parameters<typeof api.listWaiting>[0]>;
type Waiting = Awaited<ReturnType<typeof api.listWaiting>>['items'][number];

const WAITING: List<Waiting> = {
  title: 'Waiting',
  label: 'Messages that wait',
  noun: 'message that waits',
  key: ['waiting'],
  read: ({ lane, ...rest }, page, signal) =>
    // A lane that the service does not know is refused by it, and shown.
    api.listWaiting({ ...rest, ...page, lane: lane as WaitingQuery['lane'], textChars: TEXT_CHARS }, { signal }),
  columns: [
    {
      title: 'Session',
      width: 'minmax(120px, 2fr)',
      isClear: true,
      cell: ({ sessionKey }) => <SessionLink sessionKey={sessionKey} />,
    },
    { title: 'Text', width: 'minmax(160px, 3fr)', isClear: true, cell: ({ text }) => <Words text={text} /> },
    { title: 'Why', width: 'minmax(200px, 4fr)', isClear: true, cell: ({ why }) => <WhyText why={why} /> },
    { title: 'Waiting since', width: '100px', cell: ({ receivedAt }) => <Age at={receivedAt} /> },
    { title: 'Place', width: '44px', isNumber: true, cell: ({ position }) => position },
    { title: 'Lane', width: '70px', cell: ({ lane }) => lane },
    { title: 'Kind', width: '90px', cell: ({ kind }) => kind },
  ],
  filters: [
    { name: 'reason', title: 'Reason', options: CHOICES.listWaiting.reason },
    { name: 'lane', title: 'Lane', options: CHOICES.listWaiting.lane },
    { name: 'session', title: 'Session' },
    { name: 'batch', title: 'Batch' },
  ],
  idOf: ({ id }) => id,
  pathOf: ({ sessionKey }) => `/sessions/${encodeURIComponent(sessionKey)}`,
  bulk: {
    target: 'messages',
    actions: ['cancel'],
    // An action on all that match knows no reasons, lanes and batches.
    filterOf: ({ reason, lane, batch, ...rest }) => ((reason ?? lane ?? batch) === undefined ? rest : null),
  },
  empty: { text: 'No message waits: all work has been taken up.' },
};

export function WaitingScreen(): ReactElement {
  return (
    <ListScreen
      list={WAITING}
      buttons={<PauseWork />}
      above={
        <>
          <Pauses />
          <ModelBlocks />
        </>
      }
    />
  );
}
