// A turn and the turns of the subagents below it, as one tree: which turns there are, in the order
// in which a person reads them. It is read level by level, so that a family of any size is read no
// further than it is shown.
import type { ViewDatabase } from '../../database/page.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { cutSteps, viewTurns } from '../../kernel/views/turns.ts';
import type { TurnTree } from './contract.ts';

/** The most turns that are shown. */
const TURNS_MAX = 100;
const DEPTH_MAX = 10;
const TASK_CHARS_MAX = 200;

/** A turn of a subagent, or its run without one. */
interface Child {
  parentTurnId: string;
  run: NonNullable<TurnTree['items'][number]['run']>;
  turnId: string | null;
}

/**
 * A subagent belongs to the turn during which it was spawned, and a turn to the run of the subagent
 * during which it began.
 */
export const readTurnsBelow = viewQuery({
  name: 'turns-below',
  purpose: 'Read the turns of subagents that were spawned while one of these turns ($1) ran, oldest first.',
  text: `select parent.id as "parentTurnId", own.id as "turnId", json_build_object('runId', r.id, 'sessionKey', c.key, 'label', r.label,
    'task', left(r.task, ${TASK_CHARS_MAX}), 'status', r.status, 'createdAt', ${isoSql('r.created_at')}, 'endedAt', ${isoSql('r.ended_at')}) as run
from holdfast.turns parent cross join lateral (
  select * from holdfast.subagent_runs
  where parent_id = parent.session_id and created_at >= parent.started_at and (parent.ended_at is null or created_at <= parent.ended_at)
  order by id limit $2
) as r cross join lateral (select key from holdfast.sessions where id = r.child_id limit 1) as c
left join lateral (
  select t.id from holdfast.turns t
  where t.session_id = r.child_id and t.started_at >= r.created_at and (r.ended_at is null or t.started_at <= r.ended_at)
  order by t.id limit $2
) as own on true
where parent.id = any ($1::uuid[]) order by r.id, own.id limit $2`,
  values: (turnIds: readonly string[], limit: number) => [turnIds, limit],
  answer: (children: Child[]) => children,
});

/** The tree of a turn; null: there is no such turn. `leaseMs`: how long leases of workers are. */
export async function viewTurnTree(db: ViewDatabase, turnId: string, leaseMs: number): Promise<TurnTree | null> {
  const found: Child[] = [];
  let level: readonly string[] = [turnId];
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0 && found.length < TURNS_MAX; depth += 1) {
    const below = await readTurnsBelow(db, level, TURNS_MAX + 1 - found.length);
    found.push(...below);
    level = below.flatMap((child) => child.turnId ?? []);
  }
  const shown = found.slice(0, TURNS_MAX - 1);
  const turns = await viewTurns(db, [turnId, ...shown.flatMap((child) => child.turnId ?? [])], leaseMs);
  const byId = new Map(turns.map((turn) => [turn.id, turn]));
  const root = byId.get(turnId);
  if (root === undefined) return null;

  const children = Map.groupBy(shown, ({ parentTurnId }) => parentTurnId);
  const below = (id: string, depth: number): TurnTree['items'] =>
    (children.get(id) ?? []).flatMap(({ turnId: own, run, parentTurnId }) => {
      const turn = own === null ? undefined : byId.get(own);
      const item = { depth, parentTurnId, run, turn: turn === undefined ? null : cutSteps(turn) };
      return own === null ? [item] : [item, ...below(own, depth + 1)];
    });
  const items = [{ depth: 0, parentTurnId: null, run: null, turn: cutSteps(root) }, ...below(turnId, 1)];
  return { items, isCapped: shown.length < found.length };
}
