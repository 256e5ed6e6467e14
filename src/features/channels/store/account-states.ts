// What is known of the accounts of bots: whether they are connected, paused or lost. A row is made by what happens first to an account.
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery, viewQuery } from '../../../database/literal-query.ts';
import type { AccountName } from './accounts.ts';

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
