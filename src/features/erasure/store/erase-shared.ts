// What an erasure deletes from tables that many sessions share: keys of requests, items of ended
// batches, snapshots that nothing else shows, and names in what operators have made. No index leads
// from a session or a person to most of them, because turns would pay for it. So they are read in
// portions, in the order of their keys.
import { workOff } from '../../../work-off.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { LASTING_RETRY_MS } from '../../../database/passing-faults.ts';
import type { RemovedRows } from './erased-rows.ts';
import { inPortions, portionAnswerSql, type ErasedPortion } from './in-portions.ts';

const PORTION_ROWS = 20_000;
/** Reading the bodies of items takes longer than reading keys. */
const PORTION_BODIES = 2_000;

export interface ErasedSessions {
  ids: readonly SessionId[];
  /** Their own keys. */
  keys: readonly string[];
  /** How the keys begin of sessions in which copies of them were run. */
  runs: readonly string[];
  cronIds: readonly string[];
}

export const eraseKeysAfter = literalQuery({
  name: 'erase-keys',
  purpose: 'Delete the keys of requests about sessions, of a portion after a key. Answers how many, and the last key.',
  locking: 'The rows that it deletes.',
  pool: 'views',
  retryMs: LASTING_RETRY_MS,
  values: ({ ids, keys, cronIds }: ErasedSessions, after: readonly unknown[]) => [ids, keys, cronIds, ...after],
  answer: ([portion]: ErasedPortion[]) => portion,
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
${portionAnswerSql('select count(*) from deleted', ['scope', 'key'])}`,
});

/** Deletes the keys of requests about the sessions; resolves with how many. */
export function eraseKeys(database: Database, sessions: ErasedSessions): Promise<number> {
  return inPortions(['', ''], (after) => eraseKeysAfter(database, sessions, after));
}

/** Items of sessions, by their ids and keys. An item names its session as it was submitted. */
const OF_SESSIONS = `(i.session_id = any ($ids::uuid[])
  or case when lower(i.session_key) like 'agent:%' then lower(i.session_key) else 'agent:main:' || lower(i.session_key) end = any ($keys::text[])
  or substring(i.session_key from '^(.*:try:[0-9a-f-]{36}-[0-9]+)-') = any ($runs::text[]))`;
/** Items of a sender, in the channel or in any. */
const OF_SENDER = `coalesce(i.body -> 'sender' ->> 'id' = $senderId and ($channel::text is null or coalesce(i.body ->> 'channel', 'api') = $channel), false)`;

export interface Sender {
  senderId: string;
  /** Null: any. */
  channel: string | null;
}

export const readPairingSessions = literalQuery({
  name: 'sessions-of-pairings',
  purpose: 'Read the keys of the sessions in whose outbox a person who asked to write was answered.',
  pool: 'views',
  values: ({ senderId, channel }: Sender) => [senderId, channel],
  answer: (rows: { key: string }[]) => rows.map(({ key }) => key),
  text: `select s.key from holdfast.pairings p join holdfast.sessions s on s.id = p.session_id
where p.sender_id = $1 and ($2::text is null or p.channel = $2)`,
});

/** Whose items are emptied. */
type Whose = Pick<ErasedSessions, 'ids' | 'keys' | 'runs'> | Sender;

const openItemsQuery = ({ isTheirs, ...facts }: { name: string; purpose: string; isTheirs: string }) =>
  literalQuery({
    ...facts,
    pool: 'views',
    values: (whose: Whose) => whose,
    answer: ([row]: { id: string }[]) => row?.id ?? null,
    text: `select b.id from holdfast.batches b where b.status <> 'ended'
  and exists (select from holdfast.batch_items i where i.batch_id = b.id and i.status in ('pending', 'fed') and ${isTheirs}) limit 1`,
  });

export const findItemsOfSessions = openItemsQuery({
  name: 'open-items-of-sessions',
  purpose: 'Read a batch that has not ended with an item of these sessions that has not ended.',
  isTheirs: OF_SESSIONS,
});

export const findItemsOfSender = openItemsQuery({
  name: 'open-items-of-sender',
  purpose: 'Read a batch that has not ended with an item of the sender that has not ended.',
  isTheirs: OF_SENDER,
});

/** The batch that is in the way of an erasure; null: none. */
export function findOpenBatch(database: Database, whose: Whose): Promise<string | null> {
  return ('senderId' in whose ? findItemsOfSender : findItemsOfSessions)(database, whose);
}

/** `isDry`: they are counted and not emptied. */
const emptyItemsQuery = ({
  isTheirs,
  rows,
  mayEmpty,
  ...facts
}: Record<'name' | 'purpose' | 'isTheirs' | 'mayEmpty', string> & { rows: number }) =>
  literalQuery({
    ...facts,
    locking: 'The rows that it empties.',
    pool: 'views',
    retryMs: LASTING_RETRY_MS,
    values: (whose: Whose, [batchId, n]: readonly unknown[], isDry: boolean) => ({ ...whose, batchId, n, isDry }),
    answer: ([portion]: ErasedPortion[]) => portion,
    text: `with portion as materialized (
  select i.batch_id, i.n, ${isTheirs} as is_theirs from holdfast.batch_items i where (i.batch_id, i.n) > ($batchId::uuid, $n::int)
  order by i.batch_id, i.n limit ${rows}
),
emptied as (
  update holdfast.batch_items i
  set body = '{}', error = null, custom_id = null, session_key = 'erased', session_id = null, message_id = null, turn_id = null
  from portion p where not $isDry::boolean and p.is_theirs and i.batch_id = p.batch_id and i.n = p.n and ${mayEmpty}
  returning 1
)
${portionAnswerSql('case when $isDry then (select count(*) from portion where is_theirs) else (select count(*) from emptied) end', ['batch_id', 'n'])}`,
  });

export const emptyItemsOfSessions = emptyItemsQuery({
  name: 'empty-items-of-sessions',
  purpose:
    'Empty the items of sessions, or count them, of a portion after an item. Answers how many, and the last item.',
  isTheirs: OF_SESSIONS,
  rows: PORTION_ROWS,
  mayEmpty: 'true',
});

export const emptyItemsOfSender = emptyItemsQuery({
  name: 'empty-items-of-sender',
  purpose:
    'Empty the items of a sender that never became inputs, or count them, of a portion after an item: their batch was cancelled, or its deadline was over. Answers how many, and the last item.',
  isTheirs: `i.message_id is null and ${OF_SENDER}`,
  rows: PORTION_BODIES,
  mayEmpty: `i.status not in ('pending', 'fed')`,
});

/**
 * Empties the items of the sessions, whose numbers the batches keep, or those of the person that
 * never became inputs; resolves with how many. `isDry`: counts them.
 */
export function emptyItems(database: Database, whose: Whose, isDry = false): Promise<number> {
  const empty = 'senderId' in whose ? emptyItemsOfSender : emptyItemsOfSessions;
  return inPortions(['00000000-0000-0000-0000-000000000000', 0], (after) => empty(database, whose, after, isDry));
}

const HASHES = `(regexp_matches(source.text, '[0-9a-f]{64}', 'g'))[1]`;

export const readShownSnapshots = literalQuery({
  name: 'shown-snapshots',
  purpose: 'Read the snapshots that sessions show, newest first.',
  pool: 'views',
  retryMs: LASTING_RETRY_MS,
  values: (ids: readonly SessionId[]) => [ids],
  answer: (shown: { sha256: string; madeMs: number }[]) => new Map(shown.map(({ sha256, madeMs }) => [sha256, madeMs])),
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

export const readOtherTurns = literalQuery({
  name: 'turns-that-show-snapshots',
  purpose:
    'Read which of some snapshots ($2) other sessions show, in a portion of turns before an id. Answers them and the last id.',
  pool: 'views',
  retryMs: LASTING_RETRY_MS,
  values: (ids: readonly SessionId[], hashes: readonly string[], before: string) => [ids, hashes, before],
  answer: ([row]: { shown: string[]; last: string | null }[]) => row ?? { shown: [], last: null },
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

export const deleteSnapshots = literalQuery({
  name: 'erase-snapshots',
  purpose: 'Delete snapshots. Answers how many.',
  locking: 'The rows that it deletes.',
  pool: 'views',
  retryMs: LASTING_RETRY_MS,
  values: (hashes: readonly string[]) => [hashes],
  answer: ([row]: { removed: number }[]) => row?.removed ?? 0,
  text: `with deleted as (delete from holdfast.snapshots n where n.sha256 = any ($1::text[]) returning 1) select count(*)::int as removed from deleted`,
});

/** Ids of clocks that differ by less are in order. */
const CLOCKS_MS = 600_000;

/**
 * Deletes the snapshots that only these sessions show; resolves with how many. To be called before
 * their turns are deleted.
 */
export async function eraseSnapshots(database: Database, { ids }: ErasedSessions): Promise<number> {
  const own = await readShownSnapshots(database, ids);
  let before = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  await workOff(async () => {
    if (own.size === 0) return false;
    const { shown, last } = await readOtherTurns(database, ids, [...own.keys()], before);
    for (const sha256 of shown) own.delete(sha256);
    // The first 48 bits of an id are the milliseconds of its time. No turn shows snapshots that
    // were made after it.
    const lastMs = Number.parseInt((last ?? '').replaceAll('-', '').slice(0, 12), 16);
    before = last ?? before;
    return last !== null && lastMs >= Math.min(...own.values()) - CLOCKS_MS;
  });
  return deleteSnapshots(database, [...own.keys()]);
}

export const blankNames = literalQuery({
  name: 'blank-names',
  purpose:
    'Empty the bulk actions whose filter has one of the parts $1 of JSON, and end the budgets whose scope ends with one of $2, which have nothing left to limit. Answers how many.',
  locking: 'The rows that it changes.',
  pool: 'views',
  values: (parts: readonly string[], endings: readonly string[]) =>
    [parts, endings].map((texts) => texts.map((text) => text.toLowerCase())),
  answer: ([row]: RemovedRows[]) => row ?? {},
  text: `with emptied_actions as (
  update holdfast.bulk_actions a set filter = '{}', reason = null
  where exists (select from unnest($1::text[]) as part where strpos(lower(a.filter::text), part) > 0)
  returning 1
),
ended_budgets as (
  update holdfast.budgets b set scope = 'session:erased', removed_at = coalesce(b.removed_at, clock_timestamp())
  where b.scope like 'session:%' and exists (select from unnest($2::text[]) as part where right(lower(b.scope), length(part)) = part)
  returning 1
)
select (select count(*) from emptied_actions)::int as bulk_actions, (select count(*) from ended_budgets)::int as budgets`,
});

const OF_MAIN = 'agent:main:';

/**
 * Takes the keys of sessions out of filters and reasons of bulk actions, and out of scopes of
 * budgets; resolves with the number of rows by table.
 */
export function blankKeys(database: Database, keys: readonly string[]): Promise<RemovedRows> {
  const short = keys.filter((key) => key.startsWith(OF_MAIN)).map((key) => key.slice(OF_MAIN.length));
  const parts = [...keys.map((key) => JSON.stringify(key)), ...short.map((key) => `"session":${JSON.stringify(key)}`)];
  return blankNames(
    database,
    parts,
    keys.map((key) => `session:${key}`),
  );
}

/** Takes out the id of a person. */
export async function blankPerson(database: Database, senderId: string): Promise<void> {
  await blankNames(database, [JSON.stringify(senderId)], [`:direct:${senderId}`]);
}
