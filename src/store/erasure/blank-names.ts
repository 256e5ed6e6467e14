// Takes the keys of erased sessions, or the id of an erased person, out of what operators have made: filters and reasons of bulk actions, and
// scopes of budgets. A budget of such a session has nothing left to limit, so it ends.
import type { Database } from '../database.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';
import type { RemovedRows } from './erase-sessions.ts';

export const BLANK_NAMES = literal({
  name: 'blank-names',
  purpose:
    'Empty the bulk actions whose filter has one of the parts $1 of JSON, and end the budgets whose scope ends with one of $2. Answers how many.',
  locking: 'The rows that it changes.',
  text: `with emptied_actions as (
  update holdfast.bulk_actions a set filter = '{}', reason = null
  where exists (select from unnest($1::text[]) as part where strpos(lower(a.filter::text), part) > 0)
  returning 1
),
ended_budgets as (
  update holdfast.budgets b set scope = 'session:erased', removed_at = coalesce(b.removed_at, clock_timestamp())
  where b.scope like 'session:%' and exists (select from unnest($2::text[]) as part where right(lower(b.scope), length(part)) = part)
  returning 1
)
select (select count(*) from emptied_actions)::int as bulk_actions, (select count(*) from ended_budgets)::int as budgets`,
});

/** Takes out the keys of sessions; resolves with the number of rows by table. */
export function blankKeys(database: Database, keys: readonly string[]): Promise<RemovedRows> {
  const short = keys.filter((key) => key.startsWith(OF_MAIN)).map((key) => key.slice(OF_MAIN.length));
  const parts = [...keys.map(quoted), ...short.map((key) => `"session":${quoted(key)}`)];
  return blankNames(
    database,
    parts,
    keys.map((key) => `session:${key}`),
  );
}

/** Takes out the id of a person. */
export async function blankPerson(database: Database, senderId: string): Promise<void> {
  await blankNames(database, [quoted(senderId)], [`:direct:${senderId}`]);
}

const OF_MAIN = 'agent:main:';

function quoted(text: string): string {
  return JSON.stringify(text);
}

async function blankNames(database: Database, parts: string[], endings: string[]): Promise<RemovedRows> {
  const values = [parts, endings].map((texts) => texts.map((text) => text.toLowerCase()));
  const [row] = await sendQuery<RemovedRows>(database.views, BLANK_NAMES.prepared(values));
  return row ?? {};
}
