// What is known of the accounts of bots: whether they are connected, paused or lost. A row is made by what happens first to an account.
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery, viewQuery } from '../../../database/literal-query.ts';
import { insertServiceEventsSql } from '../../../kernel/events/events.ts';

/** The names of an account in the configuration. */
export interface AccountName {
  channel: string;
  account: string;
}

const OF_ACCOUNT_SQL = 'a.channel = $channel and a.account = $account';

export const noteConnected = literalQuery({
  name: 'note-channel-connected',
  purpose: 'Note that an account is connected; it is an event if it was not.',
  locking: 'The account.',
  text: `with known as materialized (select a.connected_at from holdfast.channel_accounts a where ${OF_ACCOUNT_SQL} for update),
stored as (
  insert into holdfast.channel_accounts as a (channel, account, bot_id, connected_at) values ($channel, $account, $botId, clock_timestamp())
  on conflict (channel, account) do update set bot_id = excluded.bot_id, connected_at = coalesce(a.connected_at, excluded.connected_at), last_error = null
),
events as (${insertServiceEventsSql(
    `(values (1)) as one where not exists (select from known where connected_at is not null)`,
    'channel.connected',
    `'channel', $channel::text, 'accountId', $account::text, 'botId', $botId::text`,
  )})
select`,
  values: (account: AccountName & { botId: string }) => account,
});

export const noteLost = literalQuery({
  name: 'note-channel-lost',
  purpose: 'Note that the platform of an account was not reached; it is an event if that was not known.',
  locking: 'The account.',
  text: `with known as materialized (select a.last_error from holdfast.channel_accounts a where ${OF_ACCOUNT_SQL} for update),
stored as (
  insert into holdfast.channel_accounts as a (channel, account, last_error) values ($channel, $account, $error)
  on conflict (channel, account) do update set last_error = excluded.last_error, connected_at = null
),
events as (${insertServiceEventsSql(
    `(values (1)) as one where not exists (select from known where last_error is not null)`,
    'channel.lost',
    `'channel', $channel::text, 'accountId', $account::text, 'error', $error::text`,
  )})
select`,
  values: (loss: AccountName & { error: string }) => loss,
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
interface StoredAccount {
  channel: string;
  account: string;
  botId: string | null;
  isPaused: boolean;
  /** A process holds its poll or its socket. */
  isHeld: boolean;
  connectedAt: string | null;
  received: number;
  lastReceivedAt: string | null;
  lastError: string | null;
}

export const readAccountStates = viewQuery({
  name: 'list-channel-accounts',
  purpose: 'Read what is known of the accounts of channels.',
  text: `select a.channel, a.account, a.bot_id as "botId", a.is_paused as "isPaused", coalesce(a.lease_expires_at > clock_timestamp(), false) as "isHeld",
  ${isoSql('a.connected_at')} as "connectedAt", ${isoSql('a.last_received_at')} as "lastReceivedAt", a.received::float8 as received, a.last_error as "lastError"
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
  answer: (rows: (AccountName & { count: number })[]) => rows,
});
