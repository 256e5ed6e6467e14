// Failed work that waits for a person, grouped by error: two thousand failures are often three errors.
import { and, desc, eq, sql } from '../drizzle.ts';
import { deadLetters, sessions } from '../schema.ts';
import { isoOf, isoOrNull, type Page, type PageRequest, type ViewDatabase } from './page.ts';

export const DEAD_LETTER_STATES = ['open', 'redriven', 'discarded'] as const;

export interface DeadLetterView {
  id: string;
  kind: string;
  sessionKey: string | null;
  turnId: string | null;
  deliveryId: string | null;
  code: string;
  reason: string;
  state: (typeof DEAD_LETTER_STATES)[number];
  createdAt: string;
  settledAt: string | null;
}

/** All dead letters of one kind with one error code. */
export interface DeadLetterGroupView {
  kind: string;
  code: string;
  count: number;
  firstAt: string;
  lastAt: string;
  /** The newest of them. */
  letters: DeadLetterView[];
}

const LETTERS_OF_GROUP_MAX = 20;

/** Groups of dead letters in this state, in the order of kind and code; `after` is a group's key. */
export async function listDeadLetterGroups(
  db: ViewDatabase,
  filter: { state: string },
  page: PageRequest,
): Promise<Page<DeadLetterGroupView>> {
  const groups = await db
    .select({
      kind: deadLetters.kind,
      code: deadLetters.code,
      count: sql<number>`count(*)::int`,
      firstAt: sql<Date>`min(${deadLetters.createdAt})`.mapWith(deadLetters.createdAt),
      lastAt: sql<Date>`max(${deadLetters.createdAt})`.mapWith(deadLetters.createdAt),
    })
    .from(deadLetters)
    .where(and(eq(deadLetters.state, filter.state), page.after === null ? undefined : isAfterGroup(page.after)))
    .groupBy(deadLetters.kind, deadLetters.code)
    .orderBy(deadLetters.kind, deadLetters.code)
    .limit(page.limit + 1);
  const shown = groups.slice(0, page.limit);
  const items = await Promise.all(
    shown.map(async (group) => ({
      ...group,
      firstAt: isoOf(group.firstAt),
      lastAt: isoOf(group.lastAt),
      letters: await newestOf(db, { ...group, state: filter.state }),
    })),
  );
  const last = shown.at(-1);
  return {
    items,
    next: groups.length > page.limit && last !== undefined ? JSON.stringify([last.kind, last.code]) : null,
  };
}

function isAfterGroup(after: string) {
  const [kind, code] = JSON.parse(after) as [string, string];
  return sql`(${deadLetters.kind}, ${deadLetters.code}) > (${kind}, ${code})`;
}

async function newestOf(
  db: ViewDatabase,
  group: { kind: string; code: string; state: string },
): Promise<DeadLetterView[]> {
  const rows = await db
    .select({ letter: deadLetters, sessionKey: sessions.key })
    .from(deadLetters)
    .leftJoin(sessions, eq(sessions.id, deadLetters.sessionId))
    .where(and(eq(deadLetters.state, group.state), eq(deadLetters.kind, group.kind), eq(deadLetters.code, group.code)))
    .orderBy(desc(deadLetters.id))
    .limit(LETTERS_OF_GROUP_MAX);
  return rows.map(({ letter, sessionKey }) => ({
    id: letter.id,
    kind: letter.kind,
    sessionKey,
    turnId: letter.turnId,
    deliveryId: letter.deliveryId,
    code: letter.code,
    reason: letter.reason,
    // The table's check allows no other.
    state: letter.state as DeadLetterView['state'],
    createdAt: isoOf(letter.createdAt),
    settledAt: isoOrNull(letter.settledAt),
  }));
}
