// What the search finds, newest first. A common word is among the newest texts, which are read one after the other; a rare one is found by the
// index. So neither reads much of a large table: the planner, which cannot tell them apart, does not choose.
import { idAt, cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { SearchHit } from '../../contract/search.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { makeSnippet, type SearchKind, type SearchQuery } from './rules.ts';

export interface SearchFilter {
  query: SearchQuery;
  kind: SearchKind | undefined;
  sessionId: string | undefined;
  since: Date | undefined;
  until: Date | undefined;
}

/** How many of the newest texts are read before the index is asked. */
const NEWEST_MAX = 500;
/** Hits on a page: each has its whole text read for the snippet. */
export const HITS_MAX = 50;

const RANGE = `x.id < $before::uuid and x.id >= $from::uuid and ($kind::text is null or x.kind = $kind) and ($sessionId::uuid is null or x.session_id = $sessionId)`;
const filterValues = (
  { query, kind, sessionId, since, until }: SearchFilter,
  { limit, after }: PageRequest,
): object => {
  const end = until === undefined ? LAST_ID : idAt(until.getTime());
  return {
    tsquery: query.tsquery,
    kind,
    sessionId,
    before: after !== null && after < end ? after : end,
    from: idAt(since?.getTime() ?? 0),
    limit: limit + 1,
  };
};
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export const searchNewest = viewQuery({
  name: 'search-newest-texts',
  purpose: `Find words among the ${NEWEST_MAX} newest texts of a range.`,
  text: `select newest.id from (select x.id, x.words from holdfast.search_texts x where ${RANGE} order by x.id desc limit ${NEWEST_MAX}) as newest
where newest.words @@ $tsquery::tsquery order by newest.id desc limit $limit::int`,
  values: filterValues,
  answer: (hits: { id: string }[]) => hits.map(({ id }) => id),
});

export const searchIndex = viewQuery({
  name: 'search-index',
  purpose: 'Find words by the index.',
  // First the words alone: a walk along the primary key would read the whole table for a rare one.
  text: `with found as materialized (select x.id, x.kind, x.session_id from holdfast.search_texts x where x.words @@ $tsquery::tsquery)
select x.id from found x where ${RANGE} order by x.id desc limit $limit::int`,
  values: filterValues,
  answer: (hits: { id: string }[]) => hits.map(({ id }) => id),
});

type FoundText = Omit<SearchHit, 'snippet'> & { text: string };

export const readFoundTexts = viewQuery({
  name: 'search-found-texts',
  purpose: 'Read texts of the search ($1), newest first.',
  text: `select x.id, x.kind, s.key as "sessionKey", s.label as "sessionLabel", x.turn_id as "turnId", e.id as "entryId", e.seq::float8 as "entrySeq",
  nullif(e.transcript_no, s.transcript_no) as "transcriptNo", e.state as "entryState", ${isoSql('coalesce(e.created_at, t.ended_at)')} as at, x.text
from holdfast.search_texts x join holdfast.sessions s on s.id = x.session_id
  left join holdfast.entries e on e.session_id = x.session_id and e.seq = x.entry_seq
  left join holdfast.turns t on t.id = x.failed_turn_id
where x.id = any ($1::uuid[]) order by x.id desc`,
  values: (ids: readonly string[]) => [ids],
  answer: (texts: FoundText[]) => texts,
});

export async function listHits(db: ViewDatabase, filter: SearchFilter, page: PageRequest): Promise<Page<SearchHit>> {
  const limit = Math.min(page.limit, HITS_MAX);
  const newest = await searchNewest(db, filter, { ...page, limit });
  const ids = newest.length > limit ? newest : await searchIndex(db, filter, { ...page, limit });
  const { items, next } = cutPage(ids, limit, (id) => id);
  const texts = await readFoundTexts(db, items);
  return {
    next,
    items: texts.map(({ text, ...hit }) => ({ ...hit, snippet: makeSnippet(text, filter.query.marked) })),
  };
}
