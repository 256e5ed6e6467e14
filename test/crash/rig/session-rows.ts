// All rows of a session, as text: if two readings are equal, no process wrote to it in between.
import { readToolCalls } from '../../rows/calls.ts';
import { readSessions } from '../../rows/sessions.ts';
import { below } from '../../rows/table.ts';
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
  const rows = await readSessions(rig.database, { key: `agent:main:${session}` }, 'epoch');
  return Number(rows[0]?.epoch ?? 0);
}

/**
 * The ids of tool calls without a result whose intent was committed before that time: their worker
 * may have begun them.
 */
export async function readRunningCalls(rig: CrashRig, session: string, committedBefore: Date): Promise<string[]> {
  const rows = await readToolCalls(
    rig.database,
    { sessionKey: `agent:main:${session}`, status: 'intent', intentAt: below(committedBefore) },
    'callId',
  );
  return rows.map((row) => row.callId);
}
