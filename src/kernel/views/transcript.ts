// The entries of a session's transcript, oldest or newest first. A page is bounded in items and in
// bytes, because one entry may hold as much as a hundred others (G28). Its long parts may be cut;
// then it is bounded by what is left, and by how much is read for it. Compactions and ended
// transcripts are here, too.
import { readPartText } from '../../core/entry.ts';
import { callWords, describeEntry, resultWords } from '../../core/words.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { describeOpenWait, waitSql, type WaitRow } from './why-sql.ts';
import { beginningSql } from './words.ts';
import { listOf } from '../../database/list-of.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { literal } from '../../database/statement.ts';
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';
import type { CompactionView, EntryBlock, EntryView, TranscriptView } from '../../contract/transcripts.ts';

/** Which entries: of one transcript of the session, only the active ones or all. */
export interface EntryFilter {
  sessionId: string;
  transcriptNo: number;
  isOnlyActive: boolean;
  isNewestFirst: boolean;
  /** Only those of this turn; absent: of all. */
  turnId?: string;
  /** Cuts the parts of an entry that are too long; null: they are whole. */
  cut: ((entry: StoredEntry) => StoredEntry) | null;
}

/** An entry as its row has it, with its words. */
export type StoredEntry = Omit<EntryView, 'calls'> & {
  /** The words of its calls, in their order. */
  named: { id: string; words: string | null }[];
};

/**
 * A page of whole entries ends with the entry that exceeds this; the entries of others are read in
 * portions of this size.
 */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/** A page of cut entries ends with the entry that exceeds this. */
const CUT_PAGE_BYTES_MAX = 256 * 1024;

/** The most portions that are read for a page of cut entries. */
const PORTIONS_MAX = 8;

const sizesSql = (beyond: '>' | '<'): string => `select e.seq::float8 as seq, octet_length(e.content::text) as bytes
from holdfast.entries e where e.session_id = $1 and e.transcript_no = $2 and (not $3::boolean or e.state = 'active')
  and ($4::bigint is null or e.seq ${beyond} $4) and ($6::uuid is null or e.turn_id = $6) order by e.seq ${beyond === '>' ? 'asc' : 'desc'} limit $5`;

export const ENTRY_SIZES = literal({
  name: 'entry-sizes',
  purpose:
    'Read the sizes of the next entries of a transcript ($1, $2), oldest first. $3: only active ones. $4: after this number. $6: only of this turn.',
  text: sizesSql('>'),
});

export const ENTRY_SIZES_NEWEST_FIRST = literal({
  name: 'entry-sizes-newest-first',
  purpose: 'Read the same, newest first.',
  text: sizesSql('<'),
});

/** Entries in the order of their numbers, or the reverse; `after` is a number. */
export async function listEntries(db: ViewDatabase, filter: EntryFilter, page: PageRequest): Promise<Page<EntryView>> {
  const { sessionId, transcriptNo, isOnlyActive, isNewestFirst, turnId = null } = filter;
  const values = [sessionId, transcriptNo, isOnlyActive, page.after, page.limit + 1, turnId];
  const query = isNewestFirst ? ENTRY_SIZES_NEWEST_FIRST.prepared(values) : ENTRY_SIZES.prepared(values);
  const { rows: sizes } = await db.query<EntrySize>(query);
  const items = await withCalls(db, sessionId, await readPage(db, filter, sizes.slice(0, page.limit)));
  const last = items.at(-1);
  return { items, next: last !== undefined && items.length < sizes.length ? String(last.seq) : null };
}

interface EntrySize {
  seq: number;
  bytes: number;
}

/** The first of these entries that fit a page. */
async function readPage(db: ViewDatabase, filter: EntryFilter, sizes: EntrySize[]): Promise<StoredEntry[]> {
  const items: StoredEntry[] = [];
  let bytes = 0;
  for (let portions = 0; portions < PORTIONS_MAX && items.length < sizes.length; portions += 1) {
    const seqs = takeWhileFitting(sizes.slice(items.length)).map(({ seq }) => seq);
    const read = await readEntries(db, filter.sessionId, seqs);
    if (filter.isNewestFirst) read.reverse();
    if (filter.cut === null) return read;
    for (const entry of read.map(filter.cut)) {
      items.push(entry);
      bytes += Buffer.byteLength(JSON.stringify(entry));
      if (bytes > CUT_PAGE_BYTES_MAX) return items;
    }
  }
  return items;
}

function takeWhileFitting(sizes: EntrySize[]): EntrySize[] {
  let total = 0;
  const end = sizes.findIndex((entry) => (total += entry.bytes) > PAGE_BYTES_MAX);
  return end === -1 ? sizes : sizes.slice(0, end + 1);
}

type EntryCall = EntryView['calls'][number];
type FoundCall = Omit<EntryCall, 'words' | 'why'> & { turnId: string };

/**
 * The newest first, so that of a long turn only its newest steps are read for the newest entries.
 */
export const readCalls = viewQuery({
  name: 'entry-calls',
  purpose: 'Read the states of tool calls ($callIds) of turns ($turnIds), the newest first.',
  text: `select t.id as "turnId", c.call_id as id, case when c.status <> 'intent' then c.status when t.ended_at is not null then 'unknown'
    when c.held_for is not null and c.runs = 0 then 'waiting' else 'running' end as state,
  case when c.status = 'intent' and t.ended_at is null and c.runs = 0 then c.held_for end as "waitsFor",
  ${isoSql('c.intent_at')} as "startedAt", ${isoSql('c.ended_at')} as "endedAt"
from holdfast.turns t cross join lateral (
  select call_id, status, intent_at, ended_at, held_for, runs from holdfast.tool_calls
  where turn_id = t.id and call_id = any ($callIds::text[]) order by step desc, ordinal desc limit cardinality($callIds::text[])
) c where t.id = any ($turnIds::uuid[])`,
  values: (turnIds: string[], callIds: string[]) => ({ turnIds, callIds }),
  answer: (calls: FoundCall[]) => calls,
});

async function withCalls(db: ViewDatabase, sessionId: string, entries: StoredEntry[]): Promise<EntryView[]> {
  const calling = entries.filter(({ named }) => named.length > 0);
  const turnIds = [...new Set(calling.map(({ turnId }) => turnId))];
  const ids = [...new Set(calling.flatMap(({ named }) => named.map(({ id }) => id)))];
  const found = ids.length === 0 ? [] : await readCalls(db, turnIds, ids);
  // If several calls have an id, the newest counts.
  const calls = new Map(found.toReversed().map(({ turnId, ...call }) => [`${turnId} ${call.id}`, call]));
  const results = new Map(
    calling.flatMap(({ turnId, content }) =>
      content.flatMap((block) =>
        block.type === 'tool_result' ? [[`${turnId} ${String(block['tool_use_id'])}`, block] as const] : [],
      ),
    ),
  );
  // Calls that have not ended are those of the open turn.
  const isOpen = found.some(({ state }) => state === 'running' || state === 'waiting');
  const why = isOpen ? describeOpenWait(db, await readOpenWait(db, sessionId)) : null;
  return entries.map(({ named, ...entry }) => ({
    ...entry,
    calls: named.map(({ id, words }): EntryCall => {
      const call = calls.get(`${entry.turnId} ${id}`) ?? unkept(id, results.get(`${entry.turnId} ${id}`));
      const isHeld = call.state === 'running' || call.state === 'waiting' ? why : null;
      return {
        ...call,
        state: isHeld !== null && call.state === 'running' ? 'interrupted' : call.state,
        words,
        why: isHeld,
      };
    }),
  }));
}

/** A call that was not begun or is not kept: its result says how it ended. */
function unkept(id: string, result: EntryBlock | undefined): Omit<EntryCall, 'words' | 'why'> {
  const state = result === undefined ? 'unknown' : result['is_error'] === true ? 'failed' : 'done';
  return { id, state, waitsFor: null, startedAt: null, endedAt: null };
}

export const readOpenWait = viewQuery({
  name: 'entry-wait',
  purpose: 'Read the facts that say why the open turn of a session ($1) waits; none: it has no open turn.',
  text: `select ${waitSql('t.session_id', 't.claimed_at')} as wait
from holdfast.turns t where t.id = (select s.turn_id from holdfast.sessions s where s.id = $1)`,
  values: (sessionId: string) => [sessionId],
  answer: ([row]: { wait: WaitRow }[]) => row?.wait ?? null,
});

/** The blocks of an entry; null: the session has no entry with this id. */
export const readBlocks = viewQuery({
  name: 'entry-blocks',
  purpose: 'Read the blocks of an entry ($2) of a session ($1).',
  text: 'select content from holdfast.entries where session_id = $1 and id = $2 limit 1',
  values: (sessionId: string, entryId: string) => [sessionId, entryId],
  answer: ([entry]: Pick<EntryView, 'content'>[]) => entry?.content ?? null,
});

export const readEntries = viewQuery({
  name: 'view-entries',
  purpose: 'Read entries of a session ($1) by their numbers ($2).',
  // The sender's text is a part without a position, as long as the content itself.
  text: `select e.id, e.seq::float8 as seq, parent.id as "parentId", e.kind, e.role, e.content, (
    select json_agg(part order by n) from json_array_elements(e.parts) with ordinality as stored (part, n) where part -> 'start' is not null
  ) as parts, e.turn_id as "turnId", e.state, ${isoSql('e.created_at')} as "createdAt", e.provenance ->> 'sourceSession' as "fromSession", (
    select ${beginningSql("part ->> 'text'")} from json_array_elements(e.parts) as part where part ->> 'name' = 'clean-body' limit 1
  ) as clean
from holdfast.entries e left join holdfast.entries parent on parent.session_id = e.session_id and parent.seq = e.parent_seq
where e.session_id = $1 and e.seq = any ($2::bigint[]) order by e.seq`,
  values: (sessionId: string, seqs: number[]) => [sessionId, seqs],
  answer: (entries: EntryRow[]) => entries.map(describe),
});

type EntryRow = Omit<EntryView, 'calls' | 'author' | 'words'> & { clean: string | null; fromSession: string | null };

/** An entry with its words, which are made of whole blocks: they may be cut afterwards. */
function describe({ clean, fromSession, ...row }: EntryRow): StoredEntry {
  const { kind, content, parts } = row;
  const text = content.find(({ type }) => type === 'text')?.['text'];
  const said = { kind, text: typeof text === 'string' ? text : '', parts, clean, fromSession };
  return { ...row, ...describeEntry(said), named: content.flatMap(nameCall) };
}

function nameCall(block: EntryBlock): StoredEntry['named'] {
  const { type, id, tool_use_id: useId, input } = block;
  if (type === 'tool_use' && typeof id === 'string') return [{ id, words: callWords(input) }];
  return type === 'tool_result' && typeof useId === 'string'
    ? [{ id: useId, words: resultWords(readPartText(block)) }]
    : [];
}

// Compactions and ended transcripts as the API shows them: what was compacted, and the earlier
// transcripts of the session.

interface CompactionFilter {
  sessionId?: string | undefined;
  sessionKey?: string | undefined;
  /** Only what this turn began. */
  turnId?: string | undefined;
}

export const compactions = listOf<CompactionFilter, { view: CompactionView }, CompactionView>({
  name: 'list-compactions',
  purpose: 'Read compactions, newest first.',
  text: `select json_build_object('id', c.id, 'sessionKey', s.key, 'transcriptNo', c.transcript_no,
    'turnId', c.turn_id, 'reason', c.reason, 'status', c.status, 'attempt', c.attempt, 'tokensBefore', c.tokens_before,
    'tokensAfter', c.tokens_after,
    'summaryEntryId', (select e.id from holdfast.entries e where e.session_id = c.session_id and e.seq = c.summary_seq),
    'retiredEntries', (select count(*) from holdfast.entries e
      where e.session_id = c.session_id and c.summary_seq is not null and e.state = 'compacted' and e.retired_seq = c.summary_seq),
    'memoryPath', c.memory ->> 'path', 'audit', c.audit, 'error', c.error,
    'isRestorable', c.status = 'completed' and c.transcript_no = s.transcript_no,
    'startedAt', ${isoSql('c.started_at')}, 'endedAt', ${isoSql('c.ended_at')}) as view
from holdfast.compactions c join holdfast.sessions s on s.id = c.session_id`,
  filters: { sessionId: 'c.session_id = $sessionId', sessionKey: 's.key = $sessionKey', turnId: 'c.turn_id = $turnId' },
  order: 'c.id desc',
  show: ({ view }) => view,
});

export const transcripts = listOf<{ sessionId: string }, { view: TranscriptView }, TranscriptView>({
  name: 'list-transcripts',
  purpose: 'Read the transcripts of a session, the current one first.',
  text: `with transcripts as (
  select s.id as session_id, s.transcript_no, null::timestamptz as ended_at from holdfast.sessions s where s.id = $sessionId
  union all
  select t.session_id, t.transcript_no, t.ended_at from holdfast.ended_transcripts t where t.session_id = $sessionId
)
select json_build_object('transcriptNo', t.transcript_no, 'isCurrent', t.ended_at is null,
    'entries', (select count(*) from holdfast.entries e where e.session_id = t.session_id and e.transcript_no = t.transcript_no),
    'endedAt', ${isoSql('t.ended_at')}) as view
from transcripts t`,
  filters: {},
  order: 't.transcript_no desc',
  key: 'transcriptNo',
  show: ({ view }) => view,
});
