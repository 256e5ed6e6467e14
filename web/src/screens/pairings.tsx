// People who ask to write to an agent in a direct chat: the list of their requests, and the
// decisions about them.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api } from '../api.ts';
import { ATTENTION_POLL_MS } from '../attention.ts';
import { Age, Chip, Status } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import type { Column } from '../parts/data-table.tsx';
import { ConfirmButton } from '../parts/dialog-button.tsx';
import type { List } from '../parts/list.ts';
import { SafeText } from '../parts/safe-text.tsx';

type Pairing = Awaited<ReturnType<typeof api.listPairings>>['items'][number];

export const DECISIONS = {
  approve: { send: api.approvePairing, outcome: 'may write now, and is notified.' },
  deny: { send: api.denyPairing, outcome: 'may not write, and is not notified.' },
  delete: { send: api.deletePairing, outcome: 'may not write, and can ask again.' },
} as const;

export interface Decided {
  verb: keyof typeof DECISIONS;
  pairing: Pairing;
}

/**
 * The id of the person first, as it is what counts: a name that the person has chosen could look
 * like another id.
 */
export const personOf = ({ senderName, senderId }: Pairing): string =>
  senderName === null ? senderId : `${senderId} (${senderName})`;

const ANY = 'any';
const COLUMNS: readonly Column<Pairing>[] = [
  {
    title: 'Status',
    width: '88px',
    cell: ({ status }) => (status === 'open' ? <Chip tone="warn">open</Chip> : <Status status={status} />),
  },
  {
    title: 'Code',
    width: '96px',
    cell: ({ code }) => (
      <span className="mono">
        <SafeText text={code} />
      </span>
    ),
  },
  { title: 'Person', width: 'minmax(170px, 3fr)', cell: (pairing) => <SafeText text={personOf(pairing)} /> },
  {
    title: 'Account',
    width: 'minmax(104px, 1fr)',
    cell: ({ channel, accountId }) => <SafeText text={`${channel}/${accountId}`} />,
  },
  { title: 'Asked', width: '84px', cell: ({ requestedAt }) => <Age at={requestedAt} /> },
  {
    title: 'Ends',
    width: '120px',
    cell: ({ status, expiresAt, decidedBy, decidedAt }) =>
      decidedAt === null || status === 'open' ? (
        <Age at={expiresAt} />
      ) : (
        <>
          <Age at={decidedAt} /> {decidedBy !== null && <SafeText text={decidedBy} />}
        </>
      ),
  },
  {
    title: 'Chat',
    width: '92px',
    // The keys of sessions have the id of the chat, unless all share one.
    cell: ({ channel, chatId }) => (
      <Link to="/deliveries" search={{ channel, q: chatId }} aria-label={`Deliveries to the chat ${chatId}`}>
        deliveries
      </Link>
    ),
  },
];

const PAIRINGS: List<Pairing> = {
  title: 'Channels',
  label: 'People who ask to write',
  noun: 'request',
  key: ['channels', 'pairings'],
  read: ({ status = 'open' }, page, signal) =>
    api.listPairings(status === ANY ? page : { ...page, status: status as Pairing['status'] }, { signal }),
  // Codes expire, and others decide: neither is an event.
  rereadMs: () => ATTENTION_POLL_MS,
  columns: COLUMNS,
  filters: [{ name: 'status', title: 'Status', usual: 'open', options: [...CHOICES.listPairings.status, ANY] }],
  idOf: ({ id }) => id,
  empty: {
    text: (
      <>
        No one asks to write. A person who writes to a bot with <code>dm: &quot;pairing&quot;</code> and may not is sent
        a code and stands here; the status <em>any</em> shows those that were decided, too.
      </>
    ),
  },
};

/** The list with the buttons that decide; null: without. */
export function pairingsWith(decide: ((decided: Decided) => Promise<unknown>) | null): List<Pairing> {
  if (decide === null) return PAIRINGS;
  const cell = (pairing: Pairing): ReactElement => <Buttons pairing={pairing} decide={decide} />;
  return { ...PAIRINGS, columns: [...COLUMNS, { title: 'Decide', width: '172px', isClear: true, cell }] };
}

interface ButtonsProps {
  pairing: Pairing;
  decide: (decided: Decided) => Promise<unknown>;
}

/** A decision can be taken back: its request is deleted, which cannot be. */
function Buttons({ pairing, decide }: ButtonsProps): ReactElement {
  const { status, code } = pairing;
  const send = (verb: 'approve' | 'deny') => (): void => void decide({ verb, pairing }).catch(() => undefined);
  if (status === 'open')
    return (
      <span className="beside">
        <Button tone="main" aria-label={`Approve ${code}`} onClick={send('approve')}>
          Approve
        </Button>
        <Button aria-label={`Deny ${code}`} onClick={send('deny')}>
          Deny
        </Button>
      </span>
    );
  return (
    <ConfirmButton
      name="Delete…"
      label={`Delete… ${code}`}
      title="Delete this request?"
      verb="Delete the request"
      perform={() => decide({ verb: 'delete', pairing })}
    >
      <p>
        <SafeText text={personOf(pairing)} /> {status === 'approved' && 'may not write to the agent any more, and '}
        can ask again with a new code.
      </p>
    </ConfirmButton>
  );
}
