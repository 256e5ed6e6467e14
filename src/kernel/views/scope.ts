// The roots of single things, by which it is decided whether a key sees them. They themselves are
// compared, not the numbers that lists are read by, so this is exact while those of older rows are
// still missing.
import { viewQuery } from '../../database/literal-query.ts';
import type { ViewDatabase } from '../../database/page.ts';

/** Resolves with the root of the thing with an id; null: there is none, or no key sees it. */
export type FindRoot = (db: ViewDatabase, id: string) => Promise<string | null>;

/** A statement of things that belong to the session that their column names. */
export function rootOfSession(table: string, { session = 'session_id' } = {}) {
  return rootOf(
    `select coalesce(s.root, s.key) as root from holdfast.${table} x join holdfast.sessions s on s.id = x.${session} where x.id = $1`,
  );
}

/** A statement of things that belong to the key that made them. */
export function rootOfOwner(table: string) {
  return rootOf(`select x.owner as root from holdfast.${table} x where x.id = $1`);
}

function rootOf(text: string) {
  return {
    text,
    values: (id: string) => [id],
    answer: ([row]: { root: string | null }[]) => row?.root ?? null,
  };
}

export const findTurnRoot = viewQuery({
  name: 'find-turn-root',
  purpose: 'Read the root of a turn.',
  ...rootOfSession('turns'),
});
export const findMessageRoot = viewQuery({
  name: 'find-message-root',
  purpose: 'Read the root of a message.',
  ...rootOfSession('inbox'),
});

/** The roots of the sessions of these keys; a key of no session has none. */
export const findRootsOf = viewQuery({
  name: 'find-roots',
  purpose: 'Read the roots of the sessions of some keys.',
  text: `select s.key, coalesce(s.root, s.key) as root from holdfast.sessions s where s.key = any ($1::text[])`,
  values: (keys: string[]) => [keys],
  answer: (rows: { key: string; root: string }[]) => new Map(rows.map(({ key, root }) => [key, root])),
});

/** The root of the session of this key; null: there is no session yet. */
export const findRootOf = viewQuery({
  name: 'find-root',
  purpose: 'Read the root of the session of a key.',
  text: `select coalesce(s.root, s.key) as root from holdfast.sessions s where s.key = $1`,
  values: (key: string) => [key],
  answer: ([row]: { root: string }[]) => row?.root ?? null,
});
