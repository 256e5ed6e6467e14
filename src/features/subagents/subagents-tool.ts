// The `subagents` tool: manages the subagents that a session has spawned. Stopping one stops all
// runs below it.
import { z } from 'zod';
import { count } from '../../config/schema-scalars.ts';
import { cutHead } from '../../core/text.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { errorOutcome, jsonOutcome, type Tool, type ToolCall, type ToolOutcome } from '../../tools/tool.ts';
import { listRecentRuns, type RunFacts } from './store/runs.ts';
import { causeOfCall, steerSubagent, stopRun } from './use-cases.ts';

const RECENT_MINUTES_DEFAULT = 30;
const RECENT_MINUTES_MAX = 1_440;
const MESSAGE_CHARS_MAX = 4_000;
const TASK_CHARS_SHOWN = 200;
const KILLED_BY_PARENT = 'It was killed by the session that spawned it.';

export function createSubagentsTool(service: Service): Tool {
  return defineTool({
    name: 'subagents',
    description:
      'Manage your subagents: list them, kill one (and all below it) or all, or steer one with a message that it receives at its next step. Their results are announced to you automatically; do not list them repeatedly.',
    summary: 'List, steer or kill your subagents',
    input: z.strictObject({
      action: z.enum(['list', 'kill', 'steer']),
      target: z
        .string()
        .min(1)
        .max(300)
        .optional()
        .describe('For kill and steer: its number in the list, label, run id or session key; for kill also "all"'),
      message: z.string().trim().min(1).max(MESSAGE_CHARS_MAX).optional().describe('For steer'),
      recentMinutes: count(1, RECENT_MINUTES_MAX)
        .optional()
        .describe(`Show those that ended in the last minutes, too; default ${RECENT_MINUTES_DEFAULT}`),
    }),
    isIdempotent: true,
    isReadOnly: false,
    async run({ action, target, message, recentMinutes = RECENT_MINUTES_DEFAULT }, call) {
      const all = await listRecentRuns(service.database, call.sessionKey, recentMinutes);
      if (action === 'list') return jsonOutcome({ subagents: all.map(listed) });
      if (target === undefined) return errorOutcome(`subagents: ${action} needs a target`);
      if (action === 'kill' && target === 'all') {
        let killed = 0;
        for (const { runId } of all.filter(({ status }) => status === 'running')) killed += await kill(service, runId);
        return jsonOutcome({ status: 'ok', killed });
      }
      const found = findTarget(all, target);
      if (found.kind === 'none') return errorOutcome(`subagents: ${found.why}`);
      const { runId } = found.run;
      if (action === 'kill') return jsonOutcome({ status: 'ok', runId, killed: await kill(service, runId) });
      if (message === undefined) return errorOutcome('subagents: steer needs a message');
      return steer(service, call, runId, message);
    },
  });
}

function listed({ runId, childKey, label, task, status, error, runtimeSeconds }: RunFacts, index: number): object {
  const shown = task.length > TASK_CHARS_SHOWN ? `${cutHead(task, TASK_CHARS_SHOWN)}…` : task;
  return { number: index + 1, runId, sessionKey: childKey, label, status, error, task: shown, runtimeSeconds };
}

type RunMatch = { kind: 'found'; run: RunFacts } | { kind: 'none'; why: string };

/** By number, run id, key or label, in this order; a label that several have is refused. */
function findTarget(all: RunFacts[], target: string): RunMatch {
  const byNumber = /^[1-9]\d{0,3}$/.test(target) ? all[Number(target) - 1] : undefined;
  const exact = byNumber ?? all.find(({ runId, childKey }) => runId === target || childKey === target);
  if (exact !== undefined) return { kind: 'found', run: exact };
  const byLabel = all.filter(({ label }) => label === target);
  const working = byLabel.filter(({ status }) => status === 'running');
  const [found, second] = working.length > 0 ? working : byLabel.toReversed();
  if (found === undefined) {
    const names = all
      .map(({ label }, index) => (label === null ? `${index + 1}` : `${index + 1} "${label}"`))
      .join(', ');
    return { kind: 'none', why: `there is no subagent ${JSON.stringify(target)}; there are: ${names || 'none'}` };
  }
  if (second !== undefined && working.length > 0) {
    return { kind: 'none', why: `several subagents are called ${JSON.stringify(target)}; give the run id` };
  }
  return { kind: 'found', run: found };
}

/** Resolves with how many runs have ended by it. */
async function kill(service: Service, runId: string): Promise<number> {
  return (await stopRun(service, { runId, reason: KILLED_BY_PARENT, isOwn: true })) ?? 0;
}

async function steer(service: Service, call: ToolCall, runId: string, text: string): Promise<ToolOutcome> {
  const steered = await steerSubagent(service, { runId, text, from: call.sessionKey, cause: causeOfCall(call) });
  const accepted = (how: string): ToolOutcome => jsonOutcome({ status: 'accepted', runId, how });
  switch (steered.kind) {
    case 'steered':
      return accepted(steered.isBusy ? 'joins' : 'waits');
    case 'again':
      return accepted('again');
    case 'limit':
      return errorOutcome(steered.message);
    case 'ended':
      return errorOutcome('this subagent has ended and accepts no further tasks');
    case 'unknown':
      return errorOutcome('there is no such subagent');
    default:
      return steered satisfies never;
  }
}
