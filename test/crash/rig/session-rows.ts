// All rows of a session, as text: if two readings are equal, no process wrote to it in between.
import type { CrashRig } from './crash-rig.ts';

const tables = ['inbox', 'entries', 'turns', 'system_events', 'deliveries', 'events', 'doorbells', 'compactions'];
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

/** The current fencing token of the session; 0 when there is no such session yet. */
export async function readEpoch(rig: CrashRig, session: string): Promise<number> {
  const { rows } = await rig.database.query<{ epoch: string }>('select epoch from holdfast.sessions where key = $1', [
    `agent:main:${session}`,
  ]);
  return Number(rows[0]?.epoch ?? 0);
}

/** The ids of tool calls without a result whose intent was committed before that time: their worker may have begun them. */
export async function readRunningCalls(rig: CrashRig, session: string, committedBefore: Date): Promise<string[]> {
  const { rows } = await rig.database.query<{ call_id: string }>(
    `select c.call_id from holdfast.tool_calls c join holdfast.turns t on t.id = c.turn_id
     join holdfast.sessions s on s.id = t.session_id
     where s.key = $1 and c.status = 'intent' and c.intent_at < $2`,
    [`agent:main:${session}`, committedBefore],
  );
  return rows.map((row) => row.call_id);
}
