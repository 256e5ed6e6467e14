// The sessions of a person, by the id that their messages name as the sender. Items of batches are
// messages, too; those that have not become inputs are in
// src/features/erasure/store/erase-shared.ts.
import { viewQuery } from '../../database/literal-query.ts';
import type { ViewDatabase } from '../../database/page.ts';

export interface SenderSession {
  key: string;
  /**
   * True when messages there name another sender, too, or none. Items of batches without a sender
   * are no one's.
   */
  isShared: boolean;
}

/** Messages that one statement reads, so that each ends within the time limit of its connection. */
const PORTION = 2_000;

const SENDER = `i.body -> 'sender' ->> 'id'`;

export const readSender = viewQuery({
  name: 'sessions-of-sender',
  purpose: `Read the next ${PORTION} messages after $1, and in which sessions the sender $2 has written there (in the channel $3; null: in any).`,
  text: `with portion as materialized (
  select i.id, i.session_id, coalesce(i.kind in ('message', 'batch') and ${SENDER} = $2 and ($3::text is null or coalesce(i.body ->> 'channel', 'api') = $3), false) as is_theirs
  from holdfast.inbox i where i.id > $1::uuid order by i.id limit ${PORTION}
)
select (select id from portion order by id desc limit 1) as last,
  array(select (select s.key from holdfast.sessions s where s.id = theirs.session_id)
    from (select distinct session_id from portion where is_theirs) as theirs) as keys`,
  values: (after: string, senderId: string, channel: string | null) => [after, senderId, channel],
  // `last`: the last message of the portion; null: there was none.
  answer: ([portion]: { last: string | null; keys: (string | null)[] }[]) => portion,
});

export const readOthers = viewQuery({
  name: 'other-senders',
  purpose: `Read the next ${PORTION} messages of the session with the key $1 after the number $2, and whether one of them names another sender than $3.`,
  text: `with portion as materialized (
  select i.seq, i.kind = 'message' and ${SENDER} is distinct from $3 or i.kind = 'batch' and ${SENDER} <> $3 as is_other
  from holdfast.inbox i where i.session_id = (select s.id from holdfast.sessions s where s.key = $1) and i.seq > $2 order by i.seq limit ${PORTION}
)
select max(seq)::float8 as last, coalesce(bool_or(is_other), false) as "isShared" from portion`,
  values: (key: string, after: number, senderId: string) => [key, after, senderId],
  answer: ([portion]: { last: number | null; isShared: boolean }[]) => portion,
});

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * The sessions in which the sender has written, and those with the keys `answered`, which have what
 * the sender was sent. Reads all messages: no index leads from a sender to their messages, because
 * every message would pay for it.
 */
export async function findSessionsOfSender(
  db: ViewDatabase,
  { senderId, channel, answered }: { senderId: string; channel: string | null; answered: readonly string[] },
): Promise<SenderSession[]> {
  const theirs = new Set(answered);
  for (let after: string | null = BEFORE_ALL; after !== null;) {
    const portion: Awaited<ReturnType<typeof readSender>> = await readSender(db, after, senderId, channel);
    // A session that was deleted meanwhile has no key.
    for (const key of portion?.keys ?? []) if (key !== null) theirs.add(key);
    after = portion?.last ?? null;
  }
  const found: SenderSession[] = [];
  for (const key of [...theirs].toSorted()) found.push({ key, isShared: await isShared(db, key, senderId) });
  return found;
}

async function isShared(db: ViewDatabase, key: string, senderId: string): Promise<boolean> {
  for (let after: number | null = 0; after !== null;) {
    const portion: Awaited<ReturnType<typeof readOthers>> = await readOthers(db, key, after, senderId);
    if (portion?.isShared === true) return true;
    after = portion?.last ?? null;
  }
  return false;
}
