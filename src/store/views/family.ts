// The family of a session: every run below its root, with its own usage and that of it and the runs below it.
import type { FamilyView } from '../../contract/details.ts';
import { dollarsOf } from '../../core/prices/call-cost.ts';
import { isoSql } from '../session-facts.ts';
import { literal } from '../statement.ts';
import type { ViewDatabase } from './page.ts';

/** The most runs that are shown, and the deepest. */
const RUNS_MAX = 1_000;
const DEPTH_MAX = 50;
const TASK_CHARS_MAX = 500;

export const FAMILY = literal({
  name: 'family',
  purpose: 'Read the root of the family of a session ($1) and the runs below it, each after its parent.',
  text: `with recursive root as materialized (
  select r.* from holdfast.sessions s join holdfast.sessions r on r.id = coalesce(s.ancestors[1], s.id) where s.key = $1
),
runs as (
  select run.*, 1 as level from root cross join lateral (
    select * from holdfast.subagent_runs where parent_id = root.id order by id limit ${RUNS_MAX + 1}
  ) as run
  union all
  select run.*, runs.level + 1 from runs cross join lateral (
    select * from holdfast.subagent_runs where parent_id = runs.child_id and created_at >= runs.created_at order by id limit ${RUNS_MAX + 1}
  ) as run where runs.level < ${DEPTH_MAX}
),
shown as (
  select distinct on (level, id) * from runs order by level, id limit ${RUNS_MAX + 1}
)
select root.key as "rootKey", root.input_tokens as "rootInput", root.output_tokens as "rootOutput", root.cost_micros as "rootMicros", root.is_simulated as "rootSimulated",
  (select coalesce(json_agg(json_build_object('runId', r.id, 'sessionKey', c.key, 'parentSessionKey', p.key, 'label', r.label,
    'task', left(r.task, ${TASK_CHARS_MAX}), 'agentId', c.agent_id, 'depth', r.depth, 'status', r.status, 'mode', r.mode,
    'createdAt', ${isoSql('r.created_at')}, 'endedAt', ${isoSql('r.ended_at')}, 'turnId', last_turn.id,
    'announcement', case when r.ended_at is not null then json_build_object('how', case
        when i.id is null then 'noRecipient'
        when i.status = 'waiting' then 'waiting'
        when i.turn_id is null then 'notSent'
        -- What is received after a turn has started is not in its prompt.
        when i.received_at > t.started_at then 'steered'
        else 'ownTurn' end,
      'messageId', i.id, 'sessionKey', told.key, 'status', i.status, 'turnId', i.turn_id) end,
    'input', case when r.status = 'running' then c.input_tokens else r.input_tokens end,
    'output', case when r.status = 'running' then c.output_tokens else r.output_tokens end,
    'micros', case when r.status = 'running' then c.cost_micros else r.cost_micros end,
    'simulated', case when r.status = 'running' then c.is_simulated else r.is_simulated end) order by r.level, r.id), '[]')
    from shown r cross join lateral (select * from holdfast.sessions where id = r.child_id limit 1) as c
    cross join lateral (select * from holdfast.sessions where id = r.parent_id limit 1) as p
    left join lateral (
      select own.id from holdfast.turns own
      where own.session_id = r.child_id and own.started_at >= r.created_at and (r.ended_at is null or own.started_at <= r.ended_at)
      order by own.id desc limit 1
    ) as last_turn on true
    left join lateral (select * from holdfast.inbox where id = r.announcement_id limit 1) as i on true
    left join lateral (select * from holdfast.sessions where id = i.session_id limit 1) as told on true
    left join lateral (select * from holdfast.turns where id = i.turn_id limit 1) as t on true
  ) as runs
from root`,
});

type FamilyRun = FamilyView['items'][number];
type FamilyUsage = FamilyView['root'];

interface RunRow extends Omit<FamilyRun, 'own' | 'subtree' | 'parentRunId'> {
  input: number;
  output: number;
  micros: number | null;
  simulated: boolean;
}

interface FamilyRow {
  rootKey: string;
  rootInput: string;
  rootOutput: string;
  rootMicros: string | null;
  rootSimulated: boolean;
  runs: RunRow[];
}

/** The family of the session of this key; null: there is no such session. */
export async function viewFamily(db: ViewDatabase, key: string): Promise<FamilyView | null> {
  const { rows } = await db.query<FamilyRow>(FAMILY.prepared([key]));
  const [row] = rows;
  if (row === undefined) return null;
  const shown = row.runs.slice(0, RUNS_MAX);
  const items = shown.map(({ input, output, micros, simulated, ...run }): FamilyRun => {
    const own = usageOf({ input, output }, micros, simulated);
    return { ...run, parentRunId: null, own, subtree: { ...own, runs: 1 } };
  });
  // A run that was restarted has the same session, and a run below belongs to the last one that had begun by then.
  for (const run of items.toReversed()) {
    const parent = items.findLast((one) => one.sessionKey === run.parentSessionKey && one.createdAt <= run.createdAt);
    if (parent === undefined) continue;
    run.parentRunId = parent.runId;
    parent.subtree = sumOf(parent.subtree, run.subtree);
  }
  const rootMicros = row.rootMicros === null ? null : Number(row.rootMicros);
  return {
    rootKey: row.rootKey,
    root: usageOf({ input: Number(row.rootInput), output: Number(row.rootOutput) }, rootMicros, row.rootSimulated),
    items,
    isCapped: row.runs.length > RUNS_MAX,
  };
}

function usageOf(tokens: FamilyUsage['tokens'], costMicros: number | null, simulated: boolean): FamilyUsage {
  return { tokens, costUsd: dollarsOf(costMicros), costMicros, simulated };
}

function sumOf(one: FamilyRun['subtree'], other: FamilyRun['subtree']): FamilyRun['subtree'] {
  const known = [one.costMicros, other.costMicros].filter((micros) => micros !== null);
  const micros = known.length === 0 ? null : known.reduce((sum, part) => sum + part, 0);
  const tokens = { input: one.tokens.input + other.tokens.input, output: one.tokens.output + other.tokens.output };
  return {
    ...usageOf(tokens, micros, one.simulated || other.simulated),
    runs: one.runs + other.runs,
  };
}
