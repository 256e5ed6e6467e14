// All rows of a session, as text: two readings that are equal mean that nobody wrote to it in between.
import type { CrashRig } from './crash-rig.ts';

const tables = ['inbox', 'entries', 'turns', 'system_events', 'deliveries', 'events', 'doorbells'];
const turnTables = ['model_calls', 'tool_calls'];

/** Reads every row that belongs to the session, by table. */
export async function readSessionRows(rig: CrashRig, session: string): Promise<Record<string, string>> {
  const own = `(select id from holdfast.sessions where key = $1)`;
  const selections = [
    `select 'sessions' as name, to_json(s)::text as row from holdfast.sessions s where s.key = $1`,
    ...tables.map(
      (table) => `select '${table}', to_json(r)::text from holdfast.${table} r where r.session_id = ${own}`,
    ),
    ...turnTables.map(
      (table) =>
        `select '${table}', to_json(r)::text from holdfast.${table} r
         where r.turn_id in (select id from holdfast.turns where session_id = ${own})`,
    ),
  ];
  const { rows } = await rig.database.query<{ name: string; row: string }>(
    `select name, string_agg(row, E'\\n' order by row) as row from (${selections.join(' union all ')}) as all_rows group by name`,
    [`agent:main:${session}`],
  );
  return Object.fromEntries(rows.map(({ name, row }) => [name, row]));
}

/** Names the tables whose rows differ. */
export function changedTables(before: Record<string, string>, after: Record<string, string>): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => before[name] !== after[name]);
}
