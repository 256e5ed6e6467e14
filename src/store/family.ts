// What can be done about subagents, in the terms of the configuration: for the tools of agents and for the API alike. Which agent and
// model a subagent has is decided here; how many there may be, the statement counts.
import { agentOf, isAgent, modelFault, type AgentSettings, type Config } from '../config.ts';
import { routeOf } from '../core/inbound.ts';
import type { MessageId, SessionId, SessionKey } from '../core/ids.ts';
import type { SessionMessage } from '../core/session-message.ts';
import { storableText } from '../core/storable-text.ts';
import {
  planSpawn,
  spawnMessage,
  type SpawnedAgent,
  type SpawnRequest,
  type SpawnSettings,
} from '../core/subagent-spawn.ts';
import { newId } from '../ids.ts';
import type { Database } from './database.ts';
import type { KeyedRequest } from './idempotency.ts';
import type { NeededRing } from './session-locks.ts';
import {
  findSpawner,
  spawnSubagent,
  type NewSpawn,
  type SpawnResult,
  type Spawner,
  type SpawnRefusal,
} from './spawn.ts';
import type { FamilyStopResult } from './stop-family.ts';
import { findRun, killRun, steerRun, type RunFacts } from './subagents.ts';

export interface FamilyParts {
  config: Config;
  database: Database;
  /** Rings for sessions that have work now. Not waited for: the reconciler makes up for it. */
  ring: (rings: readonly NeededRing[]) => void;
  /** Called with each session that was changed. Must not throw. */
  committed: (sessionId: SessionId) => void;
}

/** The session that spawns. */
export interface SpawnOrigin {
  sessionKey: string;
  /** The turn of the tool call; null: a person, who may spawn any agent. */
  turnId: string | null;
  /** Unique without a time limit: a second call with it spawns nothing. Null: each call spawns another subagent. */
  causeKey: string | null;
  /** The key of the request that spawns. */
  idempotency?: KeyedRequest | null;
}

/**
 * `refused`: a field of the request is not valid. `limit`: the limit is reached, or it is too late. `unknown`: no such session. The
 * messages name the value and what is allowed.
 */
export type SpawnAnswer =
  | { kind: 'spawned'; runId: string; childId: SessionId; childKey: SessionKey }
  | { kind: 'refused'; field: string; message: string }
  | { kind: 'limit'; code: SpawnRefusal; message: string }
  | { kind: 'unknown' };

/** One more word to a subagent. `from`: the session that says it; null: a person. */
export interface SteerWord {
  text: string;
  from: { key: string; turnId: string } | null;
  causeKey: string | null;
  idempotency?: KeyedRequest | null;
}

/**
 * `isBusy`: it joins a running turn. `again`: the subagent had ended and has started again. `ended`: it had ended and accepts no further
 * tasks.
 */
export type SteerAnswer =
  | { kind: 'steered'; messageId: MessageId; isBusy: boolean }
  | { kind: 'again'; runId: string }
  | { kind: 'limit'; message: string }
  | { kind: 'ended' | 'unknown' };

export interface Family {
  spawn(origin: SpawnOrigin, request: SpawnRequest): Promise<SpawnAnswer>;
  /** Null: no such run. */
  kill(
    runId: string,
    why: { reason: string; isTold: boolean; idempotency?: KeyedRequest | null },
  ): Promise<FamilyStopResult | null>;
  steer(runId: string, word: SteerWord): Promise<SteerAnswer>;
}

/** Makes them. */
export function createFamily(parts: FamilyParts): Family {
  return {
    spawn: (origin, request) => spawn(parts, origin, request),
    async kill(runId, why) {
      const stopped = await killRun(parts.database, { runId, ...why, modes: parts.config.messages.queue });
      if (stopped?.kind === 'stopped') {
        parts.ring(stopped.rings);
        for (const sessionId of stopped.reached) parts.committed(sessionId);
      }
      return stopped;
    },
    steer: (runId, word) => steer(parts, runId, word),
  };
}

/** What the configuration says of the subagents of a session's agent. */
export function spawnSettingsOf(config: Config, agentId: string): SpawnSettings {
  const { maxSpawnDepth, maxChildrenPerSession, maxDescendants, runTimeoutSeconds, allowAgents } = settingsOf(
    config,
    agentId,
  ).subagents;
  return { maxSpawnDepth, maxChildrenPerSession, maxDescendants, runTimeoutSeconds, allowAgents };
}

async function spawn(parts: FamilyParts, origin: SpawnOrigin, request: SpawnRequest): Promise<SpawnAnswer> {
  const { config, database } = parts;
  const parent = await findSpawner(database, origin.sessionKey);
  if (parent === null) return { kind: 'unknown' };
  const settings = spawnSettingsOf(config, parent.agentId);
  const agentId = request.agentId ?? parent.agentId;
  const planned = planSpawn(request, {
    requesterId: parent.agentId,
    agent: isAgent(config, agentId) ? spawnedAgent(config, agentOf(config, agentId)) : null,
    // A caller with the API key may do what the configuration could be changed to allow.
    settings: origin.turnId === null ? { ...settings, allowAgents: ['*'] } : settings,
  });
  if (planned.kind === 'refused') return planned;
  const spawned = await spawnSubagent(database, newSpawn(parts, { parent, settings, origin, plan: planned.plan }));
  return settle(parts, spawned, { parent, settings });
}

function newSpawn(
  { config }: FamilyParts,
  about: { parent: Spawner; settings: SpawnSettings; origin: Omit<SpawnOrigin, 'sessionKey'>; plan: NewSpawn['plan'] },
): NewSpawn {
  const { parent, settings, origin, plan } = about;
  const depth = parent.depth + 1;
  const message = spawnMessage({
    task: plan.task,
    requesterKey: parent.key,
    depth,
    depthMax: Math.max(depth, settings.maxSpawnDepth),
  });
  return {
    parent,
    plan,
    body: JSON.stringify(message),
    route: childRoute(config),
    causeKey: origin.causeKey,
    idempotency: origin.idempotency,
    turnId: origin.turnId,
    originRoute: routeOf({ text: '', ...(plan.deliver === null ? {} : { deliver: plan.deliver }) }, config.owner.ids),
    limits: {
      depthMax: settings.maxSpawnDepth,
      childrenMax: settings.maxChildrenPerSession,
      descendantsMax: settings.maxDescendants,
    },
  };
}

function settle(
  { ring, committed }: FamilyParts,
  spawned: SpawnResult,
  { parent, settings }: { parent: Spawner; settings: SpawnSettings },
): Extract<SpawnAnswer, { kind: 'spawned' | 'limit' }> {
  if (spawned.kind === 'refused') {
    return { kind: 'limit', code: spawned.code, message: limitText(spawned.code, spawned.count, settings) };
  }
  committed(parent.id);
  committed(spawned.childId);
  if (spawned.ring !== null) ring([spawned.ring]);
  const { runId, childId, childKey } = spawned;
  return { kind: 'spawned', runId, childId, childKey };
}

function limitText(code: SpawnRefusal, count: number, settings: SpawnSettings): string {
  switch (code) {
    case 'depth':
      return `maxSpawnDepth is ${settings.maxSpawnDepth}, and this session is at depth ${count}`;
    case 'children':
      return `maxChildrenPerSession is ${settings.maxChildrenPerSession}, and ${count} subagents of this session are active`;
    case 'descendants':
      return `maxDescendants is ${settings.maxDescendants}, and ${count} subagents of this family are active`;
    case 'ended':
      return 'the run of this session has ended, so it cannot spawn or steer subagents';
    case 'stopped':
      return 'the turn that requested it is being stopped';
    case 'working':
      return 'the subagent is already working';
    default:
      return code satisfies never;
  }
}

async function steer(parts: FamilyParts, runId: string, given: SteerWord): Promise<SteerAnswer> {
  const word = { ...given, text: storableText(given.text) };
  const { config, database, ring, committed } = parts;
  const run = await findRun(database, runId);
  if (run === null) return { kind: 'unknown' };
  const body: SessionMessage | { text: string } =
    word.from === null
      ? { text: word.text }
      : {
          text: word.text,
          provenance: { kind: 'inter_session', sourceSession: word.from.key, sourceTool: 'subagents' },
        };
  const messageId = newId<MessageId>();
  const { causeKey, idempotency } = word;
  const steered = await steerRun(database, {
    runId,
    messageId,
    body: JSON.stringify(body),
    route: childRoute(config),
    causeKey,
    idempotency,
  });
  if (steered.kind === 'ended') return run.mode === 'session' ? beginAnew(parts, run, word) : { kind: 'ended' };
  committed(steered.sessionId);
  if (steered.ring !== null) ring([steered.ring]);
  return { kind: 'steered', messageId, isBusy: steered.isBusy };
}

/** A further task for a subagent that was kept for that. */
async function beginAnew(parts: FamilyParts, run: RunFacts, word: SteerWord): Promise<SteerAnswer> {
  const { config, database } = parts;
  const parent = await findSpawner(database, run.parentKey);
  if (parent === null) return { kind: 'unknown' };
  const settings = spawnSettingsOf(config, parent.agentId);
  const plan: NewSpawn['plan'] = {
    agentId: run.childKey.split(':')[1] ?? parent.agentId,
    task: word.text,
    label: run.label,
    model: null,
    thinking: null,
    runTimeoutSeconds: settings.runTimeoutSeconds,
    cleanup: run.cleanup,
    mode: run.mode,
    deliver: run.deliver,
  };
  const { causeKey, idempotency = null } = word;
  const origin = { turnId: word.from?.turnId ?? null, causeKey, idempotency };
  const spawned = await spawnSubagent(database, {
    ...newSpawn(parts, { parent, settings, origin, plan }),
    again: { childId: run.childId, childKey: run.childKey },
  });
  const settled = settle(parts, spawned, { parent, settings });
  return settled.kind === 'spawned'
    ? { kind: 'again', runId: settled.runId }
    : { kind: 'limit', message: settled.message };
}

function spawnedAgent(config: Config, { id, subagents }: AgentSettings): SpawnedAgent {
  const { model, thinking } = subagents;
  return { id, model, thinking, modelFault: (name) => modelFault(config, id, name) };
}

/** The settings of an agent; those of the first agent when the configuration no longer has it. */
function settingsOf(config: Config, agentId: string): AgentSettings {
  return agentOf(config, isAgent(config, agentId) ? agentId : (config.agents.list[0]?.id ?? 'main'));
}

/** Everything that is said to a subagent has one route, so that it may join a turn. */
function childRoute({ owner }: Config): string {
  return routeOf({ text: '' }, owner.ids);
}
