// A turn and the turns of the subagents below it, as one tree: which turns there are, in the order
// in which a person reads them.
import type { ViewDatabase } from '../../database/page.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { viewTurns } from '../../kernel/views/turns.ts';
import type { TurnTree } from './contract.ts';

/** The most turns that are shown, of one turn the most subagents, of one subagent the most turns. */
const TURNS_MAX = 100;
const DEPTH_MAX = 10;
const TASK_CHARS_MAX = 200;

type Place = Omit<TurnTree['items'][number], 'turn'> & { turnId: string | null };

/**
 * A subagent belongs to the turn during which it was spawned, and a turn to the run of the subagent
 * during which it began. `path` puts each after the one that it belongs to.
 */
export const readTurnTree = viewQuery({
  name: 'turn-tree',
  purpose: 'Read which turns of subagents belong to a turn ($1), in the order of a tree.',
  text: `with recursive tree as (
  select t.id as turn_id, null::uuid as run_id, null::uuid as parent_turn_id, 0 as depth, t.session_id, t.started_at, t.ended_at, array[t.id] as path
  from holdfast.turns t where t.id = $1
  union all
  select own.id, run.id, tree.turn_id, tree.depth + 1, run.child_id, own.started_at, own.ended_at, tree.path || run.id || own.id
  from tree cross join lateral (
    select r.* from holdfast.subagent_runs r
    where r.parent_id = tree.session_id and r.created_at >= tree.started_at and (tree.ended_at is null or r.created_at <= tree.ended_at)
    order by r.id limit ${TURNS_MAX}
  ) as run
  left join lateral (
    select t.id, t.started_at, t.ended_at from holdfast.turns t
    where t.session_id = run.child_id and t.started_at >= run.created_at and (run.ended_at is null or t.started_at <= run.ended_at)
    order by t.id limit ${TURNS_MAX}
  ) as own on true
  where tree.depth < ${DEPTH_MAX}
),
shown as (select * from tree order by depth, path limit ${TURNS_MAX + 1})
select shown.turn_id as "turnId", shown.parent_turn_id as "parentTurnId", shown.depth,
  case when r.id is not null then json_build_object('runId', r.id, 'sessionKey', c.key, 'label', r.label,
    'task', left(r.task, ${TASK_CHARS_MAX}), 'status', r.status, 'createdAt', ${isoSql('r.created_at')}, 'endedAt', ${isoSql('r.ended_at')}) end as run
from shown left join holdfast.subagent_runs r on r.id = shown.run_id left join holdfast.sessions c on c.id = r.child_id
order by shown.path`,
  values: (turnId: string) => [turnId],
  answer: (places: Place[]) => places,
});

/** The tree of a turn; null: there is no such turn. `leaseMs`: how long leases of workers are. */
export async function viewTurnTree(db: ViewDatabase, turnId: string, leaseMs: number): Promise<TurnTree | null> {
  const found = await readTurnTree(db, turnId);
  if (found.length === 0) return null;
  const places = found.slice(0, TURNS_MAX);
  const ids = places.flatMap((place) => place.turnId ?? []);
  const turns = new Map((await viewTurns(db, ids, leaseMs)).map((turn) => [turn.id, turn]));
  const items = places.map(({ turnId: id, ...place }) => ({ ...place, turn: turns.get(id ?? '') ?? null }));
  return { items, isCapped: found.length > TURNS_MAX };
}
