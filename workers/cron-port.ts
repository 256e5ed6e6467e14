// The `cron` tool's way to the store. Whose a cron is, and whether its agent may change it, is decided here.
import type { Inbox } from '../src/store/inbox.ts';
import type { Doorbell } from '../jobs/index.ts';
import type { Config, Lane } from '../src/config.ts';
import { InvalidCronError } from '../src/schedule/cron-definition.ts';
import { findCron, type Cron } from '../src/store/crons.ts';
import type { Database } from '../src/store/database.ts';
import { drizzle } from '../src/store/drizzle.ts';
import { addCron, editCron, removeCron, runCronNow, type CronBook } from '../src/store/manage-crons.ts';
import { listCrons, listFires } from '../src/store/views/crons.ts';
import type { CronToolResult, CronPort, CronSummary } from '../src/tools/cron-tool.ts';
import { isUuid } from '../src/core/ids.ts';

export interface CronPortParts {
  config: Config;
  database: Database;
  inbox: Pick<Inbox, 'ensureSession'>;
  doorbell: Pick<Doorbell, 'ring'>;
}

const LISTED_MAX = 100;
const FIRES_MAX = 10;

/** Makes the port. */
export function createCronPort({ config, database, inbox, doorbell }: CronPortParts): CronPort {
  const book: CronBook = { config, database, ensureSession: inbox.ensureSession };
  const views = drizzle({ client: database.views });

  /** The cron of this id, if it is the agent's. */
  async function own(agentId: string, id: string): Promise<Cron | null> {
    const cron = isUuid(id) ? await findCron(database, id) : null;
    return cron?.agentId === agentId ? cron : null;
  }

  /** The same, if the agent made it. */
  async function made(agentId: string, id: string): Promise<CronToolResult<Cron>> {
    const cron = await own(agentId, id);
    if (cron === null) return unknown(id);
    if (cron.origin !== 'agent')
      return refused('a person created it, and only a person can change it; ask for the change');
    return { kind: 'ok', value: cron };
  }

  return {
    async list(agentId) {
      const { items } = await listCrons(views, { agentId }, { limit: LISTED_MAX, after: null });
      return items.map(summaryOf);
    },
    add: (agentId, input, cause) =>
      refusing(async () => {
        const result = await addCron(book, {
          input: { ...input, agentId },
          origin: 'agent',
          causeKey: `tool:${cause}`,
        });
        if (result.kind === 'full')
          return refused('you have the largest number of crons that an agent may have; remove one first');
        return { kind: 'ok', value: summaryOf(result.cron) };
      }),
    update: (agentId, id, patch) =>
      refusing(async () => {
        const found = await made(agentId, id);
        if (found.kind === 'refused') return found;
        const { agentId: _agentId, ...change } = patch;
        const result = await editCron(book, found.value.id, change);
        if (result.kind !== 'done')
          return refused('another request changed it at the same time; read it and try again');
        return { kind: 'ok', value: summaryOf(result.cron) };
      }),
    async remove(agentId, id) {
      const found = await made(agentId, id);
      // Removed before: a call that is made again.
      if (found.kind === 'refused') return found;
      await removeCron(book, found.value.id);
      return { kind: 'ok', value: null };
    },
    async run(agentId, id, cause) {
      const cron = await own(agentId, id);
      const result = cron === null ? null : await runCronNow(book, cron.id, { causeKey: `tool:${cause}` });
      if (result === null || result.kind === 'unknown') return unknown(id);
      if (result.kind === 'full') return refused('too many messages wait in its session');
      // The store writes only lanes of the configuration.
      if (result.ring !== null) void doorbell.ring([{ kind: 'cron', ...result.ring, lane: result.ring.lane as Lane }]);
      return { kind: 'ok', value: { scheduledFor: result.scheduledFor.toISOString() } };
    },
    async fires(agentId, id) {
      const cron = await own(agentId, id);
      if (cron === null) return unknown(id);
      const { items } = await listFires(views, cron.id, { limit: FIRES_MAX, after: null });
      return { kind: 'ok', value: items };
    },
  };
}

function summaryOf(cron: Cron): CronSummary {
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
  return refused(`there is no cron ${id.slice(0, 100)}; list shows yours`);
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
