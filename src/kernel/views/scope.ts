// Whether a key sees a single thing. The roots themselves are compared, not the numbers that lists
// are read by, so this is exact while those of older rows are still missing.
import { viewQuery } from '../../database/literal-query.ts';
import type { ViewDatabase } from '../../database/page.ts';

/** Resolves with whether the thing with an id is inside of a scope. */
export type IsSeen = (db: ViewDatabase, id: string, scope: readonly string[]) => Promise<boolean>;

/** A statement of things that belong to the session that their column names. */
export function seenInSession(table: string, { session = 'session_id' } = {}) {
  return seenBy(
    `select coalesce(s.root, s.key) as root from holdfast.${table} x join holdfast.sessions s on s.id = x.${session} where x.id = $id`,
  );
}

/** A statement of things that belong to the key that made them. */
export function seenByOwner(table: string) {
  return seenBy(`select x.owner as root from holdfast.${table} x where x.id = $id`);
}

function seenBy(rootSql: string) {
  return {
    text: `select exists (select from (${rootSql}) as found join unnest($scope::text[]) as wanted (prefix)
  on starts_with(found.root, wanted.prefix)) as "isSeen"`,
    values: (id: string, scope: readonly string[]) => ({ id, scope }),
    answer: ([row]: { isSeen: boolean }[]) => row?.isSeen === true,
  };
}

export const isTurnSeen = viewQuery({
  name: 'is-turn-seen',
  purpose: 'Whether a turn is inside of a scope.',
  ...seenInSession('turns'),
});
export const isMessageSeen = viewQuery({
  name: 'is-message-seen',
  purpose: 'Whether a message is inside of a scope.',
  ...seenInSession('inbox'),
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
