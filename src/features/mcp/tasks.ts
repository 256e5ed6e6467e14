// Long-running tasks of MCP servers: a call begins one, its handle is committed with the wait, the
// turn is parked, and any worker asks the server from time to time until the task has ended (G11).
// What is left of a turn that has ended otherwise is cancelled.
import { cutHead } from '../../core/text.ts';
import type { TurnFeature } from '../../kernel/turn/context.ts';
import type { HeldCall, Known, Resumption } from '../../kernel/turn/hold-kind.ts';
import type { OpenedTurn } from '../../kernel/turn/opened-turn.ts';
import { neutralise } from '../../prompt/untrusted-text.ts';
import { boundOutcome } from '../../tools/bound-outcome.ts';
import { fitImages } from '../../tools/fit-images.ts';
import { laterOutcome, mayRepeat, type ToolOutcome } from '../../tools/tool.ts';
import { markOf } from '../../tools/untrusted-result.ts';
import type { Database } from '../../database/database.ts';
import type { Connections } from './connections.ts';
import type { TaskState } from './server-port.ts';
import { toOutcome } from './result-content.ts';
import {
  endMcpTask,
  readMcpTasks,
  storeMcpTasks,
  takeLeftMcpTasks,
  type NewTask,
  type WaitingTask,
} from './store/tasks.ts';

/** The server proposes how often it is asked. */
const POLL_MS = { min: 1_000, default: 5_000, max: 60_000 };
/** The longest that a call waits for its task. */
const TASK_MS_MAX = 24 * 3_600_000;
const ASK_MS_MAX = 30_000;
const REASON_CHARS_MAX = 1_000;

/** The outcome of a call that has begun a task. */
export function begunOutcome(server: string, task: TaskState): ToolOutcome {
  const facts: NewTask = { server, taskId: task.id };
  return laterOutcome({ code: 'task', forMs: pollMs(task.pollMs), facts, ref: task.id });
}

function pollMs(proposed: number | null): number {
  return Math.min(Math.max(proposed ?? POLL_MS.default, POLL_MS.min), POLL_MS.max);
}

export function tasksInTurns(parts: { database: Database; connections: Connections }): Pick<TurnFeature, 'calls'> {
  return {
    calls: {
      code: 'task',
      hold: () => Promise.resolve(new Map()),
      async resume(turn, calls) {
        const [{ step } = { step: 0 }] = calls;
        const tasks = await readMcpTasks(parts.database, { turnId: turn.id, step });
        const found = await Promise.all(
          calls.map(async (call): Promise<[number, Resumption] | null> => {
            const task = tasks.find(({ ordinal }) => ordinal === call.ordinal);
            return task === undefined ? null : [call.ordinal, await resumeCall(parts, turn, call, task)];
          }),
        );
        return new Map(found.filter((one) => one !== null));
      },
      keep: storeMcpTasks,
      explain(_turn, calls) {
        const tools = calls.map(({ call }) => call.name).join(', ');
        return { text: `The turn waits for a task of ${tools} to end.`, by: calls[0]?.ref ?? null };
      },
    },
  };
}

async function resumeCall(
  { database, connections }: { database: Database; connections: Connections },
  turn: OpenedTurn,
  call: HeldCall,
  { server, taskId, ageMs }: WaitingTask,
): Promise<Resumption> {
  const signal = AbortSignal.any([turn.held.signal, AbortSignal.timeout(ASK_MS_MAX)]);
  const isLate = ageMs > TASK_MS_MAX;
  try {
    const state = await connections.use(server, { signal, work: (client) => client.readTask(taskId, signal) });
    if (state.kind === 'runs' && !isLate) return { kind: 'held', forMs: pollMs(state.pollMs), ref: taskId };
    const isRepeated = call.tool !== undefined && mayRepeat(call.tool, call.call.input);
    if (state.kind === 'gone' && isRepeated && !isLate) return { kind: 'run' };
    if (state.kind === 'runs' || state.kind === 'gone') {
      const reason = state.kind === 'gone' ? state.reason : 'it has run for longer than a day';
      return unknown(`${server} does not say how the task ended: ${shown(reason)}`);
    }
    await endMcpTask(database, { turnId: turn.id, step: call.step, ordinal: call.ordinal });
    if (state.kind === 'failed') return known(`${server} says that the task has failed: ${shown(state.reason)}`);
    const mark = markOf({ idempotencyKey: `${turn.id}:${call.call.id}` });
    const outcome = boundOutcome(await fitImages(await toOutcome({ server, answer: state.answer, mark })));
    return { kind: 'known', outcome, status: outcome.isError ? 'failed' : 'done' };
  } catch (error) {
    turn.held.signal.throwIfAborted();
    if (isLate) return unknown(`${server} cannot be asked how the task ended: ${shown((error as Error).message)}`);
    // A server that is away may come back, with its tasks.
    void connections.checkAfterCall(server);
    return { kind: 'held', forMs: POLL_MS.default, ref: taskId };
  }
}

const shown = (reason: string): string => neutralise(cutHead(reason, REASON_CHARS_MAX));

const known = (content: string): Known => ({ kind: 'known', outcome: { content, isError: true }, status: 'failed' });

function unknown(why: string): Known {
  const content = `outcome unknown: the call has begun a task, and ${why}. It may or may not have taken effect. Check before repeating it.`;
  return { kind: 'known', outcome: { content, isError: true, isUnknown: true }, status: 'unknown' };
}

/**
 * Cancels what is left of turns that have ended; answers whether there was any. A server that
 * cannot be reached ends its task by itself.
 */
export async function cancelLeftTasks(
  { database, connections, servers }: { database: Database; connections: Connections; servers: readonly string[] },
  stop: AbortSignal,
): Promise<boolean> {
  const left = await takeLeftMcpTasks(database, servers);
  const signal = AbortSignal.any([stop, AbortSignal.timeout(ASK_MS_MAX)]);
  await Promise.allSettled(
    left.map(({ server, taskId }) =>
      connections.use(server, { signal, work: (client) => client.cancelTask(taskId, signal) }),
    ),
  );
  return left.length > 0;
}
