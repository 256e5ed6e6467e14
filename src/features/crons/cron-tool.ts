// The `cron` tool: an agent's own reminders and recurring tasks. It sees all crons of its agent and changes those that it made itself;
// crons that people have created cannot be changed by it, whatever text the model has read (G30). The database is accessed through a port.
import { z } from 'zod';
import { cronInput, cronPatch, type CronInput, type CronPatch } from './config.ts';
import { sessionKindOf } from '../../core/session-key.ts';
import type { SessionKey } from '../../core/ids.ts';
import { defineTool, toFaults } from '../../tools/define-tool.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome, textOutcome } from '../../tools/tool.ts';

/** A cron as an agent is shown it. */
export interface CronSummary {
  id: string;
  /** Any JSON. */
  [field: string]: unknown;
}

/** `refused`: it is not the agent's to change, or cannot be; `reason` says why. */
export type CronToolResult<Value> = { kind: 'ok'; value: Value } | { kind: 'refused'; reason: string };

/** The store operations of the tool. Every change is idempotent on its cause. */
export interface CronPort {
  list(agentId: string): Promise<CronSummary[]>;
  add(call: ToolCall, input: CronInput): Promise<CronToolResult<CronSummary>>;
  update(call: ToolCall, id: string, patch: CronPatch): Promise<CronToolResult<CronSummary>>;
  remove(agentId: string, id: string): Promise<CronToolResult<null>>;
  run(agentId: string, id: string, cause: string): Promise<CronToolResult<{ scheduledFor: string }>>;
  /** The last fires of a cron, newest first. */
  fires(agentId: string, id: string): Promise<CronToolResult<unknown[]>>;
}

const schedule = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('at'),
    at: z.string().describe('ISO 8601 with a zone, such as 2026-01-31T09:00:00Z'),
  }),
  z.strictObject({
    kind: z.literal('every'),
    everyMs: z.int().describe('At least 1000'),
    anchor: z.string().optional(),
  }),
  z.strictObject({
    kind: z.literal('cron'),
    expr: z.string().describe('5 or 6 fields; with 6 the first is seconds'),
    tz: z.string().optional().describe("IANA zone; absent: the user's"),
  }),
]);

const payload = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('systemEvent'), text: z.string() }),
  z.strictObject({
    kind: z.literal('agentTurn'),
    message: z.string(),
    model: z.string().optional(),
    thinking: z.string().optional(),
    timeoutSeconds: z.int().optional(),
  }),
]);

const job = z.strictObject({
  name: z.string().optional(),
  schedule: schedule.optional(),
  payload: payload.optional(),
  target: z.enum(['main', 'isolated']).optional(),
  wake: z.enum(['now', 'next-heartbeat']).optional(),
  misfire: z.enum(['run_once', 'run_all', 'skip']).optional(),
  delivery: z
    .strictObject({
      mode: z.enum(['none', 'last', 'webhook', 'channel']),
      channel: z.string().optional(),
      accountId: z.string().optional(),
      chatId: z.string().optional(),
      threadId: z.string().optional(),
    })
    .optional()
    .describe('Where the reply goes; channel needs channel and chatId'),
  deleteAfterRun: z.boolean().optional(),
  enabled: z.boolean().optional(),
});

const input = z.strictObject({
  action: z.enum(['list', 'add', 'update', 'remove', 'run', 'fires']),
  id: z.string().optional().describe('Id of the cron, for update, remove, run and fires'),
  job: job.optional().describe('For add (schedule and payload are needed) and update (what is to change)'),
});
type CronCall = z.output<typeof input>;

export function createCronTool(port: CronPort): Tool {
  return defineTool({
    name: 'cron',
    description:
      'Schedule reminders and recurring tasks: list, add, update, remove, run now, and see the last fires. A payload systemEvent is a line in ' +
      'the next prompt of the main session (wake now: you are polled immediately); write it so that it reads as a reminder when it arrives. A payload ' +
      'agentTurn is a turn of its own, in an isolated session unless the target says main.',
    summary:
      'Manage cron jobs and wake events (use it for reminders; write a systemEvent so that it reads as a reminder)',
    input,
    // Changes are made once for their idempotency key.
    isIdempotent: true,
    isReadOnly: false,
    async run(asked, call) {
      const kind = sessionKindOf(call.sessionKey as SessionKey);
      if (kind === 'subagent')
        return errorOutcome('cron: a subagent cannot schedule anything; tell your parent what to schedule');
      return act(port, asked, call);
    },
  });
}

async function act(port: CronPort, asked: CronCall, call: ToolCall): Promise<ToolOutcome> {
  const { action, id } = asked;
  const { agentId, idempotencyKey } = call;
  if (action === 'list') return said({ crons: await port.list(agentId) });
  if (action === 'add') {
    const made = cronInput.safeParse(asked.job ?? {});
    if (!made.success) return errorOutcome(`cron: job: ${toFaults(made.error)}`);
    return answered(await port.add(call, made.data));
  }
  if (id === undefined) return errorOutcome(`cron: id: ${action} needs the id of a cron`);
  switch (action) {
    case 'update': {
      const change = cronPatch.safeParse(asked.job ?? {});
      if (!change.success) return errorOutcome(`cron: job: ${toFaults(change.error)}`);
      return answered(await port.update(call, id, change.data));
    }
    case 'remove':
      return answered(await port.remove(agentId, id));
    case 'run':
      return answered(await port.run(agentId, id, idempotencyKey));
    case 'fires':
      return answered(await port.fires(agentId, id));
    default:
      return action satisfies never;
  }
}

function answered(answer: CronToolResult<unknown>): ToolOutcome {
  return answer.kind === 'ok' ? said(answer.value ?? { done: true }) : errorOutcome(`cron: ${answer.reason}`);
}

function said(value: unknown): ToolOutcome {
  return textOutcome(JSON.stringify(value, undefined, 1));
}
