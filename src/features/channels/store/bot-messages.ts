// How much a bot has said to an agent lately.
import type { SessionKey } from '../../../core/ids.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** How many messages of a session are read, newest first. */
const SEARCHED = 200;

export const countBotMessages = literalQuery({
  name: 'count-bot-messages',
  purpose:
    'Count what a bot has said to an agent within an hour, up to a message of it. None, if that message is stored: it comes again.',
  text: `select case when bool_or(said.id = $messageId) then 0 else count(*)::int end as count from (
  select i.body -> 'sender' ->> 'id' as sender, i.body ->> 'messageId' as id, i.received_at from holdfast.inbox i
  where i.session_id = (select s.id from holdfast.sessions s where s.key = $sessionKey) order by i.seq desc limit ${SEARCHED}
) as said where said.sender = $senderId and said.received_at > clock_timestamp() - interval '1 hour'`,
  values: (message: { sessionKey: SessionKey; senderId: string; messageId: string }) => message,
  answer: ([row]: { count: number }[]) => row!.count,
});
