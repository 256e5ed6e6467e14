// The entries of a session's transcript, oldest or newest first. A page is bounded in items and in bytes, because one entry may hold as much
// as a hundred others (G28). Its long parts may be cut; then it is bounded by what is left, and by how much is read for it.
import type { EntryView } from '../../contract/views.ts';
import { alias, and, asc, desc, eq, gt, inArray, lt, sql } from '../drizzle.ts';
import { entries } from '../schema.ts';
import { isoOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

/** Which entries: of one transcript of the session, only the active ones or all. */
export interface EntryFilter {
  sessionId: string;
  transcriptNo: number;
  isOnlyActive: boolean;
  isNewestFirst: boolean;
  /** Cuts the parts of an entry that are too long; null: they are whole. */
  cut: ((entry: EntryView) => EntryView) | null;
}

/** A page of whole entries ends with the entry that exceeds this; the entries of others are read in portions of this size. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/** A page of cut entries ends with the entry that exceeds this. */
const CUT_PAGE_BYTES_MAX = 256 * 1024;

/** The most portions that are read for a page of cut entries. */
const PORTIONS_MAX = 8;

/** Entries in the order of their numbers, or the reverse; `after` is a number. */
export async function listEntries(db: ViewDatabase, filter: EntryFilter, page: PageRequest): Promise<Page<EntryView>> {
  const [order, beyond] = filter.isNewestFirst ? [desc, lt] : [asc, gt];
  const sizes = await db
    .select({ seq: entries.seq, bytes: sql<number>`octet_length(${entries.content}::text)` })
    .from(entries)
    .where(
      and(
        eq(entries.sessionId, filter.sessionId),
        eq(entries.transcriptNo, filter.transcriptNo),
        filter.isOnlyActive ? eq(entries.state, 'active') : undefined,
        page.after === null ? undefined : beyond(entries.seq, Number(page.after)),
      ),
    )
    .orderBy(order(entries.seq))
    .limit(page.limit + 1);
  const items = await readPage(db, filter, sizes.slice(0, page.limit));
  const last = items.at(-1);
  return { items, next: last !== undefined && items.length < sizes.length ? String(last.seq) : null };
}

interface EntrySize {
  seq: number;
  bytes: number;
}

/** The first of these entries that fit a page. */
async function readPage(db: ViewDatabase, filter: EntryFilter, sizes: EntrySize[]): Promise<EntryView[]> {
  const items: EntryView[] = [];
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

/** The blocks of an entry; null: the session has no entry with this id. */
export async function readBlocks(
  db: ViewDatabase,
  sessionId: string,
  entryId: string,
): Promise<EntryView['content'] | null> {
  const [row] = await db
    .select({ content: entries.content })
    .from(entries)
    .where(and(eq(entries.sessionId, sessionId), eq(entries.id, entryId)))
    .limit(1);
  return row?.content ?? null;
}

/** The stored parts that have a position: the sender's text is a part without one, as long as the content itself. */
const SPANS = sql<EntryView['parts']>`(select json_agg(part order by n)
  from json_array_elements(${entries.parts}) with ordinality as stored (part, n) where part -> 'start' is not null)`;

async function readEntries(db: ViewDatabase, sessionId: string, seqs: number[]): Promise<EntryView[]> {
  if (seqs.length === 0) return [];
  const parent = alias(entries, 'parent');
  const rows = await db
    .select({
      id: entries.id,
      seq: entries.seq,
      parentId: parent.id,
      kind: entries.kind,
      role: entries.role,
      content: entries.content,
      parts: SPANS,
      turnId: entries.turnId,
      state: entries.state,
      createdAt: entries.createdAt,
    })
    .from(entries)
    .leftJoin(parent, and(eq(parent.sessionId, entries.sessionId), eq(parent.seq, entries.parentSeq)))
    .where(and(eq(entries.sessionId, sessionId), inArray(entries.seq, seqs)))
    .orderBy(asc(entries.seq));
  return rows.map((row) => ({ ...row, createdAt: isoOf(row.createdAt) }));
}
