// Tasks of MCP servers that calls wait for: stored in one commit with the wait, so that any worker
// can ask for them.
import { literalQuery } from '../../../database/literal-query.ts';
import type { HeldIntent } from '../../../kernel/turn/journal/journal.ts';

/** A task as it is stored with its call. */
export interface NewTask {
  server: string;
  taskId: string;
}

// A call whose task the server has lost has begun another one; its time counts from the first.
export const storeMcpTasks = literalQuery({
  name: 'store-mcp-tasks',
  purpose: 'Store the tasks that calls of a turn have begun.',
  locking: 'The tasks, after the session of the turn, which the transaction has locked.',
  text: `insert into holdfast.mcp_tasks (turn_id, step, ordinal, server, task_id)
select $turnId, t.* from unnest($steps::int[], $ordinals::int[], $servers::text[], $taskIds::text[]) as t
on conflict (turn_id, step, ordinal) do update set server = excluded.server, task_id = excluded.task_id, is_over = false`,
  values(turnId: string, calls: readonly HeldIntent[]) {
    // This feature has made the facts of the calls that it holds.
    const tasks = calls.map(({ facts }) => facts as NewTask);
    return {
      turnId,
      steps: calls.map(({ step }) => step),
      ordinals: calls.map(({ ordinal }) => ordinal),
      servers: tasks.map(({ server }) => server),
      taskIds: tasks.map(({ taskId }) => taskId),
    };
  },
});

/** A task that a call waits for. */
export interface WaitingTask extends NewTask {
  ordinal: number;
  ageMs: number;
}

export const readMcpTasks = literalQuery({
  name: 'read-mcp-tasks',
  purpose: 'Read the tasks that calls of a step wait for.',
  text: `select ordinal, server, task_id as "taskId", (extract(epoch from clock_timestamp() - begun_at) * 1000)::float8 as "ageMs"
from holdfast.mcp_tasks where turn_id = $turnId and step = $step`,
  values: (of: { turnId: string; step: number }) => of,
  answer: (tasks: WaitingTask[]) => tasks,
});

export const endMcpTask = literalQuery({
  name: 'end-mcp-task',
  purpose: 'Note that a task has ended, so that nothing cancels it.',
  locking: 'The task.',
  text: `update holdfast.mcp_tasks set is_over = true where turn_id = $turnId and step = $step and ordinal = $ordinal`,
  values: (of: { turnId: string; step: number; ordinal: number }) => of,
});

const IS_LEFT_SQL =
  't.server = any ($servers::text[]) and not exists (select from holdfast.turns u where u.id = t.turn_id and u.ended_at is null)';

/** SQL of whether a turn has ended without its task. */
export const HAS_LEFT_TASKS_SQL = `exists (select from holdfast.mcp_tasks t where ${IS_LEFT_SQL})`;

export const takeLeftMcpTasks = literalQuery({
  name: 'take-left-mcp-tasks',
  purpose: 'Delete the tasks of turns that have ended. Answers those that may still run at their servers.',
  locking: 'The tasks, but none that another process has locked.',
  text: `with ended as materialized (
  select t.turn_id, t.step, t.ordinal from holdfast.mcp_tasks t
  where ${IS_LEFT_SQL}
  order by t.turn_id, t.step, t.ordinal limit 100 for update of t skip locked
), taken as (
  delete from holdfast.mcp_tasks t using ended e where t.turn_id = e.turn_id and t.step = e.step and t.ordinal = e.ordinal
  returning t.server, t.task_id, t.is_over
)
select server, task_id as "taskId" from taken where not is_over`,
  values: (servers: readonly string[]) => ({ servers }),
  answer: (tasks: NewTask[]) => tasks,
});
