// Which messages a list shows, newest first. Each status has a source of its own that an index reads in the order of the ids, so a page costs
// the same however many messages there are.
import { MESSAGE_STATUSES } from '../../core/statuses.ts';
import type { Tags } from '../../core/input-options.ts';
import { literal } from '../../database/statement.ts';
import type { PageRequest, ViewDatabase } from '../../database/page.ts';

/** Absent fields do not filter. */
export interface MessageFilter {
  statuses?: string[] | undefined;
  ids?: string[] | undefined;
  sessionKey?: string | undefined;
  tags?: Tags | undefined;
}

// $1 the statuses, $2: only ids below, $3: how many.
const BELOW = `i.id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')`;

const sourceSql = (condition: string, from = 'holdfast.inbox i'): string =>
  `(select i.id from ${from} where ${condition} and ${BELOW} order by i.id desc limit $3)`;

/** Claimed messages are few: those of the open turns. */
const OPEN_TURNS = 'holdfast.turns t join holdfast.inbox i on i.turn_id = t.id';

const SOURCES = [
  sourceSql('$1::text[] is null'),
  ...['delayed', ...MESSAGE_STATUSES].map((status) =>
    status === 'claimed'
      ? sourceSql(`'claimed' = any ($1) and t.ended_at is null and i.status = 'claimed'`, OPEN_TURNS)
      : sourceSql(`'${status}' = any ($1) and i.status = '${status}'`),
  ),
];

export const FIND_MESSAGES = literal({
  name: 'find-messages',
  purpose: 'Read the ids of messages with some statuses, or of all, newest first.',
  text: `select id from (${SOURCES.join('\n  union all ')}) as found order by id desc limit $3`,
});

export const FIND_MESSAGES_OF_SESSION = literal({
  name: 'find-messages-of-session',
  purpose: 'Read the ids of messages of a session ($4), newest first; $5: of these ids.',
  text: `select i.id from holdfast.inbox i
where i.session_id = (select s.id from holdfast.sessions s where s.key = $4) and ${BELOW}
  and ($1::text[] is null or i.status = any ($1)) and ($5::uuid[] is null or i.id = any ($5))
order by i.id desc limit $3`,
});

export const FIND_MESSAGES_OF_IDS = literal({
  name: 'find-messages-of-ids',
  purpose: 'Read which of some ids ($4) are messages, newest first.',
  text: `select i.id from holdfast.inbox i where i.id = any ($4::uuid[]) and ${BELOW} and ($1::text[] is null or i.status = any ($1))
order by i.id desc limit $3`,
});

export const FIND_TAGGED_MESSAGES = literal({
  name: 'find-tagged-messages',
  purpose: 'Read the ids of messages with tags ($4), newest first; $5: of a session, $6: of these ids.',
  text: `select i.id from holdfast.inbox i
where i.tags @> $4::jsonb and ${BELOW} and ($1::text[] is null or i.status = any ($1))
  and ($5::text is null or i.session_id = (select s.id from holdfast.sessions s where s.key = $5)) and ($6::uuid[] is null or i.id = any ($6))
order by i.id desc limit $3`,
});

/** The ids of a page, and one more if there are more. */
export async function findMessageIds(db: ViewDatabase, filter: MessageFilter, page: PageRequest): Promise<string[]> {
  const { statuses = null, ids = null, sessionKey = null, tags } = filter;
  const values = [statuses?.flatMap(storedStatuses) ?? null, page.after, page.limit + 1];
  const query =
    tags !== undefined
      ? FIND_TAGGED_MESSAGES.prepared([...values, JSON.stringify(tags), sessionKey, ids])
      : sessionKey !== null
        ? FIND_MESSAGES_OF_SESSION.prepared([...values, sessionKey, ids])
        : ids !== null
          ? FIND_MESSAGES_OF_IDS.prepared([...values, ids])
          : FIND_MESSAGES.prepared(values);
  return (await db.query<{ id: string }>(query)).rows.map(({ id }) => id);
}

/** A message that is delivered later waits, to those who ask. */
function storedStatuses(status: string): string[] {
  return status === 'waiting' ? ['waiting', 'delayed'] : [status];
}
