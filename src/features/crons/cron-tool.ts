// The `cron` tool: an agent's own reminders and recurring tasks. It sees all crons of its agent and
// changes those that it made itself; crons that people have created cannot be changed by it,
// whatever text the model has read (G30). Every change is idempotent on its cause.
import { z } from 'zod';
import type { SessionKey } from '../../core/ids.ts';
import { sessionKindOf } from '../../core/session-key.ts';
import { cutHead } from '../../core/text.ts';
import { readConfinement } from '../../kernel/sessions/confinement.ts';
import { readTurnOptions } from '../../kernel/inbox/last-inputs.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { IN_WORDS } from '../../config/check-input.ts';
import { defineTool, toFaults } from '../../tools/define-tool.ts';
import { errorOutcome, textOutcome, type Tool, type ToolCall, type ToolOutcome } from '../../tools/tool.ts';
import { cronInput, cronPatch, type CronInput, type CronPatch } from './config.ts';
import type { Cron } from './store/crons.ts';
import {
  addCron,
  editCron,
  findNamedCron,
  InvalidCronError,
  removeCron,
  runCronNow,
  type CronChange,
  type NamedCron,
} from './use-cases.ts';
import { fires, listCrons } from './views.ts';

const LISTED_MAX = 100;
const FIRES_MAX = 10;

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

export function createCronTool(service: Service): Tool {
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
      if (kind === 'subagent') return refused('a subagent cannot schedule anything; tell your parent what to schedule');
      try {
        return await act(service, asked, call);
      } catch (error) {
        if (!(error instanceof InvalidCronError)) throw error;
        return refused(`${error.path}: ${error.message}`);
      }
    },
  });
}

async function act(service: Service, asked: CronCall, call: ToolCall): Promise<ToolOutcome> {
  const { views } = service;
  const { action, id } = asked;
  const { agentId, idempotencyKey } = call;
  const { root, isConfined } = await readConfinement(service.database, call.sessionKey);
  if (isConfined) return refused('not in this session: a key for a part of the service has sent something to it');
  if (action === 'list') {
    const { items } = await listCrons(views, { agentId }, { limit: LISTED_MAX, after: null });
    return said({ crons: items.map(toSummary) });
  }
  if (action === 'add') {
    const made = cronInput.safeParse(asked.job ?? {}, IN_WORDS);
    return made.success ? add(service, { input: made.data, root }, call) : refused(`job: ${toFaults(made.error)}`);
  }
  if (id === undefined) return refused(`id: ${action} needs the id of a cron`);
  const named = { id, by: agentId };
  switch (action) {
    case 'update': {
      const change = cronPatch.safeParse(asked.job ?? {}, IN_WORDS);
      return change.success ? update(service, named, change.data, call) : refused(`job: ${toFaults(change.error)}`);
    }
    case 'remove': {
      const result = await removeCron(service, named);
      // Removed before: a call that is made again.
      return result === 'done' ? said({ done: true }) : notChanged(result, id);
    }
    case 'run': {
      const result = await runCronNow(service, named, { causeKey: `tool:${idempotencyKey}`, idempotency: null });
      if (result.kind === 'unknown') return notChanged('unknown', id);
      if (result.kind === 'full') return refused('too many messages wait in its session');
      return said({ scheduledFor: result.scheduledFor.toISOString() });
    }
    case 'fires': {
      const cron = await findNamedCron(service, named);
      if (cron === null) return notChanged('unknown', id);
      const { items } = await fires.list(views, { cronId: cron.id }, { limit: FIRES_MAX, after: null });
      return said(items);
    }
    default:
      return action satisfies never;
  }
}

async function add(
  service: Service,
  { input, root }: { input: CronInput; root: string },
  call: ToolCall,
): Promise<ToolOutcome> {
  const closed = closedChannel(service, input.delivery);
  if (closed !== null) return closed;
  const result = await addCron(service, {
    input: { ...input, agentId: call.agentId },
    origin: 'agent',
    root,
    under: await readTurnOptions(service.database, call.turnId),
    causeKey: `tool:${call.idempotencyKey}`,
    idempotency: null,
  });
  if (result.kind === 'full')
    return refused('you have the largest number of crons that an agent may have; remove one first');
  return said(toSummary(result.cron));
}

async function update(service: Service, named: NamedCron, patch: CronPatch, call: ToolCall): Promise<ToolOutcome> {
  const closed = closedChannel(service, patch.delivery);
  if (closed !== null) return closed;
  const under = await readTurnOptions(service.database, call.turnId);
  const result = await editCron(service, { ...named, under }, patch);
  return result.kind === 'done' ? said(toSummary(result.cron)) : notChanged(result.kind, named.id);
}

/**
 * A refusal of a channel that is not open to the messages of agents: their crons go where the
 * `message` tool may.
 */
function closedChannel({ config }: Service, delivery: CronPatch['delivery']): ToolOutcome | null {
  if (delivery?.mode !== 'channel') return null;
  const open = config.tools.message.channels;
  if (open.includes('*') || open.includes(delivery.channel)) return null;
  return refused(
    `job.delivery.channel: ${JSON.stringify(delivery.channel)} is not open to messages; use the mode "last"`,
  );
}

function notChanged(why: Exclude<CronChange['kind'], 'done'>, id: string): ToolOutcome {
  if (why === 'unknown') return refused(`there is no cron ${cutHead(id, 100)}; list shows yours`);
  if (why === 'busy') return refused('another request changed it at the same time; read it and try again');
  return refused('a person created it, and only a person can change it; ask for the change');
}

/** A cron as an agent is shown it. */
function toSummary(cron: Cron) {
  const { id, name, origin, schedule, target, payload, wake, isEnabled, disabledReason, nextSlotMs, failures } = cron;
  return {
    id,
    name,
    madeBy: origin === 'agent' ? 'you' : 'a person',
    schedule,
    target,
    payload,
    wake,
    enabled: isEnabled,
    ...(disabledReason === null ? {} : { disabledReason }),
    ...(failures === 0 ? {} : { failures }),
    nextSlotAt: isEnabled && nextSlotMs !== null ? new Date(nextSlotMs).toISOString() : null,
  };
}

function refused(reason: string): ToolOutcome {
  return errorOutcome(`cron: ${reason}`);
}

function said(value: unknown): ToolOutcome {
  return textOutcome(JSON.stringify(value, undefined, 1));
}
