// Scores, as they are written. The row of the turn is locked, so that a retention that deletes the
// turn waits, and deletes the score with it.
import { THUMB, type ScoreValue } from '../../../contract/scores.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import { placesOfUrlSql } from '../../../core/channel-address.ts';

export interface NewScore {
  id: string;
  turnId: string;
  /** A message of the turn that is judged; null: the turn. */
  messageId: string | null;
  name: string;
  value: ScoreValue;
  note: string | null;
  author: string;
}

const STORE_SQL = `insert into holdfast.turn_scores as s (id, session_id, turn_id, message_id, name, value, note, author, source)
  select $id::uuid, judged.session_id, judged.turn_id, judged.message_id, $name::text, $value::jsonb, $note::text, $author::text, $source::text from judged
  on conflict (turn_id, message_id, author, name) do update
  set value = excluded.value, note = excluded.note, source = excluded.source,
    updated_at = case when (s.value, s.note) is distinct from (excluded.value, excluded.note)
      then clock_timestamp() else s.updated_at end`;

const eventSql = (type: 'score.set' | 'score.removed', rows: string): string =>
  `select session_id, turn_id, '${type}' as type,
      json_build_object('messageId', message_id, 'score', name, 'value', value, 'by', author) as data, 0 as n from ${rows}`;
/** A statement that is sent again changes nothing, so it is no news. */
const SET_SQL = eventSql('score.set', 'stored where updated_at >= statement_timestamp()');
const REMOVED_SQL = eventSql('score.removed', 'removed');

/** The same score as an earlier version has stored it (migration 0112). */
const EARLIER_SQL = `earlier as (
  delete from holdfast.scores where id in (select id from removed)
)`;

/** Stores a score in place of an earlier one of its author; resolves with its id. */
export const storeScore = literalQuery({
  name: 'store-score',
  purpose:
    'Store what a person thinks of a turn or of one of its messages. Answers the id; none: there is no such turn, or the message is not one of it.',
  locking: 'The turn, then the score.',
  pool: 'views',
  text: `with judged as materialized (
  select t.session_id, t.id as turn_id, $messageId::uuid as message_id from holdfast.turns t
  where t.id = $turnId::uuid and ($messageId::uuid is null or exists (select from holdfast.inbox i where i.id = $messageId and i.turn_id = t.id)) for key share
),
stored as (
  ${STORE_SQL}
  returning s.*
),
inserted_events as (
  ${insertEventsSql(SET_SQL)}
),
${keyedSql(`select json_build_object('id', id) from stored`)}
select id from stored`,
  values: (score: NewScore, idempotency: KeyedRequest | null) => ({
    ...score,
    value: JSON.stringify(score.value),
    source: 'api',
    ...idempotency,
  }),
  answer: ([row]: { id: string }[]) => row?.id ?? null,
});

export const deleteScore = literalQuery({
  name: 'delete-score',
  purpose: 'Remove a score. Answers whether it was there.',
  locking: 'The score.',
  pool: 'views',
  text: `with removed as (
  delete from holdfast.turn_scores where id = $id returning *
),
${EARLIER_SQL},
inserted_events as (
  ${insertEventsSql(REMOVED_SQL)}
)
select exists (select from removed) as "isRemoved"`,
  values: (id: string) => ({ id }),
  answer: ([row]: { isRemoved: boolean }[]) => row?.isRemoved === true,
});

export interface Reaction {
  id: string;
  /** The chat of the reaction, as the URL of deliveries to it. */
  url: string;
  /** The platform's id of the message that it is a reaction to. */
  platformId: string;
  /** True: 👍. */
  value: boolean;
  /** False: the person has taken the reaction back. */
  isAdded: boolean;
  author: string;
  source: string;
}

/**
 * Makes the reaction to an answer of a turn a score, or removes it. A score that says something
 * else by now stays when an earlier reaction is taken back. A reaction counts once, by its key: a
 * platform that sends it again after the person has taken it back must not bring the score back.
 */
export const scoreReaction = literalQuery({
  name: 'score-reaction',
  purpose: 'Store or remove the score that a reaction in a chat stands for, if it is one to an answer of a turn.',
  locking: 'The turn, then the score.',
  text: `with judged as materialized (
  select t.session_id, t.id as turn_id, null::uuid as message_id from holdfast.turns t
  where t.id = (
    select d.turn_id from holdfast.deliveries d
    where d.platform_id = $platformId and ${placesOfUrlSql(`d.target ->> 'url'`).chat} = ${placesOfUrlSql('$url::text').chat} limit 1
  ) for key share
),
stored as (
  ${STORE_SQL.replace('from judged', 'from judged where $isAdded::boolean')}
  returning s.*
),
removed as (
  delete from holdfast.turn_scores s using judged
  where not $isAdded::boolean and s.turn_id = judged.turn_id and s.message_id is null and s.author = $author and s.source = $source and s.name = $name and s.value = $value::jsonb
  returning s.*
),
${EARLIER_SQL},
inserted_events as (
  ${insertEventsSql(SET_SQL, REMOVED_SQL)}
),
${keyedSql(`select json_build_object('value', $value::jsonb)`)}
select`,
  values: (reaction: Reaction, received: KeyedRequest) => ({ ...reaction, name: THUMB, note: null, ...received }),
});
