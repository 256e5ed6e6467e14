// Sessions as the outside sees them, newest first. The facts themselves are made by the SQL that accepting uses too.
import { alias, and, desc, eq, inArray, lt, sql } from '../drizzle.ts';
import { sessions } from '../schema.ts';
import { sessionFactsSql, type SessionFacts } from '../session-facts.ts';
import { pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

const s = alias(sessions, 's');
const facts = sql<SessionFacts>`${sql.raw(sessionFactsSql('s'))}`;

/** The session of this canonical key, or null. */
export async function viewSession(db: ViewDatabase, key: string): Promise<SessionFacts | null> {
  const rows = await db.select({ facts }).from(s).where(eq(s.key, key)).limit(1);
  return rows[0]?.facts ?? null;
}

/** The id of the session of this canonical key and the number of its current transcript, or null. */
export async function findSession(db: ViewDatabase, key: string): Promise<{ id: string; transcriptNo: number } | null> {
  const rows = await db.select({ id: s.id, transcriptNo: s.transcriptNo }).from(s).where(eq(s.key, key)).limit(1);
  return rows[0] ?? null;
}

/** Sessions of these kinds, newest first; of all kinds but `batch` when none is named. */
export async function listSessions(
  db: ViewDatabase,
  { kinds }: { kinds: string[] | undefined },
  page: PageRequest,
): Promise<Page<SessionFacts>> {
  const rows = await db
    .select({ facts })
    .from(s)
    .where(
      and(
        kinds === undefined ? sql`${s.kind} <> 'batch'` : inArray(s.kind, kinds),
        page.after === null ? undefined : lt(s.id, page.after),
      ),
    )
    .orderBy(desc(s.id))
    .limit(page.limit + 1);
  return pageOf(rows, page.limit, { item: (row) => row.facts, key: (row) => row.facts.id });
}
