// A subagent is spawned, gets one more message, or is stopped: by the tool of an agent, and through
// the API. Which agent and model a subagent has is decided here and in the rules; how many there
// may be, the transaction counts.
import { agentOf, agentOrFirst, isAgent, modelFault, toolPolicyFault, type Config } from '../../config.ts';
import { inheritOptions, sharedOptions, withOptions } from '../../core/input-options.ts';
import { chooseRoute } from '../../core/inbound.ts';
import type { MessageId } from '../../core/ids.ts';
import { given } from '../../core/json.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import type { SessionMessage } from '../../core/session-message.ts';
import { storableText } from '../../core/text.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { newId } from '../../ids.ts';
import { abortRun, type RunAbort } from '../../kernel/effects/control.ts';
import { readTurnOptions } from '../../kernel/inbox/last-inputs.ts';
import { findPlace } from '../../kernel/sessions/family-rows.ts';
import { SessionErasedError } from '../../kernel/sessions/sessions.ts';
import { writeToSession } from '../../kernel/use-cases/accept-message.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import type { ToolCall } from '../../tools/tool.ts';
import {
  planSpawn,
  spawnMessage,
  type FieldRefusal,
  type SpawnedAgent,
  type SpawnRequest,
  type SpawnSettings,
} from './rules/spawn.ts';
import { findRun, steerRun, type RunFacts } from './store/runs.ts';
import { storeSpawn, type Cause, type NewSpawn, type SpawnResult } from './store/spawn.ts';

/** A tool call. One that is run again finds what it has done. */
export function causeOfCall({ turnId, idempotencyKey }: ToolCall): Cause {
  return { turnId, causeKey: `call:${idempotencyKey}`, sentBy: null, idempotency: null };
}

/** A request of a person with an API key of this name. */
export function causeOfRequest(sentBy: string | null, idempotency: KeyedRequest | null): Cause {
  return { turnId: null, causeKey: null, sentBy, idempotency };
}

/** Spawns it. A session that a person names is created if need be; `unknown`: no such session. */
export async function spawnSubagent(
  service: Service,
  sessionKey: string,
  { cause, request }: { cause: Cause; request: SpawnRequest },
): Promise<SpawnResult | FieldRefusal | { kind: 'unknown' }> {
  const { config, database } = service;
  const fault = toolPolicyFault(config, request.options?.tools);
  if (fault !== null) return { kind: 'refused', field: fault.path, message: fault.message };
  const isPerson = cause.turnId === null;
  const parent = isPerson
    ? await writeToSession(service, { key: canonicalSessionKey(sessionKey) }, async (sessionId) => {
        const found = await findPlace(database, sessionKey);
        if (found === null) throw new SessionErasedError(sessionId);
        return found;
      })
    : await findPlace(database, sessionKey);
  if (parent === null) return { kind: 'unknown' };
  const settings = spawnSettingsOf(config, parent.agentId);
  const agentId = request.agentId ?? parent.agentId;
  const planned = planSpawn(request, {
    requesterId: parent.agentId,
    agent: isAgent(config, agentId) ? spawnedAgent(config, agentId) : null,
    // A caller that sees everything can do everything that the configuration could be changed to allow.
    settings: isPerson && !service.isConfined ? { ...settings, allowAgents: ['*'] } : settings,
  });
  return planned.kind === 'refused' ? planned : spawnPlanned(service, { parent, cause, plan: planned.plan });
}

/** Spawns a subagent of a plan, or gives the plan to one that is done with its last (`again`). */
async function spawnPlanned(
  { config, database, publish }: Service,
  spawn: Pick<NewSpawn, 'parent' | 'cause' | 'plan' | 'again'>,
): Promise<SpawnResult> {
  const { parent, cause, plan } = spawn;
  const settings = spawnSettingsOf(config, parent.agentId);
  const depth = parent.depth + 1;
  const outer = cause.turnId === null ? {} : await readTurnOptions(database, cause.turnId);
  const message = spawnMessage({
    task: plan.task,
    requesterKey: parent.key,
    depth,
    depthMax: Math.max(depth, settings.maxSpawnDepth),
    options: inheritOptions(outer, plan.options ?? {}),
  });
  const answer = {
    text: '',
    ...(plan.deliver === undefined ? {} : { deliver: plan.deliver }),
    ...withOptions(sharedOptions(plan.options ?? {})),
  };
  const originRoute = chooseRoute(answer, config.owner.ids);
  const body = JSON.stringify(message);
  return publish(await storeSpawn(database, { ...spawn, settings, body, route: childRoute(config), originRoute }));
}

/**
 * The configured subagent settings of a session's agent; of the first agent, if that agent is no
 * longer configured.
 */
export function spawnSettingsOf(config: Config, agentId: string): SpawnSettings {
  return agentOrFirst(config, agentId).subagents;
}

/** Everything that is said to a subagent has one route, so that it may join a turn. */
function childRoute({ owner }: Config): string {
  return chooseRoute({ text: '' }, owner.ids);
}

function spawnedAgent(config: Config, id: string): SpawnedAgent {
  const { model, thinking } = agentOf(config, id).subagents;
  return { model, thinking, modelFault: (name) => modelFault(config, id, name) };
}

/** One more message to a subagent. */
export interface SteerMessage {
  runId: string;
  text: string;
  /** The key of the session that sends it; null: a person. */
  from: string | null;
  cause: Cause;
}

/**
 * `isBusy`: it joins a running turn. `again`: the subagent had ended and has started again.
 * `ended`: it had ended and accepts no further tasks.
 */
export type SteerAnswer =
  | { kind: 'steered'; messageId: MessageId; isBusy: boolean }
  | { kind: 'again'; runId: string }
  | { kind: 'limit'; message: string }
  | { kind: 'ended' | 'unknown' };

/**
 * A message joins the running turn or is the next one; a subagent that was kept for further tasks
 * and has ended starts again with it.
 */
export async function steerSubagent(service: Service, message: SteerMessage): Promise<SteerAnswer> {
  const { config, database, publish } = service;
  const { runId, from, cause } = message;
  const run = await findRun(database, runId);
  if (run === null) return { kind: 'unknown' };
  const text = storableText(message.text);
  // The options are the run's own, so that it may join its turn.
  const said = { text, ...withOptions(run.options) };
  const body: SessionMessage | { text: string } =
    from === null
      ? { ...said, ...given({ isConfined: service.isConfined || undefined }) }
      : { ...said, provenance: { kind: 'inter_session', sourceSession: from, sourceTool: 'subagents' } };
  const messageId = newId<MessageId>();
  const steer = { runId, messageId, body: JSON.stringify(body), route: childRoute(config), ...cause };
  const steered = publish(await steerRun(database, steer));
  if (steered.kind === 'steered') return { kind: 'steered', messageId, isBusy: steered.isBusy };
  return run.mode === 'session' ? startAgain(service, run, text, cause) : { kind: 'ended' };
}

/** A further task for a subagent that was kept for that. */
async function startAgain(service: Service, run: RunFacts, task: string, cause: Cause): Promise<SteerAnswer> {
  const { config, database } = service;
  const parent = await findPlace(database, run.parentKey);
  if (parent === null) return { kind: 'unknown' };
  const plan: NewSpawn['plan'] = {
    agentId: run.childKey.split(':')[1] ?? parent.agentId,
    task,
    label: run.label,
    model: null,
    thinking: null,
    runTimeoutSeconds: spawnSettingsOf(config, parent.agentId).runTimeoutSeconds,
    cleanup: run.cleanup,
    mode: run.mode,
    ...(run.isUndelivered ? { deliver: null } : run.deliver === null ? {} : { deliver: run.deliver }),
    options: run.options,
  };
  const spawned = await spawnPlanned(service, { parent, cause, plan, again: run });
  return spawned.kind === 'spawned' ? { kind: 'again', runId: spawned.runId } : spawned;
}

/**
 * Ends a run and, unless they are kept, all runs below it; resolves with how many have ended by it.
 * Null: no such run. Workers notice within a second (G24).
 */
export async function stopRun(service: Service, kill: Omit<RunAbort, 'sessionId' | 'status'>): Promise<number | null> {
  const run = await findRun(service.database, kill.runId);
  if (run === null) return null;
  // A key is stored also where there is nothing left to be ended.
  if (run.status !== 'running' && (kill.idempotency ?? null) === null) return 0;
  const stopped = service.publish(await abortRun(service, { ...kill, sessionId: run.childId }));
  return stopped.kind === 'stopped' ? stopped.runs : 0;
}
