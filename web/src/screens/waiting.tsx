// Every message that waits: by the reason, those first that need a person, each with what to do and
// the decision in its place; with a filter they are one list.
import { Link } from '@tanstack/react-router';
import { lazy, useState, type ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { WAIT_WORDS, type WaitCode } from '../format/wait-words.ts';
import { Age, Chip } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { SessionLink, Words } from '../parts/short-key.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { ApprovalCard } from './approval-details.tsx';
import { ExternalCalls } from './external-calls.tsx';
import { ModelBlocks } from './model-blocks.tsx';
import { Pauses, PauseWork } from './pauses.tsx';

const SessionPanel = lazy(async () => ({ default: (await import('./session-panel.tsx')).SessionPanel }));

/** This much of each message is shown. */
const TEXT_CHARS = 200;
/** Of each reason, before more are asked for. */
const SHOWN = 5;

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
      cell: ({ sessionKey, sessionTitle }) => <SessionLink sessionKey={sessionKey} title={sessionTitle} />,
    },
    { title: 'Text', width: 'minmax(160px, 3fr)', isClear: true, cell: ({ text }) => <Words text={text} /> },
    { title: 'Why', width: 'minmax(200px, 4fr)', isClear: true, cell: ({ why }) => <WhyText why={why} /> },
    { title: 'Waiting since', width: '100px', cell: ({ receivedAt }) => <Age at={receivedAt} /> },
    { title: 'Place', width: '44px', isNumber: true, yields: true, cell: ({ position }) => position },
    { title: 'Lane', width: '70px', yields: true, cell: ({ lane }) => lane },
    { title: 'Kind', width: '90px', yields: true, cell: ({ kind }) => kind },
  ],
  filters: [
    { name: 'reason', title: 'Reason', options: CHOICES.listWaiting.reason },
    { name: 'lane', title: 'Lane', options: CHOICES.listWaiting.lane },
    { name: 'session', title: 'Session' },
    { name: 'batch', title: 'Batch' },
  ],
  idOf: ({ id }) => id,
  pathOf: ({ sessionKey }) => `/sessions/${encodeURIComponent(sessionKey)}`,
  panel: (id, close, row) => row && <SessionPanel key={id} sessionKey={row.sessionKey} onClose={close} />,
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
      grouped={(rows, isWhole) =>
        groupsOf(rows).map(([code, items]) => <Group key={code} {...{ code, items, isWhole }} />)
      }
    />
  );
}

/** The messages by their reasons, those first that need a person. */
function groupsOf(items: readonly Waiting[]): [string, Waiting[]][] {
  const order = Object.keys(WAIT_WORDS);
  return [...Map.groupBy(items, ({ why }) => why.code)].toSorted(
    ([one], [other]) => order.indexOf(one) - order.indexOf(other),
  );
}

const ROW: readonly PlainColumn<Waiting>[] = [
  {
    title: 'Session',
    className: 'key-cell',
    cell: ({ sessionKey, sessionTitle }) => <SessionLink sessionKey={sessionKey} title={sessionTitle} />,
  },
  { title: 'Text', isClear: true, cell: ({ text }) => <Words text={text} /> },
  { title: 'Why', isClear: true, cell: ({ why }) => <SafeText text={why.text} /> },
  { title: 'Since', className: 'nowrap', cell: ({ why }) => <Age at={why.since} /> },
  {
    title: 'Until',
    className: 'nowrap',
    cell: ({ why }) => (why.until === null ? <span className="soft">not known</span> : <Age at={why.until} />),
  },
];

/** What is waited for, where a person or a program has to answer it. */
const CARDS: Readonly<Record<string, (item: Waiting) => ReactElement>> = {
  approval: ({ why }) => (why.by === null ? <SafeText text={why.text} /> : <ApprovalCard id={why.by} />),
  external_tool: ({ sessionKey, why }) => <ExternalCalls sessionKey={sessionKey} why={why.text} />,
};

/** All that waits for one reason. */
function Group({ code, items, isWhole }: { code: string; items: Waiting[]; isWhole: boolean }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const words = WAIT_WORDS[code as WaitCode];
  const shown = isOpen ? items : items.slice(0, SHOWN);
  const card = CARDS[code];
  return (
    <section className="panel" aria-label={code}>
      <div className="row">
        <h2>{words?.title ?? code}</h2>
        <Chip tone={words?.next === undefined ? undefined : 'warn'}>
          {countText(items.length)}
          {!isWhole && '+'}
        </Chip>
        <span className="soft">{words?.next}</span>
        <Link className="end soft mono" to="/waiting" search={{ reason: code }}>
          {code}
        </Link>
      </div>
      {card !== undefined ? (
        <ul className="items">
          {shown.map((item) => (
            <li key={item.id} className="asked">
              <div className="asked-words">
                <SessionLink sessionKey={item.sessionKey} title={item.sessionTitle} />
                <Words text={item.text} />
                <span className="soft">
                  since <Age at={item.why.since} />
                </span>
              </div>
              {card(item)}
            </li>
          ))}
        </ul>
      ) : (
        <PlainTable columns={ROW} rows={shown} idOf={({ id }) => id} />
      )}
      {items.length > SHOWN && !isOpen && (
        <Button onClick={() => setOpen(true)}>Show {countText(items.length - SHOWN)} more</Button>
      )}
    </section>
  );
}
