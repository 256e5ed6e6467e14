// Spawns a subagent, for the tool of an agent and for the API alike. Which agent and model a
// subagent has is decided here and in the core; how many there may be, the statement counts.
import {
  agentOf,
  agentOrFirst,
  isAgent,
  modelFault,
  toolPolicyFault,
  type AgentSettings,
  type Config,
} from '../../config.ts';
import { inheritOptions, sharedOptions, withOptions } from '../../core/input-options.ts';
import { chooseRoute } from '../../core/inbound.ts';
import type { SessionId, SessionKey } from '../../core/ids.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import {
  planSpawn,
  spawnMessage,
  spawnRefusalText,
  type SpawnedAgent,
  type SpawnRefusal,
  type SpawnRequest,
  type SpawnSettings,
} from '../../core/subagents.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { storeSpawn, type NewSpawn } from './store/spawn.ts';
import { findPlace, type SessionPlace } from '../../kernel/sessions/family-rows.ts';
import { readTurnOptions } from '../../kernel/inbox/last-inputs.ts';
import { SessionErasedError } from '../../kernel/sessions/sessions.ts';
import { writeToSession } from '../../kernel/use-cases/accept-message.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

export interface SpawnOrigin {
  sessionKey: string;
  /** The turn of the tool call; null: a person, who may spawn any agent. */
  turnId: string | null;
  /**
   * Unique without a time limit: a second call with it spawns nothing. Null: each call spawns
   * another subagent.
   */
  causeKey: string | null;
  /** The name of the API key of a request; null: it has none, or a tool call spawns. */
  sentBy: string | null;
  idempotency: KeyedRequest | null;
}

/**
 * `refused`: a field of the request is not valid. `limit`: the limit is reached, or it is too late.
 * `unknown`: no such session. The messages name the value and what is allowed.
 */
export type SpawnAnswer = SpawnedRun | { kind: 'refused'; field: string; message: string } | { kind: 'unknown' };

export type SpawnedRun =
  | { kind: 'spawned'; runId: string; childId: SessionId; childKey: SessionKey }
  | { kind: 'limit'; code: SpawnRefusal; message: string };

/** Spawns it. A session that a person names is created if need be. */
export async function spawnSubagent(
  service: Service,
  origin: SpawnOrigin,
  request: SpawnRequest,
): Promise<SpawnAnswer> {
  const { config, database } = service;
  const fault = toolPolicyFault(config, request.options?.tools);
  if (fault !== null) return { kind: 'refused', field: fault.path, message: fault.message };
  const parent =
    origin.turnId === null
      ? await writeToSession(service, { key: canonicalSessionKey(origin.sessionKey) }, async (sessionId) => {
          const found = await findPlace(database, origin.sessionKey);
          if (found === null) throw new SessionErasedError(sessionId);
          return found;
        })
      : await findPlace(database, origin.sessionKey);
  if (parent === null) return { kind: 'unknown' };
  const settings = spawnSettingsOf(config, parent.agentId);
  const agentId = request.agentId ?? parent.agentId;
  const planned = planSpawn(request, {
    requesterId: parent.agentId,
    agent: isAgent(config, agentId) ? spawnedAgent(config, agentOf(config, agentId)) : null,
    // A caller with the API key can do everything that the configuration could be changed to allow.
    settings: origin.turnId === null ? { ...settings, allowAgents: ['*'] } : settings,
  });
  return planned.kind === 'refused' ? planned : spawnPlanned(service, { parent, origin, plan: planned.plan });
}

/** Spawns a subagent of a plan, or gives the plan to one that is done with its last (`again`). */
export async function spawnPlanned(
  { config, database, publish }: Service,
  about: {
    parent: SessionPlace;
    origin: Omit<SpawnOrigin, 'sessionKey'>;
    plan: NewSpawn['plan'];
    again?: NewSpawn['again'];
  },
): Promise<SpawnedRun> {
  const { parent, origin, plan, again } = about;
  const settings = spawnSettingsOf(config, parent.agentId);
  const depth = parent.depth + 1;
  const outer = origin.turnId === null ? {} : await readTurnOptions(database, origin.turnId);
  const message = spawnMessage({
    task: plan.task,
    requesterKey: parent.key,
    depth,
    depthMax: Math.max(depth, settings.maxSpawnDepth),
    options: inheritOptions(outer, plan.options ?? {}),
  });
  const spawned = publish(
    await storeSpawn(database, {
      parent,
      plan,
      body: JSON.stringify(message),
      route: childRoute(config),
      ...origin,
      originRoute: chooseRoute(
        {
          text: '',
          ...(plan.deliver === undefined ? {} : { deliver: plan.deliver }),
          ...withOptions(sharedOptions(plan.options ?? {})),
        },
        config.owner.ids,
      ),
      limits: {
        depthMax: settings.maxSpawnDepth,
        childrenMax: settings.maxChildrenPerSession,
        descendantsMax: settings.maxDescendants,
      },
      ...(again === undefined ? {} : { again }),
    }),
  );
  if (spawned.kind === 'spawned') return spawned;
  const { code, count } = spawned;
  return { kind: 'limit', code, message: spawnRefusalText(code, count, settings) };
}

/**
 * The configured subagent settings of a session's agent; of the first agent, if that agent is no
 * longer configured.
 */
export function spawnSettingsOf(config: Config, agentId: string): SpawnSettings {
  return agentOrFirst(config, agentId).subagents;
}

/** Everything that is said to a subagent has one route, so that it may join a turn. */
export function childRoute({ owner }: Config): string {
  return chooseRoute({ text: '' }, owner.ids);
}

function spawnedAgent(config: Config, { id, subagents }: AgentSettings): SpawnedAgent {
  const { model, thinking } = subagents;
  return { id, model, thinking, modelFault: (name) => modelFault(config, id, name) };
}
