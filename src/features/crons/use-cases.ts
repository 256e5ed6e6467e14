// What people and agents do with crons: create, change, delete, run now. A person may change any
// cron that is not in the configuration file; an agent only those that it has created. The
// database's time decides where a schedule begins (G8).
import { buildTimetable, faultBetween, type CronInput, type CronPatch, type Schedule } from './config.ts';
import { isUuid, type MessageId, type SystemEventId } from '../../core/ids.ts';
import { inheritOptions, type InputOptions, pickOptions } from '../../core/input-options.ts';
import { toSessionKey, toTickInput, type CronDefinition, type CronOrigin } from './rules/cron.ts';
import type { TickEffect } from './rules/fires.ts';
import { newId } from '../../ids.ts';
import { changeCron, createCron, deleteCron, findCron, type Cron } from './store/crons.ts';
import { readDatabaseTime } from '../../database/database-time.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { readLastUrl } from '../../kernel/inbox/last-inputs.ts';
import { runCron, type ManualRunResult } from './store/fire-crons.ts';
import { buildNewSession } from '../../kernel/sessions/sessions.ts';
import { agentOf, agentOrFirst, isAgent, modelFault, toolPolicyFault, type Config } from '../../config.ts';
import { resolveChat } from '../../config/schema-channels.ts';
import { firstSlot, computeStagger } from './rules/timetable.ts';
import { pickPromptZone } from '../../config/agent-settings.ts';

/** The cron that a request names. `by`: the agent whose tool asks for it; null: a person. */
export interface NamedCron {
  id: string;
  by: string | null;
  /** The options of the turn of that agent. */
  under?: InputOptions;
}

/**
 * `fixed`: it is in the configuration file. `foreign`: a person has created it, and an agent asks.
 * `busy`: it was changed at the same time, again and again.
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
    /** That of the session whose agent makes it. */
    root?: string;
    /** The options of the turn whose tool call makes it. */
    under?: InputOptions;
    causeKey: string | null;
    idempotency: KeyedRequest | null;
  },
): ReturnType<typeof createCron> {
  const nowMs = await readDatabaseTime(database);
  const definition = under(made.under, toDefinition(made.input, { config, nowMs }));
  const id = newId<string>();
  const { origin, root = null, causeKey, idempotency } = made;
  const isEnabled = made.input.enabled ?? true;
  const slot = findFirstSlot(id, definition.schedule, nowMs);
  return createCron(database, { id, origin, root, causeKey, isEnabled, ...definition, ...slot }, idempotency);
}

/**
 * Changes a cron. A new schedule, and one that was switched off and is on again, begins now; else
 * its next slot stays. Of a cron of the configuration file only `enabled` can be changed, and an
 * agent cannot give its cron to another agent. Throws `InvalidCronError`.
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

/** What a tick puts into the session of its cron, which is made if it does not exist. */
export async function buildTickEffect(
  { config, database, inbox }: Pick<Service, 'config' | 'database' | 'inbox'>,
  cron: Cron,
  nowMs: number,
): Promise<TickEffect> {
  const ensureSession = (of: Cron) =>
    inbox.ensureSession({ ...buildNewSession(toSessionKey(of)), root: of.target === 'isolated' ? of.root : null });
  const sessionId = await ensureSession(cron);
  // An isolated session receives no messages: the session that last received one for the agent
  // counts.
  const last: Cron = cron.target === 'isolated' ? { ...cron, target: 'main' } : cron;
  const lastUrl = cron.delivery?.mode === 'last' ? await readLastUrl(database, await ensureSession(last)) : null;
  const zone = pickPromptZone(agentOrFirst(config, cron.agentId));
  const input = toTickInput(cron, { zone, nowMs, eventId: newId<SystemEventId>(), lastUrl });
  return {
    ...input,
    sessionId,
    body: JSON.stringify(input.body),
    waitingMax: config.limits.waitingPerSession,
  };
}

/**
 * Runs a cron now, enabled or not; its schedule does not change. The same cause runs it once. An
 * agent can run any cron of its own.
 */
export async function runCronNow(
  service: Service,
  named: NamedCron,
  { causeKey, idempotency }: { causeKey: string; idempotency: KeyedRequest | null },
): Promise<ManualRunResult> {
  const { database, publish } = service;
  const cron = await findNamedCron(service, named);
  if (cron === null) return { kind: 'unknown' };
  const effect = await buildTickEffect(service, cron, await readDatabaseTime(database));
  return publish(
    await runCron(database, {
      ...effect,
      cronId: cron.id,
      messageId: newId<MessageId>(),
      causeKey: `cron:${cron.id}:run:${causeKey}`,
      idempotency,
    }),
  );
}

// From a cron as it is written to the cron that is stored: all defaults are filled in, so that the
// stored cron does not change with the configuration or the time of day.

/** A cron that cannot be one, though each of its parts is right. `path` names the part. */
export class InvalidCronError extends Error {
  readonly code = 'invalid_cron';
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.name = 'InvalidCronError';
    this.path = path;
  }
}

const NAME_DEFAULT = 'cron';

/**
 * The definition of a cron. Left out: the agent is the first of the configuration, the zone the
 * agent's, a step begins now, the name is `cron`, events go to the main session and turns to one of
 * their own. Throws `InvalidCronError`.
 */
export function toDefinition(input: CronInput, { config, nowMs }: { config: Config; nowMs: number }): CronDefinition {
  const agentId = input.agentId ?? config.agents.list[0]?.id ?? 'main';
  return checked(config, {
    name: input.name ?? NAME_DEFAULT,
    agentId,
    schedule: resolved(input.schedule, config, { agentId, nowMs }),
    target: input.target ?? (input.payload.kind === 'systemEvent' ? 'main' : 'isolated'),
    payload: input.payload,
    wake: input.wake ?? 'now',
    misfire: input.misfire ?? null,
    delivery: toDelivery(config, input.delivery ?? null),
    deleteAfterRun: input.deleteAfterRun ?? false,
    options: pickOptions({ ...input, responseFormat: undefined }),
  });
}

/** The definition after a change. Throws `InvalidCronError`. */
export function changedDefinition(
  before: CronDefinition,
  patch: CronPatch,
  { config, nowMs }: { config: Config; nowMs: number },
): CronDefinition {
  const agentId = patch.agentId ?? before.agentId;
  const definition: CronDefinition = {
    name: patch.name ?? before.name,
    agentId,
    schedule: patch.schedule === undefined ? before.schedule : resolved(patch.schedule, config, { agentId, nowMs }),
    target: patch.target ?? before.target,
    payload: patch.payload ?? before.payload,
    wake: patch.wake ?? before.wake,
    misfire: patch.misfire === undefined ? before.misfire : patch.misfire,
    delivery: patch.delivery === undefined ? before.delivery : toDelivery(config, patch.delivery),
    deleteAfterRun: patch.deleteAfterRun ?? before.deleteAfterRun,
    options: pickOptions({
      tools: patch.tools === undefined ? before.options?.tools : (patch.tools ?? undefined),
      tags: patch.tags === undefined ? before.options?.tags : (patch.tags ?? undefined),
      responseFormat: undefined,
    }),
  };
  return checked(config, definition, { hasNewModel: patch.payload !== undefined || patch.agentId !== undefined });
}

function toDelivery(config: Config, delivery: NonNullable<CronInput['delivery']> | null): CronDefinition['delivery'] {
  if (delivery?.mode !== 'channel') return delivery;
  const chat = resolveChat(config, delivery);
  if ('fault' in chat) throw new InvalidCronError(`delivery.${chat.fault.field}`, chat.fault.message);
  return { mode: 'channel', ...chat.address };
}

/** The first slot of a new or changed cron, and when it is due. */
export function findFirstSlot(id: string, schedule: Schedule, nowMs: number) {
  const timetable = buildTimetable(schedule);
  const nextSlotMs = firstSlot(timetable, nowMs);
  return { nextSlotMs, dueMs: nextSlotMs === null ? null : nextSlotMs + computeStagger(timetable, id) };
}

function resolved(
  schedule: CronInput['schedule'],
  config: Config,
  { agentId, nowMs }: { agentId: string; nowMs: number },
): Schedule {
  switch (schedule.kind) {
    case 'at':
      return schedule;
    case 'every':
      return { ...schedule, anchor: schedule.anchor ?? new Date(nowMs).toISOString() };
    case 'cron':
      return {
        ...schedule,
        tz: schedule.tz ?? (isAgent(config, agentId) ? agentOf(config, agentId).userTimezone : 'UTC'),
      };
    default:
      return schedule satisfies never;
  }
}

/**
 * `hasNewModel` false: its model was checked when it was set, and may be changed or switched off
 * although it is no longer served.
 */
function checked(config: Config, definition: CronDefinition, { hasNewModel = true } = {}): CronDefinition {
  if (!isAgent(config, definition.agentId)) {
    const known = config.agents.list.map(({ id }) => id).join(', ');
    throw new InvalidCronError(
      'agentId',
      `the agent ${JSON.stringify(definition.agentId)} does not exist; known: ${known}`,
    );
  }
  const { payload } = definition;
  const model = hasNewModel && payload.kind === 'agentTurn' ? payload.model : undefined;
  const unserved = model === undefined ? null : modelFault(config, definition.agentId, model);
  if (unserved !== null) throw new InvalidCronError('payload.model', unserved);
  const fault = toolPolicyFault(config, definition.options?.tools) ?? faultBetween(definition);
  if (fault !== null) throw new InvalidCronError(fault.path, fault.message);
  return definition;
}
