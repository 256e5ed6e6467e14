// The `subagents` tool: manages the subagents that a session has spawned. Stopping one stops all
// runs below it.
import { z } from 'zod';
import { count } from '../../config/schema-scalars.ts';
import { cutHead } from '../../core/text.ts';
import { defineTool } from '../../tools/define-tool.ts';
import type { SeenSubagent, SessionsPort } from './tools-port.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome, textOutcome } from '../../tools/tool.ts';

const RECENT_MINUTES_DEFAULT = 30;
const RECENT_MINUTES_MAX = 1_440;
const MESSAGE_CHARS_MAX = 4_000;
const TASK_CHARS_SHOWN = 200;

type Port = Pick<SessionsPort, 'subagents' | 'kill' | 'steer'>;

export function createSubagentsTool(port: Port): Tool {
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
      const all = await port.subagents(call, recentMinutes);
      if (action === 'list') return textOutcome(JSON.stringify({ subagents: all.map(listed) }));
      if (target === undefined) return errorOutcome(`subagents: ${action} needs a target`);
      if (action === 'kill' && target === 'all') return killAll(port, call, all);
      const found = findTarget(all, target);
      if (found.kind === 'none') return errorOutcome(`subagents: ${found.why}`);
      if (action === 'kill') return kill(port, call, found.subagent);
      if (message === undefined) return errorOutcome('subagents: steer needs a message');
      return steer(port, call, found.subagent, message);
    },
  });
}

function listed({ task, runtimeMs, ...subagent }: SeenSubagent, index: number): object {
  const shown = task.length > TASK_CHARS_SHOWN ? `${cutHead(task, TASK_CHARS_SHOWN)}…` : task;
  return { number: index + 1, ...subagent, task: shown, runtimeSeconds: Math.round(runtimeMs / 1000) };
}

type SubagentMatch = { kind: 'found'; subagent: SeenSubagent } | { kind: 'none'; why: string };

/** By number, run id, key or label, in this order; a label that several have is refused. */
function findTarget(all: SeenSubagent[], target: string): SubagentMatch {
  const byNumber = /^[1-9]\d{0,3}$/.test(target) ? all[Number(target) - 1] : undefined;
  const exact = byNumber ?? all.find(({ runId, sessionKey }) => runId === target || sessionKey === target);
  if (exact !== undefined) return { kind: 'found', subagent: exact };
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
  return { kind: 'found', subagent: found };
}

async function killAll(port: Port, call: ToolCall, all: SeenSubagent[]): Promise<ToolOutcome> {
  let runs = 0;
  for (const { runId } of all.filter(({ status }) => status === 'running')) {
    const killed = await port.kill(call, runId);
    if (killed.kind === 'ok') runs += killed.runs;
  }
  return textOutcome(JSON.stringify({ status: 'ok', killed: runs }));
}

async function kill(port: Port, call: ToolCall, { runId }: SeenSubagent): Promise<ToolOutcome> {
  const killed = await port.kill(call, runId);
  if (killed.kind === 'error') return errorOutcome(killed.text);
  return textOutcome(JSON.stringify({ status: 'ok', runId, killed: killed.runs }));
}

async function steer(port: Port, call: ToolCall, { runId }: SeenSubagent, text: string): Promise<ToolOutcome> {
  const steered = await port.steer(call, runId, text);
  if (steered.kind === 'error') return errorOutcome(steered.text);
  return textOutcome(JSON.stringify({ status: 'accepted', runId, how: steered.how }));
}
