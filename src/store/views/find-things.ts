// What a search text names exactly: an id, the key of a session, the id that a platform gave a message, or the code of open dead letters. Each
// look-up is one by an index. A list with a text that names nothing looks for the text in its rows instead.
import { isUuid } from '../../core/ids.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../../core/session-key.ts';
import { literal } from '../statement.ts';
import type { ViewDatabase } from './page.ts';

/** The objects that a text names; both empty: none. */
export interface NamedThings {
  turnIds: string[];
  sessionIds: string[];
}

/** The maximum number of messages with one platform id, and of dead letters with one code, that are read. */
const NAMED_MAX = 1_000;

export const FIND_BY_ID = literal({
  name: 'find-by-id',
  purpose: 'Find what has this id: a turn, a message (its turn, or its session while no turn has it) or a session.',
  text: `select array(select t.id from holdfast.turns t where t.id = $1
    union select i.turn_id from holdfast.inbox i where i.id = $1 and i.turn_id is not null) as "turnIds",
  array(select s.id from holdfast.sessions s where s.id = $1) as "sessionIds",
  array(select t.session_id from holdfast.turns t where t.id = $1
    union select i.session_id from holdfast.inbox i where i.id = $1) as "ownerIds"`,
});

export const FIND_BY_TEXT = literal({
  name: 'find-by-text',
  purpose: 'Find the session with this key ($2), and messages to which their platform gave this id ($1).',
  text: `with named as materialized (
  select i.turn_id, i.session_id from holdfast.inbox i
  where i.platform_key is not null and substring(i.platform_key from '"([^"]*)"\\]$') = $1 limit ${NAMED_MAX}
)
select array(select distinct turn_id from named where turn_id is not null) as "turnIds",
  array(select s.id from holdfast.sessions s where s.key = $2) as "sessionIds",
  array(select distinct session_id from named) as "ownerIds"`,
});

export const FIND_BY_CODE = literal({
  name: 'find-by-code',
  purpose: 'Find the sessions that have open dead letters with this code.',
  text: `select array(select distinct session_id from (
    select d.session_id from holdfast.dead_letters d where d.state = 'open' and d.code = $1 and d.session_id is not null limit ${NAMED_MAX}
  ) as letters) as "sessionIds"`,
});

interface FoundRow extends NamedThings {
  /** The sessions of the objects that are not sessions themselves. */
  ownerIds: string[];
}

/** The turns that a text names: by their ids or those of their messages, or all of the sessions that it names. */
export async function findTurns(db: ViewDatabase, text: string): Promise<NamedThings> {
  const { turnIds, sessionIds } = await find(db, text);
  return { turnIds, sessionIds };
}

/** The sessions that a text names: themselves, or by a turn, a message or the code of a dead letter. */
export async function findSessions(db: ViewDatabase, text: string): Promise<string[]> {
  const { sessionIds, ownerIds } = await find(db, text);
  const found = [...new Set([...sessionIds, ...ownerIds])];
  if (found.length > 0 || isUuid(text)) return found;
  const { rows } = await db.$client.query<{ sessionIds: string[] }>(FIND_BY_CODE.prepared([text]));
  return rows[0]?.sessionIds ?? [];
}

async function find(db: ViewDatabase, text: string): Promise<FoundRow> {
  const { rows } = isUuid(text)
    ? await db.$client.query<FoundRow>(FIND_BY_ID.prepared([text]))
    : await db.$client.query<FoundRow>(FIND_BY_TEXT.prepared([text, keyOf(text)]));
  return rows[0] ?? { turnIds: [], sessionIds: [], ownerIds: [] };
}

/** The session key that a text is; null: it can be none. */
function keyOf(text: string): string | null {
  try {
    return canonicalSessionKey(text);
  } catch (error) {
    if (error instanceof InvalidSessionKeyError) return null;
    throw error;
  }
}
