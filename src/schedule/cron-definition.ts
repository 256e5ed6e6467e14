// From a cron as it is written to the cron that is stored: all defaults are filled in, so that the stored cron does not change with
// the configuration or the time of day.
import { agentOf, isAgent, modelFault, toolPolicyFault, type Config } from '../config.ts';
import { resolveChat } from '../config/schema-channels.ts';
import { faultBetween, type CronInput, type CronPatch } from '../config/schema-crons.ts';
import { pickOptions } from '../core/input-options.ts';
import type { CronDefinition } from '../core/schedule/cron.ts';
import { firstSlot, computeStagger, type Schedule } from '../core/schedule/timetable.ts';
import { buildTimetable } from './timetable.ts';

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
 * The definition of a cron. Left out: the agent is the first of the configuration, the zone the agent's, a step begins now, the name is
 * `cron`, events go to the main session and turns to one of their own. Throws `InvalidCronError`.
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

/** `hasNewModel` false: its model was checked when it was set, and may be changed or switched off although it is no longer served. */
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
