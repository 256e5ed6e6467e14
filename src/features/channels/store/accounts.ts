// What is stored of the accounts of bots: which process reads one, and how far, and whether it is
// connected, paused or lost. A process claims an account with a lease and an epoch; every later
// write names both, so a process that was paused past its lease writes nothing. A row is made by
// what happens first to an account.
import { literalQuery, viewQuery } from '../../../database/literal-query.ts';
import { insertServiceEventsSql } from '../../../kernel/events/events.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';

/** The names of an account in the configuration. */
export interface AccountName {
  channel: string;
  account: string;
}

/** The right of one process to read an account, until its lease ends. */
export interface AccountHold extends AccountName {
  owner: string;
  epoch: string;
}

const OF_ACCOUNT_SQL = 'a.channel = $channel and a.account = $account';
const HELD_SQL = `${OF_ACCOUNT_SQL} and a.owner = $owner and a.epoch = $epoch::bigint`;
const LEASE_SQL = "clock_timestamp() + $leaseMs::float8 * interval '1 millisecond'";

export const noteAccounts = literalQuery({
  name: 'note-channel-accounts',
  purpose: 'Make the rows of accounts that the configuration names.',
  text: `insert into holdfast.channel_accounts (channel, account)
select * from unnest($channels::text[], $accounts::text[]) on conflict do nothing`,
  values: (accounts: readonly AccountName[]) => ({
    channels: accounts.map(({ channel }) => channel),
    accounts: accounts.map(({ account }) => account),
  }),
});

/** SQL of whether an account could be claimed. */
export const IS_FREE_SQL = `exists (select from holdfast.channel_accounts a
  where ${OF_ACCOUNT_SQL} and not a.is_paused and (a.owner is null or a.lease_expires_at < statement_timestamp()))`;

export const claimAccount = literalQuery({
  name: 'claim-channel-account',
  purpose:
    'Claim an account that no process holds and that is not paused. Answers the epoch; no row: another process holds it. `owner` is new for each claim.',
  locking: 'The account.',
  text: `update holdfast.channel_accounts a set owner = $owner, epoch = a.epoch + 1, lease_expires_at = ${LEASE_SQL}
where ${OF_ACCOUNT_SQL} and not a.is_paused and (a.owner is null or a.owner = $owner or a.lease_expires_at < clock_timestamp())
returning a.epoch::text as epoch`,
  values: (claim: AccountName & { owner: string; leaseMs: number }) => claim,
  answer: ([row]: { epoch: string }[]) => row?.epoch ?? null,
});

export const renewAccount = literalQuery({
  name: 'renew-channel-account',
  purpose:
    'Extend the lease of an account. Answers whether this process may still read it: it holds it, and it is not paused.',
  locking: 'The account.',
  text: `update holdfast.channel_accounts a set lease_expires_at = ${LEASE_SQL} where ${HELD_SQL} and not a.is_paused returning true as held`,
  values: (hold: AccountHold, leaseMs: number) => ({ ...hold, leaseMs }),
  answer: (rows: object[]) => rows.length > 0,
});

export const readPause = literalQuery({
  name: 'read-channel-pause',
  purpose: 'Read whether an account is paused.',
  text: `select from holdfast.channel_accounts a where ${OF_ACCOUNT_SQL} and a.is_paused`,
  values: (name: AccountName) => name,
  answer: (rows: object[]) => rows.length > 0,
});

export const releaseAccount = literalQuery({
  name: 'release-channel-account',
  purpose: 'Leave an account to another process.',
  locking: 'The account.',
  text: `update holdfast.channel_accounts a set owner = null, lease_expires_at = null where ${HELD_SQL}`,
  values: (hold: AccountHold) => hold,
});

export const noteConnected = literalQuery({
  name: 'note-channel-connected',
  purpose:
    'Note for which bot the platform answers, and that it can be read: a position is that of its bot. Answers the position from which to read; no row: the lease is lost.',
  locking: 'The account.',
  text: `with held as materialized (select a.* from holdfast.channel_accounts a where ${HELD_SQL} for no key update),
changed as materialized (select * from held where $isWorking::boolean and (bot_id is distinct from $botId or last_error is not null or connected_at is null)),
updated as (
  update holdfast.channel_accounts a set bot_id = $botId,
    last_error = case when $isWorking then null else held.last_error end,
    connected_at = case when $isWorking then clock_timestamp() else held.connected_at end,
    position = case when held.bot_id = $botId then held.position end
  from held where a.channel = held.channel and a.account = held.account
),
events as (${insertServiceEventsSql('changed', 'channel.connected', `'channel', channel, 'accountId', account, 'botId', $botId::text`)})
select case when bot_id = $botId then position end as position from held`,
  values: (hold: AccountHold & { botId: string; isWorking: boolean }) => hold,
  answer: ([row]: { position: string | null }[]) => row ?? null,
});

export const noteLost = literalQuery({
  name: 'note-channel-lost',
  purpose: 'Note why the platform cannot be read.',
  locking: 'The account.',
  text: `with held as materialized (select a.* from holdfast.channel_accounts a where ${HELD_SQL} for no key update),
updated as (
  update holdfast.channel_accounts a set last_error = $error from held where a.channel = held.channel and a.account = held.account
),
events as (${insertServiceEventsSql('held where last_error is null', 'channel.lost', `'channel', channel, 'accountId', account, 'error', $error::text`)})
select`,
  values: (loss: AccountHold & { error: string }) => loss,
});

export const storePosition = literalQuery({
  name: 'store-channel-position',
  purpose:
    'Store how far an account is read, after what lies before is committed, and when something was received (`isNew`). Answers whether this process still holds it.',
  locking: 'The account.',
  text: `update holdfast.channel_accounts a set position = $position,
  last_received_at = case when $isNew::boolean then clock_timestamp() else a.last_received_at end
where ${HELD_SQL} returning true as held`,
  values: (read: AccountHold & { position: string | null; isNew: boolean }) => read,
  answer: (rows: object[]) => rows.length > 0,
});

export const noteReceived = literalQuery({
  name: 'note-channel-received',
  purpose: 'Note that the platform has sent something to an account, once in a few seconds.',
  locking: 'The account.',
  text: `insert into holdfast.channel_accounts as a (channel, account, last_received_at) values ($channel, $account, clock_timestamp())
on conflict (channel, account) do update set last_received_at = excluded.last_received_at`,
  values: (name: AccountName) => name,
});

export const pauseAccount = literalQuery({
  name: 'pause-channel-account',
  purpose: 'Pause an account, or end its pause.',
  locking: 'The account.',
  text: `with stored as (
  insert into holdfast.channel_accounts as a (channel, account, is_paused) values ($channel, $account, $isPaused)
  on conflict (channel, account) do update set is_paused = excluded.is_paused
  returning a.is_paused
),
${keyedSql(`select json_build_object('paused', is_paused) from stored`)}
select is_paused as paused from stored`,
  values: (pause: AccountName & { isPaused: boolean }, idempotency: KeyedRequest | null) => ({
    ...pause,
    ...idempotency,
  }),
  answer: ([row]: { paused: boolean }[]) => row!,
});

/** What is stored of an account. */
interface StoredAccount extends AccountName {
  botId: string | null;
  isPaused: boolean;
  /** A process holds its poll or its socket. */
  isHeld: boolean;
  connectedAt: string | null;
  lastReceivedAt: string | null;
  lastError: string | null;
}

export const readAccountStates = viewQuery({
  name: 'list-channel-accounts',
  purpose: 'Read what is known of the accounts of channels.',
  text: `select a.channel, a.account, a.bot_id as "botId", a.is_paused as "isPaused", coalesce(a.lease_expires_at > clock_timestamp(), false) as "isHeld",
  ${isoSql('a.connected_at')} as "connectedAt", ${isoSql('a.last_received_at')} as "lastReceivedAt", a.last_error as "lastError"
from holdfast.channel_accounts a`,
  answer: (rows: StoredAccount[]) => rows,
});

/** Messages that wait are counted up to this. */
const WAITING_MAX = 10_000;

export const readWaitingParts = viewQuery({
  name: 'count-waiting-parts',
  purpose: 'Count the messages that wait to be sent to chats, by account.',
  text: `select place[1] as channel, place[2] as account, count(*)::int as count from (
  select regexp_match(d.target ->> 'url', '^channel:([^/]+)/([^/]+)/') as place
  from holdfast.deliveries d where d.status in ('pending', 'sending') and starts_with(d.target ->> 'url', 'channel:') limit ${WAITING_MAX}
) as waiting group by 1, 2`,
  // Their addresses have the names encoded.
  answer: (rows: (AccountName & { count: number })[]) =>
    rows.map(({ channel, account, count }) => ({
      channel: decodeURIComponent(channel),
      account: decodeURIComponent(account),
      count,
    })),
});
