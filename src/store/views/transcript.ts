// The entries of a session's transcript, oldest or newest first. A page is bounded in items and in bytes, because one entry may hold as much
// as a hundred others (G28).
import { alias, and, asc, desc, eq, gt, inArray, lt, sql } from '../drizzle.ts';
import { entries } from '../schema.ts';
import { isoOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

export const ENTRY_KINDS = ['prompt', 'answer', 'results', 'steer', 'summary'] as const;
export const ENTRY_STATES = ['active', 'pruned', 'compacted', 'hidden'] as const;

export interface EntryView {
  id: string;
  seq: number;
  parentId: string | null;
  kind: (typeof ENTRY_KINDS)[number];
  role: 'user' | 'assistant';
  /** Content blocks in Anthropic's shapes. */
  content: unknown;
  turnId: string;
  state: (typeof ENTRY_STATES)[number];
  createdAt: string;
}

/** Which entries: of one transcript of the session, only the active ones or all. */
export interface EntryFilter {
  sessionId: string;
  transcriptNo: number;
  isOnlyActive: boolean;
  isNewestFirst: boolean;
}

/** A page ends with the entry that exceeds this. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

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
  const shown = takeWhileFitting(sizes.slice(0, page.limit));
  const rows = await readEntries(
    db,
    filter.sessionId,
    shown.map((entry) => entry.seq),
  );
  const last = shown.at(-1);
  if (filter.isNewestFirst) rows.reverse();
  return { items: rows, next: last !== undefined && shown.length < sizes.length ? String(last.seq) : null };
}

function takeWhileFitting(sizes: { seq: number; bytes: number }[]): { seq: number }[] {
  let total = 0;
  const end = sizes.findIndex((entry) => (total += entry.bytes) > PAGE_BYTES_MAX);
  return end === -1 ? sizes : sizes.slice(0, end + 1);
}

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
      turnId: entries.turnId,
      state: entries.state,
      createdAt: entries.createdAt,
    })
    .from(entries)
    .leftJoin(parent, and(eq(parent.sessionId, entries.sessionId), eq(parent.seq, entries.parentSeq)))
    .where(and(eq(entries.sessionId, sessionId), inArray(entries.seq, seqs)))
    .orderBy(asc(entries.seq));
  return rows.map((row) => ({
    ...row,
    // The checks of the table allow no other kinds, roles and states.
    kind: row.kind as EntryView['kind'],
    role: row.role as EntryView['role'],
    state: row.state as EntryView['state'],
    createdAt: isoOf(row.createdAt),
  }));
}
