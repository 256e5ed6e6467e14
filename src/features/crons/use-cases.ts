// What people and agents do with crons: create, change, delete. A person may change any cron that is not in the configuration file; an agent
// only those that it has created. The database's time decides where a schedule begins (G8).
import type { CronInput, CronPatch } from '../../config/schema-crons.ts';
import { isUuid, type MessageId, type SystemEventId } from '../../core/ids.ts';
import { inheritOptions, type InputOptions } from '../../core/input-options.ts';
import { toSessionKey, type CronDefinition, type CronOrigin } from '../../core/schedule/cron.ts';
import { newId } from '../../ids.ts';
import { changedDefinition, findFirstSlot, toDefinition } from '../../schedule/cron-definition.ts';
import { changeCron, createCron, deleteCron, findCron, type Cron } from './store/crons.ts';
import { readDatabaseTime } from '../../database/database-time.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { toTickInput } from '../../schedule/tick-input.ts';
import { readLastUrl } from '../../kernel/inbox/last-inputs.ts';
import { runCron, type ManualRunResult } from './store/fire-crons.ts';
import { buildNewSession } from '../../kernel/sessions/sessions.ts';

/** The cron that a request names. `by`: the agent whose tool asks for it; null: a person. */
export interface NamedCron {
  id: string;
  by: string | null;
  /** The options of the turn of that agent. */
  under?: InputOptions;
}

/**
 * `fixed`: it is in the configuration file. `foreign`: a person has created it, and an agent asks. `busy`: it was changed at the same time,
 * again and again.
 */
export type CronChange = { kind: 'done'; cron: Cron } | { kind: 'unknown' | 'fixed' | 'foreign' | 'busy' };

/** How often a change is tried again after a conflict with another one. */
const TRIES_MAX = 5;

/** Makes a cron; the same cause makes one, and so does the same key. Throws `InvalidCronError`. */
export async function addCron(
  { database, config }: Service,
  made: {
    input: CronInput;
    origin: CronOrigin;
    /** Of the turn whose tool call makes it. */
    under?: InputOptions;
    causeKey: string | null;
    idempotency: KeyedRequest | null;
  },
): ReturnType<typeof createCron> {
  const nowMs = await readDatabaseTime(database);
  const definition = under(made.under, toDefinition(made.input, { config, nowMs }));
  const id = newId<string>();
  const { origin, causeKey, idempotency } = made;
  const isEnabled = made.input.enabled ?? true;
  const slot = findFirstSlot(id, definition.schedule, nowMs);
  return createCron(database, { id, origin, causeKey, isEnabled, ...definition, ...slot }, idempotency);
}

/**
 * Changes a cron. A new schedule, and one that was switched off and is on again, begins now; else its next slot stays. Of a cron of the
 * configuration file only `enabled` can be changed, and an agent cannot give its cron to another agent. Throws `InvalidCronError`.
 */
export async function editCron(service: Service, named: NamedCron, patch: CronPatch): Promise<CronChange> {
  const { database, config } = service;
  const { enabled, ...rest } = patch;
  if (named.by !== null) delete rest.agentId;
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const before = await findNamedCron(service, named);
    if (before === null) return { kind: 'unknown' };
    if (isForeign(before, named)) return { kind: 'foreign' };
    if (before.origin === 'config' && Object.keys(rest).length > 0) return { kind: 'fixed' };
    const nowMs = await readDatabaseTime(database);
    const definition = under(named.under, changedDefinition(before, rest, { config, nowMs }));
    const isEnabled = enabled ?? before.isEnabled;
    const beginsNow = rest.schedule !== undefined || (isEnabled && !before.isEnabled);
    const slot = beginsNow ? findFirstSlot(before.id, definition.schedule, nowMs) : {};
    const cron = await changeCron(database, before, { ...definition, isEnabled, ...slot });
    if (cron !== null) return { kind: 'done', cron };
  }
  return { kind: 'busy' };
}

export async function removeCron(
  service: Service,
  named: NamedCron,
): Promise<'done' | 'unknown' | 'fixed' | 'foreign'> {
  const before = await findNamedCron(service, named);
  if (before === null) return 'unknown';
  if (isForeign(before, named)) return 'foreign';
  if (before.origin === 'config') return 'fixed';
  return (await deleteCron(service.database, before.id)) ? 'done' : 'unknown';
}

/** The named cron; null: it does not exist, or it belongs to another agent than the calling one. */
export async function findNamedCron({ database }: Service, { id, by }: NamedCron): Promise<Cron | null> {
  const cron = isUuid(id) ? await findCron(database, id) : null;
  return by === null || cron?.agentId === by ? cron : null;
}

/** A cron that a turn makes or changes has the options of that turn. */
function under(outer: InputOptions = {}, definition: CronDefinition): CronDefinition {
  return { ...definition, options: inheritOptions(outer, definition.options ?? {}) };
}

function isForeign({ origin }: Cron, { by }: NamedCron): boolean {
  return by !== null && origin !== 'agent';
}

// Runs a cron now, enabled or not; its schedule does not change.

/** Runs it; the same cause runs it once. An agent can run any cron of its own. */
export async function runCronNow(
  service: Service,
  named: NamedCron,
  { causeKey, idempotency }: { causeKey: string; idempotency: KeyedRequest | null },
): Promise<ManualRunResult> {
  const { database, config, inbox, publish } = service;
  const cron = await findNamedCron(service, named);
  if (cron === null) return { kind: 'unknown' };
  const sessionId = await inbox.ensureSession(buildNewSession(toSessionKey(cron)));
  // An isolated session receives no messages: the session that last received one for the agent counts.
  const lastKey = toSessionKey(cron.target === 'isolated' ? { ...cron, target: 'main' } : cron);
  const lastUrl =
    cron.delivery?.mode === 'last'
      ? await readLastUrl(database, await inbox.ensureSession(buildNewSession(lastKey)))
      : null;
  const nowMs = await readDatabaseTime(database);
  const input = toTickInput(cron, { config, nowMs, eventId: newId<SystemEventId>(), lastUrl });
  return publish(
    await runCron(database, {
      cronId: cron.id,
      sessionId,
      ...input,
      body: JSON.stringify(input.body),
      messageId: newId<MessageId>(),
      causeKey: `cron:${cron.id}:run:${causeKey}`,
      waitingMax: config.limits.waitingPerSession,
      idempotency,
    }),
  );
}
