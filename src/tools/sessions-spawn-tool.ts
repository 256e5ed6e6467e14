// The `sessions_spawn` tool: gives a task to a subagent in the background. It returns immediately; the result arrives as an
// announcement.
import { z } from 'zod';
import { THINKING_LEVELS } from '../core/prompt/thinking-directive.ts';
import { defineTool } from './define-tool.ts';
import type { SessionsPort } from './sessions-port.ts';
import { errorOutcome, type Tool } from './tool.ts';

const TASK_CHARS_MAX = 100_000;
const TIMEOUT_SECONDS_MAX = 7 * 86_400;

export function createSessionsSpawnTool(port: Pick<SessionsPort, 'spawn'>): Tool {
  return defineTool({
    name: 'sessions_spawn',
    description:
      'Start a subagent in the background for one task. Returns immediately; its result is announced to you automatically when it is done. The subagent knows only the task: include everything that it needs.',
    summary: 'Start a subagent in the background for one task',
    input: z.strictObject({
      task: z.string().trim().min(1).max(TASK_CHARS_MAX).describe('The task, with everything needed for it'),
      label: z.string().trim().min(1).max(200).optional().describe('A short name, for its announcement and to find it'),
      agentId: z.string().min(1).max(64).optional().describe('The agent that does it; default: your own'),
      model: z.string().min(1).max(200).optional().describe('provider/model or an alias; default: as configured'),
      thinking: z.enum(THINKING_LEVELS).optional(),
      runTimeoutSeconds: z
        .int()
        .min(0)
        .max(TIMEOUT_SECONDS_MAX)
        .optional()
        .describe('It is stopped after this time; 0: never'),
      cleanup: z.enum(['keep', 'delete']).optional().describe('delete: its session is archived when it is done'),
      mode: z
        .enum(['run', 'session'])
        .optional()
        .describe('session: it stays, and accepts further tasks by subagents(action=steer); default: run'),
    }),
    // A call that is run again finds the run that it has spawned.
    isIdempotent: true,
    isReadOnly: false,
    async run(input, call) {
      const spawned = await port.spawn(call, input);
      if (spawned.kind === 'error') return errorOutcome(JSON.stringify({ status: 'forbidden', error: spawned.text }));
      const { runId, sessionKey: childSessionKey } = spawned;
      const note =
        'Its result is announced to you when it is done. Do not poll for it. What you answer until then is an interim answer.';
      const mode = input.mode ?? 'run';
      return { content: JSON.stringify({ status: 'accepted', childSessionKey, runId, mode, note }), isError: false };
    },
  });
}
