// Builders for tests of crons over the store: crons that are due, and one round of a scheduler
// without its clock.
import type { Ring } from '../../../src/kernel/queue/after-commit.ts';
import { loadConfig, type Config } from '../../../src/config.ts';
import { cronInput } from '../../../src/features/crons/config.ts';
import { newId } from '../../../src/ids.ts';
import { createLogger } from '../../../src/logger.ts';
import { toDefinition, findFirstSlot } from '../../../src/features/crons/use-cases.ts';
import { createCron, findCron, readDueCrons, type Cron } from '../../../src/features/crons/store/crons.ts';
import { readDatabaseTime } from '../../../src/database/database-time.ts';
import type { Database } from '../../../src/database/database.ts';
import { fireDueCrons, settleEndedFires } from '../../../src/features/crons/schedule.ts';
import { openPolls, type HeartbeatParts } from '../../../src/features/heartbeats/schedule-heartbeats.ts';
import { recordedService } from '../../service/recorded-service.ts';
import type { Service } from '../../../src/kernel/use-cases/service.ts';

const silent = createLogger({ level: 'silent', format: 'json', name: 'test' });

/** The default configuration, with changes. */
export function configWith(change: (config: Config) => Partial<Config> = () => ({})): Config {
  const config = loadConfig({ env: {}, cwd: '/nowhere' });
  return { ...config, ...change(config) };
}

/** The arguments of a scheduler's round, and the rings that it made. */
export function schedulerParts(
  database: Database,
  config: Config = configWith(),
): Service & HeartbeatParts & { rings: Ring[] } {
  const { service, rings } = recordedService({ config, database });
  return {
    ...service,
    logger: silent,
    owner: newId<string>(),
    signal: new AbortController().signal,
    rings,
  };
}

/** A cron as a request would create it, created `dueAgoMs` ago and not looked at since. */
export async function makeCron(
  database: Database,
  input: object,
  { config = configWith(), dueAgoMs = 0 }: { config?: Config; dueAgoMs?: number } = {},
): Promise<Cron> {
  const madeAtMs = (await readDatabaseTime(database)) - dueAgoMs;
  const parsed = cronInput.parse(input);
  const definition = toDefinition(parsed, { config, nowMs: madeAtMs });
  const id = newId<string>();
  const slot = findFirstSlot(id, definition.schedule, madeAtMs);
  const isEnabled = parsed.enabled ?? true;
  const made = await createCron(database, { id, origin: 'api', isEnabled, ...definition, ...slot });
  if (made.kind === 'full') throw new Error('The agent has too many crons.');
  return made.cron;
}

/** Fires all due slots, in as many calls as necessary. */
export async function fireAll(parts: HeartbeatParts): Promise<void> {
  for (let go = 1; go <= 10; go += 1) {
    const { due, nowMs } = await readDueCrons(parts.database, 100);
    if (due.length === 0) return;
    await fireDueCrons(parts, due, nowMs);
  }
  throw new Error('Some crons stay due.');
}

/** Settles the fires whose inputs are settled. */
export async function settleAll(parts: HeartbeatParts): Promise<void> {
  await settleEndedFires(parts, await readDatabaseTime(parts.database));
}

/** The current row of the cron. Throws when it was deleted. */
export async function again(database: Database, cron: Pick<Cron, 'id'>): Promise<Cron> {
  const found = await findCron(database, cron.id);
  if (found === null) throw new Error(`The cron ${cron.id} is gone.`);
  return found;
}

/** Checks and settles all polls that are due. */
export async function makeDuePolls(parts: HeartbeatParts): Promise<void> {
  const polls = openPolls(parts);
  while (!(await polls.start())) await polls.ended();
  await polls.ended();
}
