// Chat platforms: the accounts of bots with their state, and below them the people who ask to write
// to an agent.
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { ATTENTION_POLL_MS } from '../attention.ts';
import { countText } from '../format/amounts.ts';
import { useCanAct } from '../me.ts';
import { Age, Empty, Status } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { ListScreen } from '../parts/list-screen.tsx';
import { Fault, haveBegun } from '../parts/loading.tsx';
import { Panel, PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useActions } from '../parts/use-actions.tsx';
import { useSettings } from '../settings.tsx';
import { DECISIONS, pairingsWith, personOf, type Decided } from './pairings.tsx';

type Channel = Awaited<ReturnType<typeof api.listChannels>>['items'][number];
type Account = Channel['accounts'][number] & Pick<Channel, 'adapter' | 'mode'> & { channel: string };

/** Longer than the service waits for the platform. */
const TEST_MS = 25_000;
/** More wait than this, which the service does not count. */
const WAITING_MAX = 10_000;

const MODES: Readonly<Record<Channel['mode'], string>> = {
  poll: 'asked by a worker',
  socket: 'over a socket of a worker',
  webhook: 'calls its webhook',
};

const channelsQuery = queryOptions({ queryKey: ['channels', 'accounts'], queryFn: () => api.listChannels() });

const nameOf = ({ channel, accountId }: Account): string => `${channel}/${accountId}`;
const placeOf = ({ channel, accountId }: Account) => ({ name: channel, account: accountId });

export function Channels(): ReactElement {
  const { isLive } = useSettings();
  const canAct = useCanAct();
  // A pause, and a lease that ends, are no events.
  const channels = useQuery({ ...channelsQuery, refetchInterval: isLive ? ATTENTION_POLL_MS : false });
  const { decision, said } = useDecision();
  const { mutateAsync: decide } = decision;
  const list = useMemo(() => pairingsWith(canAct ? decide : null), [canAct, decide]);
  const accounts = channels.data?.items.flatMap(({ name, accounts: own, ...rest }) =>
    own.map((account) => ({ ...account, ...rest, channel: name })),
  );
  return (
    <ListScreen
      list={list}
      // Shown together: accounts that arrived later would move the requests.
      isReady={haveBegun(channels)}
      above={
        <>
          <Fault query={channels} />
          {accounts !== undefined && <Accounts accounts={accounts} />}
          <div className="row">
            <h2>People who ask to write</h2>
            <span ref={said} role="status" tabIndex={-1}>
              {decision.data !== undefined && <SafeText text={decision.data} />}
            </span>
          </div>
          {decision.isError && <Problem error={decision.error} />}
        </>
      }
    />
  );
}

/** Sends decisions, and says what one has led to: its row may be gone, so the focus goes there. */
function useDecision() {
  const queries = useQueryClient();
  const said = useRef<HTMLSpanElement>(null);
  const decision = useMutation({
    mutationFn: async ({ verb, pairing }: Decided) => {
      await DECISIONS[verb].send({ id: pairing.id });
      return `${personOf(pairing)} ${DECISIONS[verb].outcome}`;
    },
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: ['channels'] });
      void queries.invalidateQueries({ queryKey: ['stats'] });
    },
  });
  const { status, submittedAt } = decision;
  useEffect(() => {
    if (status === 'success' || status === 'error') said.current?.focus({ preventScroll: true });
  }, [status, submittedAt]);
  return { decision, said };
}

const COLUMNS: readonly PlainColumn<Account>[] = [
  {
    title: 'Account',
    cell: (account) => (
      <>
        <SafeText text={nameOf(account)} />{' '}
        <small className="soft">
          <SafeText text={account.adapter} />, {MODES[account.mode]}
        </small>
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ state, connectedAt, lastError }) => (
      <>
        <Status status={state} />{' '}
        {state === 'connected' && connectedAt !== null && (
          <span className="soft">
            since <Age at={connectedAt} />
          </span>
        )}
        {lastError !== null && <SafeText text={lastError} />}
      </>
    ),
  },
  {
    title: 'Bot',
    className: 'nowrap',
    cell: ({ botId }) => (botId === null ? <span className="soft">not known yet</span> : <SafeText text={botId} />),
  },
  { title: 'Last received', cell: ({ lastReceivedAt }) => <Age at={lastReceivedAt} /> },
  {
    title: 'Waits to be sent',
    isNumber: true,
    cell: ({ waitingParts }) => `${countText(waitingParts)}${waitingParts >= WAITING_MAX ? '+' : ''}`,
  },
  {
    title: 'See',
    className: 'nowrap',
    cell: ({ channel }) => (
      <>
        <Link to="/deliveries" search={{ channel }} aria-label={`Deliveries to ${channel}`}>
          deliveries
        </Link>{' '}
        <Link to="/sessions" search={{ channel }} aria-label={`Sessions of ${channel}`}>
          sessions
        </Link>
      </>
    ),
  },
];

function Accounts({ accounts }: { accounts: readonly Account[] }): ReactElement {
  const canAct = useCanAct();
  const [tested, setTested] = useState<Account | null>(null);
  const { act, isBusy, problem } = useActions('channels', 'stats');
  const test = useMutation({
    mutationFn: (account: Account) => api.testChannel(placeOf(account), { timeoutMs: TEST_MS }),
  });
  if (accounts.length === 0)
    return (
      <Empty command="npx holdfast channels add telegram">
        No chat platform is connected. Add a bot on the machine of the service, then restart its processes:
      </Empty>
    );
  const buttonsOf = (account: Account): ReactElement => {
    const [verb, send] =
      account.state === 'paused' ? (['Resume', api.resumeChannel] as const) : (['Pause', api.pauseChannel] as const);
    return (
      <span className="beside">
        <Button
          disabled={isBusy}
          aria-label={`${verb} ${nameOf(account)}`}
          onClick={() => act(() => send(placeOf(account)))}
        >
          {verb}
        </Button>
        <Button
          disabled={test.isPending}
          aria-label={`Test ${nameOf(account)}`}
          onClick={() => {
            setTested(account);
            test.mutate(account);
          }}
        >
          Test
        </Button>
      </span>
    );
  };
  const columns = canAct ? [...COLUMNS, { title: 'Actions', isClear: true as const, cell: buttonsOf }] : COLUMNS;
  return (
    <Panel title="Accounts">
      <div className="scroll-x">
        <PlainTable columns={columns} rows={accounts} idOf={nameOf} />
      </div>
      {problem}
      <div role="status">
        {tested !== null && test.isPending && <p>Asking the platform of {nameOf(tested)}…</p>}
        {tested !== null && test.data !== undefined && <Found account={tested} found={test.data} />}
      </div>
      {test.isError && <Problem error={test.error} />}
    </Panel>
  );
}

/** What a test has found: who the bot is, and what to do. */
function Found({
  account,
  found: { botId, botName, error, problems },
}: {
  account: Account;
  found: Awaited<ReturnType<typeof api.testChannel>>;
}): ReactElement {
  if (error !== null)
    return (
      <p>
        The test of {nameOf(account)} has failed: <SafeText text={error} />
      </p>
    );
  return (
    <>
      <p>
        {nameOf(account)} is the bot <SafeText text={botName ?? ''} /> (<SafeText text={botId ?? ''} />
        ). {problems.length === 0 ? 'The test has found nothing to do.' : 'To do:'}
      </p>
      {problems.length > 0 && (
        <ul aria-label={`To do for ${nameOf(account)}`}>
          {problems.map((problem) => (
            <li key={problem}>
              <SafeText text={problem} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
