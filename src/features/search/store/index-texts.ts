// Adds words to the search. News follow the event log: an event names the turn that has written
// something, whose entries are read. Every statement is safe to send again, and the place in the
// log moves after them, so a crash between two repeats what is there already. Any number of
// processes may do it at the same time: they do the same.
import type { Database } from '../../../database/database.ts';
import { EVENT_HORIZON_SQL, TRIM_MARK } from '../../../database/event-ids.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { indexText, textOfEntry, type SearchKind } from '../rules.ts';

const EVENTS_MAX = 1_000;
const ENTRIES_MAX = 100;
/** Turns whose new entries one statement reads: about as many as have so many entries. */
const TURNS_READ_MAX = 50;
const TURNS_MAX = 1_000;
const ZERO = '00000000-0000-0000-0000-000000000000';

/**
 * Clocks of one database differ by less: an entry is not older than the event of its turn by more.
 */
const EARLIER = '1 minute';

/** True of a position `p` that was never set, or whose next events were deleted. */
const IS_LOST_SQL = `(p.after_id is null
  or coalesce(p.after_id < (select case when e.type = '${TRIM_MARK}' then e.id end from holdfast.events e order by e.id limit 1), false))`;

/** SQL of whether anything is to be added to the search. */
export const HAS_NEWS_SQL = `exists (select from holdfast.search_position p where p.singleton
  and (${IS_LOST_SQL} or p.past_session is not null or p.past_turn is not null
    or exists (select from holdfast.events e where e.id > p.after_id and e.id < ${EVENT_HORIZON_SQL})))`;

export const beginIndex = literalQuery({
  name: 'begin-search-index',
  purpose:
    'Begin to read at the end of the log, and all that was written before: for the first time, or again when events were deleted unread.',
  locking: 'The row of the position.',
  pool: 'views',
  text: `update holdfast.search_position p set after_id = (${EVENT_HORIZON_SQL}) - 1, past_session = '${ZERO}', past_seq = 0, past_turn = '${ZERO}'
where p.singleton and ${IS_LOST_SQL}`,
});

interface TurnWithNews {
  turnId: string;
  /** When the first of its events was written. */
  since: string;
  /** The last of its entries that this round has read; absent: it has read none. */
  afterSeq?: string;
}

interface News {
  isLost: boolean;
  hasPast: boolean;
  lastId: string | null;
  count: number;
  turns: TurnWithNews[];
}

export const readNews = literalQuery({
  name: 'search-news',
  purpose:
    'Read which turns have written something according to the next events of the log, and whether there is anything else to do.',
  pool: 'views',
  text: `with position as materialized (select p.* from holdfast.search_position p where p.singleton),
next as materialized (
  select e.id, e.type, e.turn_id, e.created_at from holdfast.events e
  where e.id > (select p.after_id from position p) and e.id < ${EVENT_HORIZON_SQL}
  order by e.id limit ${EVENTS_MAX}
)
select (select ${IS_LOST_SQL} from position p) as "isLost", (select p.past_session is not null or p.past_turn is not null from position p) as "hasPast",
  (select max(id) from next)::text as "lastId", (select count(*) from next)::int as count, (
  select coalesce(json_agg(json_build_object('turnId', turn_id, 'since', since)), '[]') from (
    select turn_id, min(created_at) as since from next
    where type in ('turn.started', 'model.ended', 'steer.injected', 'turn.ended') and turn_id is not null group by turn_id
  ) as turns
) as turns`,
  answer: ([news]: News[]) => news,
});

interface StoredEntry {
  sessionId: string;
  seq: string;
  role: 'user' | 'assistant';
  content: { type: string; text?: unknown }[];
  parts: { name: string; text?: unknown }[] | null;
}

/** `n`: the number of its turn among those that were asked for, from 1 on. */
type NewEntry = StoredEntry & { n: number };

interface Place {
  sessionId: string;
  seq: string;
}

const ENTRY = `e.session_id as "sessionId", e.seq::text as seq, e.role, e.content, e.parts`;
const SEARCHED_KINDS = `'prompt', 'steer', 'answer'`;
const IS_SEARCHED = `e.kind in (${SEARCHED_KINDS})
  and not exists (select from holdfast.search_texts x where x.session_id = e.session_id and x.entry_seq = e.seq)`;

// The limits make it a loop over the turns, whatever statistics say: a join by hash would read all
// turns or all entries for each page. The entries of a turn are stored in their order, so those
// after the greatest that is stored are missing, and no others.
export const readNewEntries = literalQuery({
  name: 'search-new-entries',
  purpose:
    'Read the next entries of turns, from the times ($2) of their events on: of each after the last that the search has, and after those that were read ($3).',
  pool: 'views',
  text: `select ${ENTRY}, news.n::int
from unnest($1::uuid[], $2::timestamptz[], $3::bigint[]) with ordinality as news (turn_id, since, after_seq, n)
  cross join lateral (select * from holdfast.turns where id = news.turn_id limit 1) as t
  cross join lateral (select greatest(news.after_seq, t.prompt_seq - 1, (
    select x.entry_seq from holdfast.search_texts x where x.session_id = t.session_id and x.entry_seq >= t.prompt_seq and x.turn_id = t.id
    order by x.entry_seq desc limit 1)) as seq) as last
  cross join lateral (
    select * from holdfast.entries where session_id = t.session_id and seq > last.seq and turn_id = t.id
      and kind in (${SEARCHED_KINDS}) and created_at >= news.since - interval '${EARLIER}' order by seq limit ${ENTRIES_MAX}
  ) as e
order by news.n, e.seq limit ${ENTRIES_MAX}`,
  values: (turns: readonly TurnWithNews[]) => [
    turns.map(({ turnId }) => turnId),
    turns.map(({ since }) => since),
    turns.map(({ afterSeq }) => afterSeq ?? '0'),
  ],
  answer: (entries: NewEntry[]) => entries,
});

// What a fork has copied is found in the session that it was said in.
export const readPastEntries = literalQuery({
  name: 'search-past-entries',
  purpose: 'Read the next of all entries, and those of them that are not in the search.',
  pool: 'views',
  text: `with position as materialized (select p.past_session, p.past_seq from holdfast.search_position p where p.singleton and p.past_session is not null),
next as materialized (
  select e.session_id, e.seq from holdfast.entries e
  where (e.session_id, e.seq) > ((select past_session from position), (select past_seq from position)) order by e.session_id, e.seq limit ${ENTRIES_MAX}
)
select (select count(*) from position)::int as "isOpen", (select count(*) from next)::int as count,
  (select json_build_object('sessionId', session_id, 'seq', seq::text) from next order by session_id desc, seq desc limit 1) as last, (
  select coalesce(json_agg(found), '[]') from (
    select ${ENTRY} from next join holdfast.entries e on e.session_id = next.session_id and e.seq = next.seq
    where ${IS_SEARCHED} and not exists (select from holdfast.turns t where t.id = e.turn_id and t.session_id <> e.session_id)
  ) as found
) as entries`,
  answer: ([row]: { isOpen: number; count: number; last: Place | null; entries: StoredEntry[] }[]) => row,
});

export const storeEntries = literalQuery({
  name: 'store-searched-entries',
  purpose: 'Add the words of entries to the search, of those that are still there.',
  locking: 'The entries, in the order of their sessions and numbers.',
  pool: 'views',
  text: `with given as materialized (
  select * from unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[]) as given (session_id, seq, kind, text, words)
),
held as materialized (
  select e.session_id, e.seq, e.id, e.turn_id, e.created_at from given join holdfast.entries e on e.session_id = given.session_id and e.seq = given.seq
  order by e.session_id, e.seq for key share of e
)
insert into holdfast.search_texts (id, kind, session_id, turn_id, entry_seq, text, words)
select ${idAtSql('held.created_at', 'held.id')}, given.kind, held.session_id, held.turn_id, held.seq, given.text, given.words::tsvector
from held join given on given.session_id = held.session_id and given.seq = held.seq
on conflict do nothing`,
  values: (entries: readonly (Place & { kind: SearchKind; text: string; words: string })[]) => [
    entries.map(({ sessionId }) => sessionId),
    entries.map(({ seq }) => seq),
    entries.map(({ kind }) => kind),
    entries.map(({ text }) => text),
    entries.map(({ words }) => words),
  ],
});

interface FailedTurn {
  turnId: string;
  error: { code?: unknown; message?: unknown };
}

const FAILED = `t.ended_at is not null and t.error is not null
  and not exists (select from holdfast.search_texts x where x.failed_turn_id = t.id)`;

export const readNewErrors = literalQuery({
  name: 'search-new-errors',
  purpose: 'Read the errors of these turns that are not in the search.',
  pool: 'views',
  text: `select t.id as "turnId", t.error from holdfast.turns t where t.id = any ($1::uuid[]) and ${FAILED}`,
  values: (turns: readonly TurnWithNews[]) => [turns.map(({ turnId }) => turnId)],
  answer: (turns: FailedTurn[]) => turns,
});

export const readPastErrors = literalQuery({
  name: 'search-past-errors',
  purpose: 'Read the next of all turns, and the errors of those of them that are not in the search.',
  pool: 'views',
  text: `with position as materialized (select p.past_turn from holdfast.search_position p where p.singleton and p.past_turn is not null),
next as materialized (
  select t.id from holdfast.turns t where t.id > (select past_turn from position) order by t.id limit ${TURNS_MAX}
)
select (select count(*) from position)::int as "isOpen", (select count(*) from next)::int as count, (select id from next order by id desc limit 1) as last, (
  select coalesce(json_agg(json_build_object('turnId', t.id, 'error', t.error)), '[]') from next join holdfast.turns t on t.id = next.id where ${FAILED}
) as turns`,
  answer: ([row]: { isOpen: number; count: number; last: string | null; turns: FailedTurn[] }[]) => row,
});

export const storeErrors = literalQuery({
  name: 'store-searched-errors',
  purpose: 'Add the words of errors to the search, of the turns that are still there.',
  locking: 'The turns, in the order of their ids.',
  pool: 'views',
  text: `with given as materialized (select * from unnest($1::uuid[], $2::text[], $3::text[]) as given (id, text, words)),
held as materialized (
  select t.id, t.session_id, t.ended_at from given join holdfast.turns t on t.id = given.id order by t.id for key share of t
)
insert into holdfast.search_texts (id, kind, session_id, turn_id, failed_turn_id, text, words)
select ${idAtSql('held.ended_at', 'held.id')}, 'error', held.session_id, held.id, held.id, given.text, given.words::tsvector
from held join given on given.id = held.id
on conflict do nothing`,
  values: (errors: readonly { turnId: string; text: string; words: string }[]) => [
    errors.map(({ turnId }) => turnId),
    errors.map(({ text }) => text),
    errors.map(({ words }) => words),
  ],
});

/** SQL of an id that begins with a time, and is otherwise another id. */
function idAtSql(time: string, id: string): string {
  return `(lpad(to_hex((extract(epoch from ${time}) * 1000)::bigint), 12, '0') || right(replace(${id}::text, '-', ''), 20))::uuid`;
}

export const movePosition = literalQuery({
  name: 'move-search-position',
  purpose: 'Move the place in the log, unless another process has moved it further.',
  locking: 'The row of the position.',
  pool: 'views',
  text: `update holdfast.search_position p set after_id = $1::bigint where p.singleton and p.after_id < $1::bigint`,
  values: (lastId: string) => [lastId],
});

export const movePast = literalQuery({
  name: 'move-search-past',
  purpose: 'Move the places in what was written before; null: the end.',
  locking: 'The row of the position.',
  pool: 'views',
  text: `update holdfast.search_position p set past_session = $1::uuid, past_seq = $2::bigint, past_turn = $3::uuid where p.singleton`,
  values: (entry: Place | null, turnId: string | null) => [entry?.sessionId ?? null, entry?.seq ?? '0', turnId],
});

/**
 * Adds what the next events of the log are about; resolves with whether there may be more, and
 * whether older words are to be added. One statement, when nothing was written.
 */
export async function indexNews(database: Database): Promise<{ hasMore: boolean; hasPast: boolean }> {
  const news = await readNews(database);
  if (news?.isLost === true) {
    await beginIndex(database);
    return { hasMore: false, hasPast: true };
  }
  const { hasPast = false, lastId = null } = news ?? {};
  if (news === undefined || lastId === null) return { hasMore: false, hasPast };
  let { turns } = news;
  while (turns.length > 0) {
    const entries = await readNewEntries(database, turns.slice(0, TURNS_READ_MAX));
    await addEntries(database, entries);
    turns = turnsLeft(turns, entries);
  }
  if (news.turns.length > 0) await addErrors(database, await readNewErrors(database, news.turns));
  await movePosition(database, lastId);
  return { hasMore: news.count === EVENTS_MAX, hasPast };
}

/**
 * The turns that are left after a page of entries. One that is full may have left entries of the
 * turn that it ends with.
 */
function turnsLeft(turns: TurnWithNews[], entries: readonly NewEntry[]): TurnWithNews[] {
  const last = entries.length === ENTRIES_MAX ? entries.at(-1) : undefined;
  if (last === undefined) return turns.slice(TURNS_READ_MAX);
  return [{ ...turns[last.n - 1]!, afterSeq: last.seq }, ...turns.slice(last.n)];
}

/**
 * Adds the next of what was written before the search was there; resolves with whether there is
 * more.
 */
export async function indexPast(database: Database): Promise<boolean> {
  const [entries, turns] = [await readPastEntries(database), await readPastErrors(database)];
  if (entries === undefined || turns === undefined || entries.isOpen + turns.isOpen === 0) return false;
  await addEntries(database, entries.entries);
  await addErrors(database, turns.turns);
  const place = entries.count === ENTRIES_MAX ? entries.last : null;
  const turnId = turns.count === TURNS_MAX ? turns.last : null;
  await movePast(database, place, turnId);
  return place !== null || turnId !== null;
}

async function addEntries(database: Database, entries: readonly StoredEntry[]): Promise<void> {
  const texts = entries.flatMap((entry) => {
    const indexed = indexText(textOfEntry(entry));
    const kind: SearchKind = entry.role === 'user' ? 'message' : 'reply';
    return indexed === null ? [] : [{ sessionId: entry.sessionId, seq: entry.seq, kind, ...indexed }];
  });
  if (texts.length > 0) await storeEntries(database, texts);
}

async function addErrors(database: Database, turns: readonly FailedTurn[]): Promise<void> {
  const texts = turns.flatMap(({ turnId, error: { code, message } }) => {
    const indexed = indexText([code, message].filter((part) => typeof part === 'string').join(': '));
    return indexed === null ? [] : [{ turnId, ...indexed }];
  });
  if (texts.length > 0) await storeErrors(database, texts);
}
