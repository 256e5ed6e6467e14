// Sessions to which a caller that sees a part of the service has sent something: their agents reach
// only what comes from the same root, and chats of others not at all (G44). A root is confined as a
// whole, because the caller sees all of it: it is looked up when a tool asks, so no order of events
// matters.
import { literalQuery } from '../../database/literal-query.ts';

/** SQL of the root of the session `alias`, as the indexes of roots have it. */
export function rootSql(alias: string): string {
  return `coalesce(${alias}.root, ${alias}.key collate "C")`;
}

/** SQL of whether the session `alias` is confined. */
export function isConfinedSql(alias: string): string {
  return `exists (select from holdfast.sessions one where one.is_confined and ${rootSql('one')} = ${rootSql(alias)})`;
}

export const confineRoots = literalQuery({
  name: 'confine-roots',
  purpose: 'Confine the sessions of these roots, each named by its key or that of a session of it.',
  locking: 'The rows of the sessions that are confined now, in the order of their ids.',
  text: `with named as materialized (
  select unnest($1::text[]) as root union select ${rootSql('s')} from holdfast.sessions s where s.key = any ($1::text[])
),
open as materialized (
  select s.id from holdfast.sessions s where ${rootSql('s')} = any (array(select root collate "C" from named)) and not s.is_confined
  order by s.id for no key update
)
update holdfast.sessions s set is_confined = true from open where s.id = open.id`,
  values: (keys: readonly string[]) => [keys],
});

export const readConfinement = literalQuery({
  name: 'read-confinement',
  purpose: 'Read the root of a session, and whether it is confined.',
  pool: 'views',
  text: `select ${rootSql('s')} as root, ${isConfinedSql('s')} as "isConfined" from holdfast.sessions s where s.key = $1`,
  values: (key: string) => [key],
  // A session whose tool asks exists, unless it was erased since.
  answer: ([session]: { root: string; isConfined: boolean }[], key) => session ?? { root: key, isConfined: true },
});
