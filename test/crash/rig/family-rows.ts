// The rows of a session and of all its descendants, to judge families.
import type { CrashRig } from './crash-rig.ts';

const FAMILY = `(select s.id from holdfast.sessions s where s.key = $1
  or (select top.id from holdfast.sessions top where top.key = $1) = any (s.ancestors))`;

const TABLES = ['inbox', 'entries', 'turns', 'system_events', 'deliveries', 'events', 'doorbells', 'yields', 'effects'];

/**
 * Every row of the family by table, as text: if two readings are equal, no process wrote to it in
 * between.
 */
export async function readFamilyRows(rig: CrashRig, session: string): Promise<Record<string, string>> {
  const selections = [
    `select 'sessions' as name, to_json(s)::text as row from holdfast.sessions s where s.id in ${FAMILY}`,
    `select 'subagent_runs', to_json(r)::text from holdfast.subagent_runs r where r.child_id in ${FAMILY}`,
    ...TABLES.map(
      (table) => `select '${table}', to_json(r)::text from holdfast.${table} r where r.session_id in ${FAMILY}`,
    ),
    ...['model_calls', 'tool_calls'].map(
      (table) => `select '${table}', to_json(r)::text from holdfast.${table} r
        where r.turn_id in (select id from holdfast.turns where session_id in ${FAMILY})`,
    ),
  ];
  const { rows } = await rig.database.query<{ name: string; row: string }>(
    `select name, string_agg(row, E'\\n' order by row) as row from (${selections.join(' union all ')}) as all_rows group by name`,
    [keyOf(session)],
  );
  return Object.fromEntries(rows.map(({ name, row }) => [name, row]));
}

/** True when no session of the family has work left, and `spawned` runs were spawned in it. */
export async function isQuiet(rig: CrashRig, session: string, runs: number): Promise<boolean> {
  const { rows } = await rig.database.query<{ busy: number; ended: number }>(
    `select (select count(*)::int from holdfast.sessions s where s.id in ${FAMILY}
        and (s.waiting > 0 or s.turn_id is not null or s.owner is not null or s.run_id is not null))
        + (select count(*)::int from holdfast.effects e where e.session_id in ${FAMILY}) as busy,
      (select count(*)::int from holdfast.subagent_runs r where r.child_id in ${FAMILY} and r.status <> 'running') as ended`,
    [keyOf(session)],
  );
  return rows[0]?.busy === 0 && rows[0].ended >= runs;
}

export interface FamilyRun {
  id: string;
  label: string;
  status: string;
  depth: number;
  child_key: string;
  parent_key: string;
  /** The key of the session that received this announcement, and the number of its rows. */
  notified_key: string | null;
  notified_rows: number;
  notified_status: string | null;
}

/** The runs of the family, oldest first. */
export async function readRuns(rig: CrashRig, session: string): Promise<FamilyRun[]> {
  const { rows } = await rig.database.query<FamilyRun>(
    `select r.id, r.label, r.status, r.depth, c.key as child_key, p.key as parent_key, notified.key as notified_key,
       (select count(*)::int from holdfast.inbox i where i.cause_key = 'announce:' || r.id) as notified_rows,
       (select i.status from holdfast.inbox i where i.cause_key = 'announce:' || r.id) as notified_status
     from holdfast.subagent_runs r join holdfast.sessions c on c.id = r.child_id join holdfast.sessions p on p.id = r.parent_id
     left join holdfast.sessions notified on notified.id = r.announced_to
     where r.child_id in ${FAMILY} order by r.id`,
    [keyOf(session)],
  );
  return rows;
}

/** Rows that must not remain once the family is quiet, counted by kind; all counts must be 0. */
export async function readLeftovers(rig: CrashRig, session: string): Promise<Record<string, number>> {
  const { rows } = await rig.database.query<Record<string, number>>(
    `select (select count(*)::int from holdfast.doorbells d where d.session_id in ${FAMILY}) as doorbells,
      (select count(*)::int from holdfast.turns t where t.session_id in ${FAMILY} and t.ended_at is null) as open_turns,
      (select count(*)::int from holdfast.tool_calls c join holdfast.turns t on t.id = c.turn_id
        where t.session_id in ${FAMILY} and c.status = 'intent') as intents,
      (select coalesce(sum(s.live_children + s.live_descendants), 0)::int from holdfast.sessions s where s.id in ${FAMILY}) as live_counts,
      (select count(*)::int from holdfast.inbox i where i.session_id in ${FAMILY} and i.status in ('waiting', 'claimed')) as unsettled,
      (select count(*)::int from holdfast.dead_letters l where l.session_id in ${FAMILY}) as dead_letters`,
    [keyOf(session)],
  );
  return rows[0] ?? {};
}

/**
 * The texts that the sessions of a key received, oldest first: prompts, and messages that joined
 * turns.
 */
export async function readInputs(rig: CrashRig, key: string): Promise<string[]> {
  const { rows } = await rig.database.query<{ content: { text?: string }[] }>(
    `select e.content from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
     where s.key = $1 and e.kind in ('prompt', 'steer') order by e.seq`,
    [key],
  );
  return rows.map(({ content }) => content.map(({ text = '' }) => text).join('\n'));
}

/** The key of a session of the agent main. */
export function keyOf(session: string): string {
  return `agent:main:${session}`;
}
