// What the search finds, newest first, in up to three bounded steps: a common word is among the
// newest texts, which are read one after the other; a rare one is found by the index of words; for
// what is neither, older texts are read, and the next page continues after them. The planner, which
// cannot tell these words apart, does not choose: each form of a filter has a statement of its own,
// which reads one index.
import { idAt, cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';
import type { Scope } from '../../core/scope.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { isSeenText, labelsSql } from '../../database/scope-sql.ts';
import type { SearchHit } from '../../contract/search.ts';
import { sessionNamesSql, sessionTitle, type NamesRow } from '../../kernel/views/words.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { makeSnippet, type SearchKind, type SearchQuery } from './rules.ts';

export interface SearchFilter {
  scope: Scope;
  query: SearchQuery;
  kind: SearchKind | undefined;
  sessionId: string | undefined;
  since: Date | undefined;
  until: Date | undefined;
}

/** How many of the newest texts are read before the index of words is asked. */
const NEWEST_MAX = 500;
/** Texts that the index of words is asked for at most; a word with more of them is common. */
const CANDIDATES_MAX = 5_000;
/** Texts that are read one after the other for one page. */
const READ_MAX = 20_000;
/** Hits on a page: each has its whole text read for the snippet. */
export const HITS_MAX = 50;

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

interface Range {
  filter: SearchFilter;
  page: PageRequest;
}

function rangeValues({
  filter: { scope, query, kind, sessionId, since, until },
  page: { limit, after },
}: Range): object {
  const end = until === undefined ? LAST_ID : idAt(until.getTime());
  const before = after !== null && after < end ? after : end;
  const { tsquery, candidates } = query;
  return { scope, tsquery, candidates, kind, sessionId, before, from: idAt(since?.getTime() ?? 0), limit: limit + 1 };
}

interface Walk {
  ids: string[];
  count: number;
  /** The oldest text that was read; null: none was. */
  last: string | null;
}

/**
 * A statement that reads texts in the order of the index of these columns: it compares rows, so
 * that no plan with a sort seems cheaper.
 */
const WALKED = `select (select count(*) from walked)::int as count, (select id from walked order by id limit 1) as last,
  array(select id::text from walked where hit order by id desc limit $limit::int) as ids`;
const walking = {
  values: (range: Range, rows: number) => ({ ...rangeValues(range), rows }),
  answer: ([walked]: Walk[]) => walked ?? { ids: [], count: 0, last: null },
};
const walk = (name: string, [columns, before, from]: [string, string, string], condition = '') =>
  viewQuery({
    name: `search-${name}`,
    purpose: 'Find words among the newest texts of a range, so many of them.',
    text: `with walked as materialized (
  select x.id, x.words @@ $tsquery::tsquery${condition} as hit from holdfast.search_texts x
  where (${columns}) < (${before}) and (${columns}) >= (${from}) order by ${columns.replaceAll(',', ' desc,')} desc limit $rows::int
)
${WALKED}`,
    ...walking,
  });

const ALL: [string, string, string] = ['x.id', '$before::uuid', '$from::uuid'];
const OF_KIND: typeof ALL = ['x.kind, x.id', '$kind, $before::uuid', '$kind, $from::uuid'];
const OF_SESSION: typeof ALL = [
  'x.session_id, x.id',
  '$sessionId::uuid, $before::uuid',
  '$sessionId::uuid, $from::uuid',
];

export const searchWalks = {
  all: walk('newest-texts', ALL),
  kind: walk('newest-of-kind', OF_KIND),
  session: walk('newest-of-session', OF_SESSION),
  both: walk('newest-of-session-and-kind', OF_SESSION, ' and x.kind = $kind'),
  scope: viewQuery({
    name: 'search-newest-of-scope',
    purpose: 'Find words among the newest texts of a scope, so many of them.',
    text: `with walked as materialized (
  select found.* from (${labelsSql('$scope')}) as seen cross join lateral (
    select x.id, x.words @@ $tsquery::tsquery and ($kind::text is null or x.kind = $kind) as hit from holdfast.search_texts x
    where x.scope = seen.id and x.id < $before::uuid and x.id >= $from::uuid order by x.id desc limit $rows::int
  ) as found order by found.id desc limit $rows::int
)
${WALKED}`,
    ...walking,
  }),
};

export const searchIndex = viewQuery({
  name: 'search-index',
  purpose: `Find words by the index, of up to ${CANDIDATES_MAX} texts that have all of them; null: there are more.`,
  text: `with found as materialized (
  select x.id, x.kind, x.session_id, x.scope, x.words @@ $tsquery::tsquery as hit from holdfast.search_texts x
  where x.words @@ $candidates::tsquery limit ${CANDIDATES_MAX + 1}
)
select case when (select count(*) from found) <= ${CANDIDATES_MAX} then array(
  select x.id::text from found x where x.hit and x.id < $before::uuid and x.id >= $from::uuid
    and ($kind::text is null or x.kind = $kind) and ($sessionId::uuid is null or x.session_id = $sessionId)
    and ${isSeenText('$scope', 'x.scope')}
  order by x.id desc limit $limit::int) end as ids`,
  values: rangeValues,
  answer: ([found]: { ids: string[] | null }[]) => found?.ids ?? null,
});

type FoundText = Omit<SearchHit, 'snippet' | 'sessionTitle'> & { text: string; names: NamesRow };

export const readFoundTexts = viewQuery({
  name: 'search-found-texts',
  purpose: 'Read texts of the search ($1), newest first.',
  text: `select x.id, x.kind, s.key as "sessionKey", s.label as "sessionLabel", ${sessionNamesSql('s')} as names, x.turn_id as "turnId", e.id as "entryId", e.seq::float8 as "entrySeq",
  nullif(e.transcript_no, s.transcript_no) as "transcriptNo", e.state as "entryState", ${isoSql('coalesce(e.created_at, t.ended_at)')} as at, x.text
from holdfast.search_texts x join holdfast.sessions s on s.id = x.session_id
  left join holdfast.entries e on e.session_id = x.session_id and e.seq = x.entry_seq
  left join holdfast.turns t on t.id = x.failed_turn_id
where x.id = any ($1::uuid[]) order by x.id desc`,
  values: (ids: readonly string[]) => [ids],
  answer: (texts: FoundText[]) => texts,
});

/** The last search of this process. */
let last: Promise<unknown> = Promise.resolve();

/** One search of a process runs at a time, so that other reads find a free connection. */
export function listHits(db: ViewDatabase, filter: SearchFilter, page: PageRequest): Promise<Page<SearchHit>> {
  const limit = Math.min(page.limit, HITS_MAX);
  const search = last.then(() => readHits(db, { filter, page: { ...page, limit } }));
  last = search.catch(() => undefined);
  return search;
}

async function readHits(db: ViewDatabase, range: Range): Promise<Page<SearchHit>> {
  const { items, next } = await findIds(db, range);
  const texts = await readFoundTexts(db, items);
  const { marked } = range.filter.query;
  return {
    next,
    items: texts.map(({ text, names, ...hit }) => ({
      ...hit,
      sessionTitle: sessionTitle(names),
      snippet: makeSnippet(text, marked),
    })),
  };
}

async function findIds(db: ViewDatabase, range: Range): Promise<Page<string>> {
  const { filter, page } = range;
  const { limit } = page;
  const cut = (ids: string[]): Page<string> => cutPage(ids, limit, (id) => id);
  const read = searchWalks[chooseWalk(filter)];
  const newest = await read(db, range, NEWEST_MAX);
  if (newest.ids.length > limit || newest.count < NEWEST_MAX) return cut(newest.ids);
  const rare = await searchIndex(db, range);
  if (rare !== null) return cut(rare);
  const older = await read(db, range, READ_MAX);
  if (older.ids.length > limit || older.count < READ_MAX) return cut(older.ids);
  return { items: older.ids, next: older.last };
}

function chooseWalk({ scope, kind, sessionId }: SearchFilter): keyof typeof searchWalks {
  if (sessionId !== undefined) return kind === undefined ? 'session' : 'both';
  if (scope !== null) return 'scope';
  return kind === undefined ? 'all' : 'kind';
}
