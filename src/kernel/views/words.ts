// The SQL of the facts from which `src/core/words.ts` makes the names of things. They are read from
// the rows that have them, each by an index, and nothing keeps a copy, so that what is erased is
// gone from lists, too.
import {
  NAMED_AT_FIRST,
  titleOfSession,
  titleOfInput,
  WORDS_CHARS_MAX,
  type SessionNames,
  type WordedInput,
} from '../../core/words.ts';

/** Blanks are made one when the text has been read, so more of it is read than is shown. */
export const beginningSql = (text: string): string => `left(${text}, ${2 * WORDS_CHARS_MAX})`;

/** Who sent the message `i`, as its platform calls them; null: not known. */
export const PERSON_SQL = `left(coalesce(${['name', 'username', 'tag', 'id', 'e164']
  .map((field) => `nullif(i.body -> 'sender' ->> '${field}', '')`)
  .join(', ')}), ${WORDS_CHARS_MAX})`;

/** The group or the conversation of the message `i`; null: it has no name. */
const CHAT_SQL = `left(coalesce(${[
  "i.body -> 'group' ->> 'subject'",
  "i.body ->> 'conversationLabel'",
  "i.body -> 'group' ->> 'channel'",
]
  .map((name) => `nullif(${name}, '')`)
  .join(', ')}), ${WORDS_CHARS_MAX})`;

/** The input `i` as a `WordedInput`. */
export const INPUT_SQL = `json_build_object('kind', i.kind, 'text', ${beginningSql(`i.body ->> 'text'`)}, 'announcement', i.body -> 'announcement')`;

/** SQL of an input that the turn of this id answers first, as a `WordedInput`; null: there is none. */
export const firstInputSql = (turnId: string): string =>
  `(select ${INPUT_SQL} from holdfast.inbox i where i.turn_id = ${turnId} order by i.seq limit 1)`;

const AT_FIRST_SQL = NAMED_AT_FIRST.map((kind) => `'${kind}'`).join(', ');

/**
 * SQL of what the session `s` can be called by, as `SessionNames`. Sessions that people write in
 * have their names in the newest message, others in the first one.
 */
export const sessionNamesSql = (
  s: string,
): string => `json_build_object('key', ${s}.key, 'kind', ${s}.kind, 'label', ${s}.label, 'channel', ${s}.channel,
    'input', (select ${INPUT_SQL} from holdfast.inbox i
      where i.session_id = ${s}.id and ${s}.label is null and ${s}.kind in (${AT_FIRST_SQL}) order by i.seq limit 1),
    'from', (select json_build_object('person', ${PERSON_SQL}, 'chat', ${CHAT_SQL}) from holdfast.inbox i
      where i.session_id = ${s}.id and ${s}.label is null and ${s}.kind not in (${AT_FIRST_SQL}) order by i.seq desc limit 1))`;

/** What that reads. */
export type NamesRow = Omit<SessionNames, 'person' | 'chat'> & { from: Pick<SessionNames, 'person' | 'chat'> | null };

/** The title of a session as it was read. */
export function sessionTitle({ from, ...names }: NamesRow): string {
  return titleOfSession({ ...names, person: from?.person ?? null, chat: from?.chat ?? null });
}

/** The title of a turn by the input that it answers first; null: that is not kept. */
export function turnTitle(kind: string, input: WordedInput | null): string {
  return titleOfInput(kind === 'compaction' || input === null ? { kind, text: null, announcement: null } : input);
}
