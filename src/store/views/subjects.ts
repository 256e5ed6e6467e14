// The sessions of a person, by the id that their messages name as the sender.
import { sql } from '../drizzle.ts';
import type { ViewDatabase } from './page.ts';

export interface SenderSession {
  key: string;
  /** True when messages there name another sender, too, or none. */
  isShared: boolean;
}

/** Reads all messages: no index leads from a sender to their messages, because every message would pay for it. */
export async function findSessionsOfSender(
  db: ViewDatabase,
  { senderId, channel = null }: { senderId: string; channel?: string | null | undefined },
): Promise<SenderSession[]> {
  const { rows } = await db.execute<SenderSession & Record<string, unknown>>(sql`
    with theirs as materialized (
      select distinct i.session_id from holdfast.inbox i
      where i.kind = 'message' and i.body -> 'sender' ->> 'id' = ${senderId} and (${channel}::text is null or coalesce(i.body ->> 'channel', 'api') = ${channel})
    )
    select s.key, exists (
        select from holdfast.inbox i
        where i.session_id = s.id and i.kind = 'message' and i.body -> 'sender' ->> 'id' is distinct from ${senderId}
      ) as "isShared"
    from theirs join holdfast.sessions s on s.id = theirs.session_id order by s.key`);
  return rows;
}
