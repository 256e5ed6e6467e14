// The roots of single things, by which it is decided whether a key sees them. They themselves are
// compared, not the numbers that lists are read by, so this is exact while those of older rows are
// still missing.
import { viewQuery } from '../../database/literal-query.ts';

/** SQL of the root of what belongs to the session that its column names. */
const rootOfSession = (table: string, column = 'session_id'): string =>
  `select coalesce(s.root, s.key) as root from holdfast.${table} x join holdfast.sessions s on s.id = x.${column} where x.id = $id`;

const ROOTS = {
  turn: rootOfSession('turns'),
  message: rootOfSession('inbox'),
  delivery: rootOfSession('deliveries'),
  approval: rootOfSession('approvals'),
  score: rootOfSession('turn_scores'),
  run: rootOfSession('subagent_runs', 'child_id'),
  // It belongs to the key that made it.
  batch: 'select x.owner as root from holdfast.batches x where x.id = $id',
};

/** The kinds of things that have ids. */
export type ItemKind = keyof typeof ROOTS;

const FOUND_SQL = Object.entries(ROOTS).map(([kind, text]) => `${text} and $kind = '${kind}'`);

export const findRoot = viewQuery({
  name: 'find-root-of-item',
  purpose: 'Read the root of a thing of a kind ($kind); null: there is none, or no key with a scope sees it.',
  text: `select found.root from (${FOUND_SQL.join('\n  union all ')}) as found`,
  values: (kind: ItemKind, id: string) => ({ kind, id }),
  answer: ([row]: { root: string | null }[]) => row?.root ?? null,
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
