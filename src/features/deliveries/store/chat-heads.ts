// The order of deliveries to chats. A chat gets the deliveries of a session in their order, part
// after part, and those of several sessions in the order in which the oldest of each was stored, so
// the parts of one answer stay together. Only the first of a chat, its head, can be claimed.
import { placesOfUrlSql } from '../../../core/channel-address.ts';

/** The condition of the index `deliveries_of_chats`. */
export const OPEN_IN_CHAT_SQL = `d.channel <> 'webhook' and d.status in ('pending', 'sending')`;

/** SQL of the head of each chat that `condition` names. */
export const headsOfChatsSql = (condition: string): string => `select distinct on (url) * from (
    select distinct on (d.target ->> 'url', d.session_id) d.target ->> 'url' as url, d.session_id, d.id, d.created_at, d.seq, d.attempts,
      case d.status when 'pending' then d.due_at else d.lease_expires_at end as due_at
    from holdfast.deliveries d where ${OPEN_IN_CHAT_SQL} and ${condition}
    order by d.target ->> 'url', d.session_id, d.seq, d.part
  ) as oldest_of_sessions order by url, created_at, session_id`;

/** A relay waits this long for its turn among the messages of an account. */
const TURN_WAIT_SQL = `interval '1 second'`;

const { chat, account } = placesOfUrlSql('heads.url');

/**
 * SQL of the rows of the CTE `heads`, each with the time from which it and its chat may be claimed,
 * and its account too; none of an account that is paused.
 */
export const GATED_HEADS_SQL = `select heads.*, greatest(heads.due_at, chat.next_at) as chat_free_at,
    greatest(heads.due_at, chat.next_at, account.next_at - ${TURN_WAIT_SQL}) as free_at
  from heads
  left join holdfast.channel_gates chat on chat.place = ${chat}
  left join holdfast.channel_gates account on account.place = ${account}
  where not exists (select from holdfast.channel_accounts paused
    where paused.is_paused and starts_with(heads.url, 'channel:' || paused.channel || '/' || paused.account || '/'))`;
