// The `cron` tool's way to the use cases of crons: its results in the words that an agent reads.
import type { CronPatch } from './config.ts';
import { cutHead } from '../../core/text.ts';
import {
  InvalidCronError,
  addCron,
  editCron,
  findNamedCron,
  removeCron,
  runCronNow,
  type CronChange,
} from './use-cases.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import type { Cron } from './store/crons.ts';
import { readTurnOptions } from '../../kernel/inbox/last-inputs.ts';
import { fires, listCrons } from './views.ts';
import type { CronToolResult, CronPort, CronSummary } from './cron-tool.ts';

const LISTED_MAX = 100;
const FIRES_MAX = 10;

/** Makes the port. */
export function createCronPort(service: Service): CronPort {
  const { views, database } = service;
  return {
    async list(agentId) {
      const { items } = await listCrons(views, { agentId }, { limit: LISTED_MAX, after: null });
      return items.map(toSummary);
    },
    add: ({ agentId, turnId, idempotencyKey }, input) =>
      refusing(async () => {
        const closed = closedChannel(service, input.delivery);
        if (closed !== null) return closed;
        const made = { input: { ...input, agentId }, origin: 'agent' as const, causeKey: `tool:${idempotencyKey}` };
        const under = await readTurnOptions(database, turnId);
        const result = await addCron(service, { ...made, under, idempotency: null });
        if (result.kind === 'full')
          return refused('you have the largest number of crons that an agent may have; remove one first');
        return { kind: 'ok', value: toSummary(result.cron) };
      }),
    update: ({ agentId, turnId }, id, patch) =>
      refusing(async () => {
        const closed = closedChannel(service, patch.delivery);
        if (closed !== null) return closed;
        const under = await readTurnOptions(database, turnId);
        const result = await editCron(service, { id, by: agentId, under }, patch);
        return result.kind === 'done' ? { kind: 'ok', value: toSummary(result.cron) } : notChanged(result.kind, id);
      }),
    async remove(agentId, id) {
      const result = await removeCron(service, { id, by: agentId });
      // Removed before: a call that is made again.
      return result === 'done' ? { kind: 'ok', value: null } : notChanged(result, id);
    },
    async run(agentId, id, cause) {
      const result = await runCronNow(service, { id, by: agentId }, { causeKey: `tool:${cause}`, idempotency: null });
      if (result.kind === 'unknown') return unknown(id);
      if (result.kind === 'full') return refused('too many messages wait in its session');
      return { kind: 'ok', value: { scheduledFor: result.scheduledFor.toISOString() } };
    },
    async fires(agentId, id) {
      const cron = await findNamedCron(service, { id, by: agentId });
      if (cron === null) return unknown(id);
      const { items } = await fires.list(views, { cronId: cron.id }, { limit: FIRES_MAX, after: null });
      return { kind: 'ok', value: items };
    },
  };
}

/** A refusal of a channel that is not open to the messages of agents: their crons go where the `message` tool may. */
function closedChannel({ config }: Service, delivery: CronPatch['delivery']) {
  if (delivery?.mode !== 'channel') return null;
  const open = config.tools.message.channels;
  if (open.includes('*') || open.includes(delivery.channel)) return null;
  return refused(
    `job.delivery.channel: ${JSON.stringify(delivery.channel)} is not open to messages; use the mode "last"`,
  );
}

function notChanged(why: Exclude<CronChange['kind'], 'done'>, id: string): CronToolResult<never> {
  if (why === 'unknown') return unknown(id);
  if (why === 'busy') return refused('another request changed it at the same time; read it and try again');
  return refused('a person created it, and only a person can change it; ask for the change');
}

function toSummary(cron: Cron): CronSummary {
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

function unknown(id: string): { kind: 'refused'; reason: string } {
  return refused(`there is no cron ${cutHead(id, 100)}; list shows yours`);
}

function refused(reason: string): { kind: 'refused'; reason: string } {
  return { kind: 'refused', reason };
}

async function refusing<Value>(work: () => Promise<CronToolResult<Value>>): Promise<CronToolResult<Value>> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InvalidCronError)) throw error;
    return refused(`${error.path}: ${error.message}`);
  }
}
