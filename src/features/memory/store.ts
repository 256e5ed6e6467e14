// The search index over memories. A search names the files of an agent by path and content hash, as
// they are on disk at that time, and finds only in those: there is nothing to invalidate, and a
// worker with other files gets other results. What is not indexed yet is named in the answer; the
// caller adds it and searches again.
import {
  searchText,
  type MemoryAddition,
  type MemoryFileRef,
  type MemoryFindings,
  type MemoryHit,
  type MemorySearch,
} from './rules.ts';
import { storableText } from '../../core/text.ts';
import { literalQuery } from '../../database/literal-query.ts';

/**
 * Contents that are not on disk any more are kept this long: another worker may see the disk a
 * little later.
 */
const OUTDATED_AFTER = '1 hour';

// The score is the share of the query's words that a chunk has, each weighted by how rare it is
// among all chunks; between equals the nearer together the better, then the newer note. Lexemes
// hold no blanks, so in the text of a query of plain words ` & ` can only be the operator.
export const searchMemory = literalQuery({
  name: 'search-memory',
  purpose: 'Find the best chunks of the named files. Answers also which files are not indexed.',
  text: `with wanted as materialized (select * from unnest($paths::text[], $shas::text[]) as wanted (path, sha256)),
known as materialized (
  select f.path, f.sha256, f.chunks from wanted w
  join holdfast.memory_files f on f.agent_id = $agentId and f.path = w.path and f.sha256 = w.sha256
),
query as materialized (
  select replace(plainto_tsquery('english', $searched)::text, ' & ', ' | ')::tsquery as any_word,
    tsvector_to_array(to_tsvector('english', $searched)) as words
),
found as materialized (
  select c.path, c.first_line, c.last_line, c.headings, c.text, ts_rank_cd(c.words, query.any_word, 1) as nearness,
    array(select unnest(query.words) intersect select unnest(tsvector_to_array(c.words))) as matched
  from query, known join holdfast.memory_chunks c on c.agent_id = $agentId and c.path = known.path and c.sha256 = known.sha256
  where c.words @@ query.any_word
),
weight as materialized (
  select word, ln(1 + (total.chunks - seen.n + 0.5) / (seen.n + 0.5)) as weight
  from query, unnest(query.words) as word,
    lateral (select count(*)::float8 as n from found where word = any (found.matched)) as seen,
    (select coalesce(sum(chunks), 0)::float8 as chunks from known) as total
),
scored as (
  select found.*,
    (select sum(weight) from weight where word = any (found.matched)) / (select sum(weight) from weight) as score
  from found
),
best as (select * from scored order by score desc, nearness desc, path desc, first_line limit $hitsMax)
select
  (select json_agg(json_build_object('path', path, 'firstLine', first_line, 'lastLine', last_line, 'headings', headings,
    'text', text, 'score', score) order by score desc, nearness desc, path desc, first_line) from best) as hits,
  (select json_agg(json_build_object('path', path, 'sha256', sha256)) from wanted
    where not exists (select from known where known.path = wanted.path and known.sha256 = wanted.sha256)) as missing`,
  values: ({ agentId, files, query, hitsMax }: MemorySearch) => ({
    agentId,
    paths: files.map(({ path }) => path),
    shas: files.map(({ sha256 }) => sha256),
    searched: searchText(query),
    hitsMax,
  }),
  answer: ([row]: { hits: MemoryHit[] | null; missing: MemoryFileRef[] | null }[]): MemoryFindings => ({
    hits: row?.hits ?? [],
    missing: row?.missing ?? [],
  }),
});

export const indexMemory = literalQuery({
  name: 'index-memory',
  purpose:
    'Index files of an agent, and delete what is no longer on disk. Sent again, or by two workers at the same time, it writes nothing twice.',
  locking: 'The files that it deletes.',
  text: `with file as (
  insert into holdfast.memory_files (agent_id, path, sha256, chunks)
  select $1, path, sha256, chunks from unnest($2::text[], $3::text[], $4::int[]) as file (path, sha256, chunks)
  order by path, sha256 on conflict do nothing
),
chunk as (
  insert into holdfast.memory_chunks (agent_id, path, sha256, ordinal, first_line, last_line, headings, text, words)
  select $1, path, sha256, ordinal, first_line, last_line, headings, text, to_tsvector('english', searched)
  from unnest($5::text[], $6::text[], $7::int[], $8::int[], $9::int[], $10::text[], $11::text[], $12::text[])
    as chunk (path, sha256, ordinal, first_line, last_line, headings, text, searched)
  order by path, sha256, ordinal on conflict do nothing
)
delete from holdfast.memory_files f
where f.agent_id = $1 and f.indexed_at < clock_timestamp() - interval '${OUTDATED_AFTER}'
  and not exists (select from unnest($13::text[], $14::text[]) as kept (path, sha256)
    where kept.path = f.path and kept.sha256 = f.sha256)`,
  values({ agentId, files, current }: MemoryAddition) {
    const chunks = files.flatMap(({ path, sha256, chunks: of }) =>
      of.map((chunk, index) => ({ ...chunk, path, sha256, ordinal: index + 1 })),
    );
    return [
      agentId,
      files.map(({ path }) => path),
      files.map(({ sha256 }) => sha256),
      files.map((file) => file.chunks.length),
      chunks.map(({ path }) => path),
      chunks.map(({ sha256 }) => sha256),
      chunks.map(({ ordinal }) => ordinal),
      chunks.map(({ firstLine }) => firstLine),
      chunks.map(({ lastLine }) => lastLine),
      chunks.map(({ headings }) => storableText(headings)),
      chunks.map(({ text }) => storableText(text)),
      chunks.map(({ headings, text }) => searchText(`${headings}\n${text}`)),
      current.map(({ path }) => path),
      current.map(({ sha256 }) => sha256),
    ];
  },
});
