// What an erasure deletes from tables that many sessions share: keys of requests, items of ended batches, and snapshots that nothing else shows.
// No index leads from a session to them, because turns would pay for it. So each is read in portions, in the order of its key.
import type { QueryResultRow } from 'pg';
import type { SessionId } from '../../core/ids.ts';
import type { Database } from '../database.ts';
import { LASTING_RETRY_MS } from '../retry-passing-faults.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';
import { inPortions } from './in-portions.ts';
import { itemPortionSql, portionAnswerSql, sendForItems } from './item-portions.ts';

const PORTION_ROWS = 20_000;

export interface ErasedSessions {
  ids: readonly SessionId[];
  /** Their own keys. */
  keys: readonly string[];
  cronIds: readonly string[];
}

export const ERASE_KEYS = literal({
  name: 'erase-keys',
  purpose: 'Delete the keys of requests about sessions, of a portion after a key. Answers how many, and the last key.',
  locking: 'The rows that it deletes.',
  text: `with portion as materialized (
  select k.scope, k.key, k.resource_id, k.result from holdfast.idempotency_keys k where (k.scope, k.key) > ($4, $5)
  order by k.scope, k.key limit ${PORTION_ROWS}
),
deleted as (
  delete from holdfast.idempotency_keys k using portion p
  where k.scope = p.scope and k.key = p.key and (
    substring(p.scope from ' POST /v1/sessions/([^/]+)/') = any ($2::text[])
    or p.resource_id is not null and (select i.session_id from holdfast.inbox i where i.id = p.resource_id) = any ($1::uuid[])
    or case when p.scope like '% POST /v1/crons' then p.result ->> 'id' end = any ($3::text[]))
  returning 1
)
select (select count(*) from deleted)::int as removed, last.scope as "lastScope", last.key as "lastKey"
from (select 1) as one left join (select scope, key from portion order by scope desc, key desc limit 1) as last on true`,
});

/** Deletes the keys of requests about the sessions; resolves with how many. */
export function eraseKeys(database: Database, { ids, keys, cronIds }: ErasedSessions): Promise<number> {
  return inPortions(['', ''], async (after) => {
    const [row] = await sendQuery<{ removed: number; lastScope: string | null; lastKey: string }>(
      database.views,
      ERASE_KEYS.prepared([ids, keys, cronIds, ...after]),
      LASTING_RETRY_MS,
    );
    return {
      removed: row?.removed ?? 0,
      next: row === undefined || row.lastScope === null ? null : [row.lastScope, row.lastKey],
    };
  });
}

// An item names its session as it was submitted.
const ITEM_KEY = `case when lower(i.session_key) like 'agent:%' then lower(i.session_key) else 'agent:main:' || lower(i.session_key) end`;
const IS_ITEM = `(i.session_id = any ($1::uuid[]) or ${ITEM_KEY} = any ($2::text[]))`;

export const OPEN_ITEMS = literal({
  name: 'open-items-of-sessions',
  purpose: 'Read a batch that has not ended with an item of these sessions that has not ended.',
  text: `select b.id from holdfast.batches b where b.status <> 'ended'
  and exists (select from holdfast.batch_items i where i.batch_id = b.id and i.status in ('pending', 'fed') and ${IS_ITEM}) limit 1`,
});

/** A batch that has not ended and has items of the sessions; null: there is none. */
export async function findOpenBatch(database: Database, { ids, keys }: ErasedSessions): Promise<string | null> {
  const [row] = await sendQuery<{ id: string }>(database.views, OPEN_ITEMS.prepared([ids, keys]));
  return row?.id ?? null;
}

export const BLANK_ITEMS = literal({
  name: 'blank-items',
  purpose: 'Empty the items of sessions, of a portion after an item. Answers how many, and the last item.',
  locking: 'The rows that it empties.',
  text: `with ${itemPortionSql(IS_ITEM, PORTION_ROWS)},
emptied as (
  update holdfast.batch_items i
  set body = '{}', error = null, custom_id = null, session_key = 'erased', session_id = null, message_id = null, turn_id = null
  from portion p where p.is_theirs and i.batch_id = p.batch_id and i.n = p.n
  returning 1
)
${portionAnswerSql('select count(*) from emptied')}`,
});

export const COUNT_ITEMS = literal({
  name: 'count-items',
  purpose: 'Count the items of sessions, of a portion after an item. Answers the last item, too.',
  text: `with ${itemPortionSql(IS_ITEM, PORTION_ROWS)}
${portionAnswerSql('select count(*) from portion where is_theirs')}`,
});

/** How many items the sessions have. */
export function countItems(database: Database, { ids, keys }: ErasedSessions): Promise<number> {
  return sendForItems(database, COUNT_ITEMS, [ids, keys]);
}

/** Empties the items of the sessions, whose numbers the batches keep; resolves with how many. */
export function blankItems(database: Database, { ids, keys }: ErasedSessions): Promise<number> {
  return sendForItems(database, BLANK_ITEMS, [ids, keys]);
}

const HASHES = `(regexp_matches(source.text, '[0-9a-f]{64}', 'g'))[1]`;

export const SHOWN_SNAPSHOTS = literal({
  name: 'shown-snapshots',
  purpose: 'Read the snapshots that sessions show, newest first.',
  text: `with shown as (
  select t.system_sha256 as sha256 from holdfast.turns t where t.session_id = any ($1::uuid[])
  union select t.tools_sha256 from holdfast.turns t where t.session_id = any ($1::uuid[])
  union select ${HASHES} from holdfast.turns t cross join lateral (select t.view::text as text) as source where t.session_id = any ($1::uuid[])
  union select ${HASHES} from holdfast.sessions s cross join lateral (select s.view::text as text) as source where s.id = any ($1::uuid[])
  union select ${HASHES} from holdfast.turns t join holdfast.model_calls c on c.turn_id = t.id
    cross join lateral (select c.view::text as text) as source where t.session_id = any ($1::uuid[])
)
select n.sha256, (extract(epoch from n.created_at) * 1000)::float8 as "madeMs" from shown join holdfast.snapshots n on n.sha256 = shown.sha256
order by n.created_at desc`,
});

export const OTHER_TURNS = literal({
  name: 'turns-that-show-snapshots',
  purpose:
    'Read which of some snapshots ($2) other sessions show, in a portion of turns before an id. Answers them and the last id.',
  text: `with portion as materialized (
  select t.id, t.session_id, t.system_sha256, t.tools_sha256, t.view from holdfast.turns t where t.id < $3::uuid order by t.id desc limit ${PORTION_ROWS}
)
select array(
    select distinct shown.sha256 from portion p cross join lateral (
      select p.system_sha256 as sha256 union all select p.tools_sha256
      union all select ${HASHES} from (select p.view::text as text) as source
    ) as shown where p.session_id <> all ($1::uuid[]) and shown.sha256 = any ($2::text[])
  ) as shown, (select id from portion order by id limit 1) as last`,
});

export const ERASE_SNAPSHOTS = literal({
  name: 'erase-snapshots',
  purpose: 'Delete snapshots. Answers how many.',
  locking: 'The rows that it deletes.',
  text: `with deleted as (delete from holdfast.snapshots n where n.sha256 = any ($1::text[]) returning 1) select count(*)::int as removed from deleted`,
});

/** Ids of clocks that differ by less are in order. */
const CLOCKS_MS = 600_000;

/** Deletes the snapshots that only these sessions show; resolves with how many. To be called before their turns are deleted. */
export async function eraseSnapshots(database: Database, { ids }: ErasedSessions): Promise<number> {
  const shown = await sendQuery<QueryResultRow & { sha256: string; madeMs: number }>(
    database.views,
    SHOWN_SNAPSHOTS.prepared([ids]),
    LASTING_RETRY_MS,
  );
  const own = new Map(shown.map(({ sha256, madeMs }) => [sha256, madeMs]));
  for (let before: string | null = 'ffffffff-ffff-ffff-ffff-ffffffffffff'; before !== null && own.size > 0;) {
    const [row]: { shown: string[]; last: string | null }[] = await sendQuery<
      QueryResultRow & { shown: string[]; last: string | null }
    >(database.views, OTHER_TURNS.prepared([ids, [...own.keys()], before]), LASTING_RETRY_MS);
    for (const sha256 of row?.shown ?? []) own.delete(sha256);
    before = row?.last ?? null;
    // No turn shows snapshots that were made after it.
    if (before !== null && timeOf(before) < Math.min(...own.values()) - CLOCKS_MS) before = null;
  }
  const [row] = await sendQuery<{ removed: number }>(
    database.views,
    ERASE_SNAPSHOTS.prepared([[...own.keys()]]),
    LASTING_RETRY_MS,
  );
  return row?.removed ?? 0;
}

/** The first 48 bits of an id are the milliseconds of its time. */
function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}
