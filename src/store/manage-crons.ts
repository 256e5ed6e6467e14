// What people and agents do with crons: create, change, delete, run now. The functions are the same for both; the caller says which
// crons may be changed. The database's time decides where a schedule begins (G8).
import type { Config } from '../config.ts';
import type { CronInput, CronPatch } from '../config/schema-crons.ts';
import type { MessageId, SessionId, SystemEventId } from '../core/ids.ts';
import { sessionKeyOf, type CronOrigin } from '../core/schedule/cron.ts';
import { agentIdOf, laneOf, sessionKindOf } from '../core/session-key.ts';
import { newId } from '../ids.ts';
import { changedDefinition, definitionOf, firstSlotOf } from '../schedule/cron-definition.ts';
import { tickInputOf } from '../schedule/tick-input.ts';
import { runCron } from './run-cron.ts';
import { changeCron, createCron, deleteCron, findCron, readDatabaseTime, type Cron } from './crons.ts';
import type { Database } from './database.ts';
import type { KeyedRequest } from './idempotency.ts';
import { readLastUrl } from './last-url.ts';
import type { NeededRing } from './session-locks.ts';
import type { NeededSession } from './sessions.ts';

export interface CronBook {
  database: Database;
  config: Config;
  ensureSession: (session: NeededSession) => Promise<SessionId>;
}

/** `foreign`: it has another owner, and the caller must not change it. `fixed`: it is in the configuration file. */
export type CronChange =
  | { kind: 'done'; cron: Cron }
  | { kind: 'unknown' }
  | { kind: 'fixed' }
  /** It was changed at the same time, again and again. */
  | { kind: 'busy' };

/** How often a change is tried again after a conflict with another one. */
const TRIES_MAX = 5;

/** Makes a cron; the same cause makes one, and so does the same key. Throws `InvalidCronError`. */
export async function addCron(
  { database, config }: CronBook,
  made: { input: CronInput; origin: CronOrigin; causeKey: string | null; idempotency?: KeyedRequest | null },
): ReturnType<typeof createCron> {
  const nowMs = await readDatabaseTime(database);
  const definition = definitionOf(made.input, { config, nowMs });
  const id = newId<string>();
  return createCron(database, {
    id,
    origin: made.origin,
    definition,
    isEnabled: made.input.enabled ?? true,
    causeKey: made.causeKey,
    idempotency: made.idempotency,
    ...firstSlotOf(id, definition.schedule, nowMs),
  });
}

/**
 * Changes a cron. A new schedule, and one that was switched off and is on again, begins now; else its next slot stays. Of a cron of the
 * configuration file only `enabled` can be changed. Throws `InvalidCronError`.
 */
export async function editCron({ database, config }: CronBook, id: string, patch: CronPatch): Promise<CronChange> {
  const { enabled, ...rest } = patch;
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const before = await findCron(database, id);
    if (before === null) return { kind: 'unknown' };
    if (before.origin === 'config' && Object.keys(rest).length > 0) return { kind: 'fixed' };
    const nowMs = await readDatabaseTime(database);
    const definition = changedDefinition(before, rest, { config, nowMs });
    const isEnabled = enabled ?? before.isEnabled;
    const beginsNow = rest.schedule !== undefined || (isEnabled && !before.isEnabled);
    const slot = beginsNow
      ? firstSlotOf(id, definition.schedule, nowMs)
      : { slotMs: before.nextSlotMs, dueMs: before.dueMs };
    const cron = await changeCron(database, { id, revision: before.revision, definition, isEnabled, ...slot });
    if (cron !== null) return { kind: 'done', cron };
  }
  return { kind: 'busy' };
}

/** Deletes a cron and its fires. */
export async function removeCron({ database }: CronBook, id: string): Promise<'done' | 'unknown' | 'fixed'> {
  const before = await findCron(database, id);
  if (before === null) return 'unknown';
  if (before.origin === 'config') return 'fixed';
  return (await deleteCron(database, id)) ? 'done' : 'unknown';
}

export type RunNow =
  | { kind: 'ran'; scheduledFor: Date; ring: NeededRing | null; sessionId: SessionId }
  | { kind: 'unknown' }
  | { kind: 'full' };

/** Runs a cron now, enabled or not; its schedule does not change. The same cause runs it once. */
export async function runCronNow(
  { database, config, ensureSession }: CronBook,
  id: string,
  { causeKey, idempotency }: { causeKey: string; idempotency?: KeyedRequest | null },
): Promise<RunNow> {
  const cron = await findCron(database, id);
  if (cron === null) return { kind: 'unknown' };
  const sessionId = await ensureSession(sessionOf(cron));
  const lastUrl =
    cron.delivery?.mode === 'last'
      ? await readLastUrl(
          database,
          await ensureSession(sessionOf(cron.target === 'isolated' ? { ...cron, target: 'main' } : cron)),
        )
      : null;
  const nowMs = await readDatabaseTime(database);
  const { kind, body, route, event } = tickInputOf(cron, { config, nowMs, eventId: newId<SystemEventId>(), lastUrl });
  const result = await runCron(database, {
    cronId: id,
    sessionId,
    input: kind === null ? null : { messageId: newId<MessageId>(), kind, body: JSON.stringify(body), route },
    event,
    causeKey: `cron:${id}:run:${causeKey}`,
    waitingMax: config.limits.waitingPerSession,
    idempotency,
  });
  switch (result.kind) {
    case 'ran':
    case 'again':
      return {
        kind: 'ran',
        scheduledFor: result.scheduledFor,
        ring: result.kind === 'ran' ? result.ring : null,
        sessionId,
      };
    case 'full':
      return { kind: 'full' };
    case 'unknown':
      return { kind: 'unknown' };
  }
}

function sessionOf(cron: Cron): NeededSession {
  const key = sessionKeyOf(cron);
  const kind = sessionKindOf(key);
  return { key, candidateId: newId<SessionId>(), agentId: agentIdOf(key), kind, lane: laneOf(kind), channel: null };
}
