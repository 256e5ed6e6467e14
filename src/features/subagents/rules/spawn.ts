// Which subagent is spawned: whether it may be, its agent, its model, its time limit, and its first
// message. A refusal names the value and what is allowed.
import { given } from '../../../core/json.ts';
import { withOptions, type InputOptions } from '../../../core/input-options.ts';
import type { ThinkingLevel } from '../../../core/models.ts';
import { subagentInstructions, type SessionMessage } from '../../../core/session-message.ts';
import { storableText } from '../../../core/text.ts';
import type { FamilyState } from '../../../kernel/rules/family.ts';

export interface SpawnRequest {
  task: string;
  label?: string | undefined;
  agentId?: string | undefined;
  model?: string | undefined;
  thinking?: ThinkingLevel | undefined;
  /** 0: without a limit. */
  runTimeoutSeconds?: number | undefined;
  /** `delete`: its session is archived once its end was announced. Default: keep. */
  cleanup?: 'keep' | 'delete' | undefined;
  /** `session`: it may be given another task when it is done. Default: run. */
  mode?: 'run' | 'session' | undefined;
  /**
   * The delivery address of the answer to its announcement. Only a client sets it; for a tool call
   * it is that of its turn's answer.
   */
  deliver?: { url: string } | null | undefined;
  /** The options of its turns, in addition to those of the turn that spawns it. */
  options?: InputOptions | undefined;
}

/** The configured subagent settings of one agent. */
export interface SpawnSettings {
  maxSpawnDepth: number;
  maxChildrenPerSession: number;
  maxDescendants: number;
  runTimeoutSeconds: number;
  /** Agents that it may spawn in addition to its own; `*`: any. */
  allowAgents: readonly string[];
}

/** The agent that a subagent is of. */
export interface SpawnedAgent {
  /** The model of its subagents when they name none; absent: its own. */
  model?: string | undefined;
  thinking?: ThinkingLevel | undefined;
  /** Why it cannot use a model, given as `provider/model` or as an alias; null: it can. */
  modelFault: (name: string) => string | null;
}

/** A request that the configuration allows. */
export interface SpawnPlan {
  agentId: string;
  task: string;
  label: string | null;
  model: string | null;
  thinking: ThinkingLevel | null;
  runTimeoutSeconds: number;
  cleanup: 'keep' | 'delete';
  mode: 'run' | 'session';
  /** Absent: where the configuration says; null: nowhere. */
  deliver?: { url: string } | null;
  options?: InputOptions;
}

/** `field` names the refused field; the message gives its value and what is allowed. */
export interface FieldRefusal {
  kind: 'refused';
  field: string;
  message: string;
}

/** Decides a request. `agent` null: the requested agent is not in the configuration. */
export function planSpawn(
  request: SpawnRequest,
  { requesterId, agent, settings }: { requesterId: string; agent: SpawnedAgent | null; settings: SpawnSettings },
): { kind: 'planned'; plan: SpawnPlan } | FieldRefusal {
  const agentId = request.agentId ?? requesterId;
  // First, so that the words are the same whether there is such an agent.
  if (!mayBeSpawned(agentId, requesterId, settings)) {
    const allowed = [requesterId, ...settings.allowAgents].join(', ');
    return refused('agentId', `${JSON.stringify(agentId)} must not be spawned from this agent; allowed: ${allowed}`);
  }
  if (agent === null) return refused('agentId', `the agent ${JSON.stringify(agentId)} is not in the configuration`);
  const model = request.model ?? agent.model ?? null;
  const fault = model === null ? null : agent.modelFault(model);
  if (fault !== null) return refused('model', fault);
  return {
    kind: 'planned',
    plan: {
      agentId,
      task: storableText(request.task),
      label: storableText(request.label ?? '').trim() || null,
      model,
      thinking: request.thinking ?? agent.thinking ?? null,
      runTimeoutSeconds: request.runTimeoutSeconds ?? settings.runTimeoutSeconds,
      cleanup: request.cleanup ?? 'keep',
      mode: request.mode ?? 'run',
      ...given({ deliver: request.deliver, options: request.options }),
    },
  };
}

function refused(field: string, message: string): FieldRefusal {
  return { kind: 'refused', field, message };
}

/** True for the agent itself and for those that it may spawn. */
export function mayBeSpawned(
  agentId: string,
  requesterId: string,
  { allowAgents }: Pick<SpawnSettings, 'allowAgents'>,
): boolean {
  return agentId === requesterId || allowAgents.includes('*') || allowAgents.includes(agentId);
}

/** The first message of a subagent. `depth`: the number of sessions above it. */
export function spawnMessage(about: {
  task: string;
  requesterKey: string;
  depth: number;
  depthMax: number;
  options?: InputOptions;
}): SessionMessage {
  const { task, requesterKey, depth, depthMax, options = {} } = about;
  return {
    text: task,
    ...withOptions(options),
    provenance: { kind: 'spawn', sourceSession: requesterKey, depth, depthMax },
    extraSystemPrompt: subagentInstructions({ maySpawn: depth < depthMax }),
  };
}

/** A session as the spawn that has locked it sees it. */
export interface SpawnState extends Pick<
  FamilyState,
  'id' | 'ancestors' | 'runId' | 'turnId' | 'isArchived' | 'liveChildren'
> {
  /** Its turn is asked to stop. */
  isStopping: boolean;
  /** Runs of its family that have not ended; only at the top. */
  liveDescendants: number;
}

/**
 * Why a planned subagent is not spawned. `depth`, `children`, `descendants`: the limit is reached.
 * `ended`: the run of the spawning session has ended. `stopped`: the turn of the call is being
 * stopped or has ended. `working`: the subagent is already working.
 */
export interface SpawnLimit {
  kind: 'limit';
  code: 'depth' | 'children' | 'descendants' | 'ended' | 'stopped' | 'working';
  /** For people and models. */
  message: string;
}

interface JudgedSpawn {
  parent: SpawnState;
  /** The top of the family. */
  root: SpawnState;
  /** The subagent that gets another task; undefined: it is a new one. */
  child: SpawnState | undefined;
  /** The turn whose tool call it is; null: it is spawned from outside. */
  turnId: string | null;
  settings: SpawnSettings;
}

/** Null: it is spawned. */
export function judgeSpawn({ parent, root, child, turnId, settings }: JudgedSpawn): SpawnLimit | null {
  const { maxSpawnDepth, maxChildrenPerSession, maxDescendants } = settings;
  const { liveChildren, ancestors } = parent;
  const depth = ancestors.length;
  const refuse = (code: SpawnLimit['code'], message: string): SpawnLimit => ({ kind: 'limit', code, message });
  if (parent.isArchived || (depth > 0 && parent.runId === null))
    return refuse('ended', 'the run of this session has ended, so it cannot spawn or steer subagents');
  if (turnId !== null && (parent.turnId !== turnId || parent.isStopping))
    return refuse('stopped', 'the turn that requested it is being stopped');
  if (depth >= maxSpawnDepth)
    return refuse('depth', `maxSpawnDepth is ${maxSpawnDepth}, and this session is at depth ${depth}`);
  if (liveChildren >= maxChildrenPerSession)
    return refuse(
      'children',
      `maxChildrenPerSession is ${maxChildrenPerSession}, and ${liveChildren} subagents of this session are active`,
    );
  if (root.liveDescendants >= maxDescendants)
    return refuse(
      'descendants',
      `maxDescendants is ${maxDescendants}, and ${root.liveDescendants} subagents of this family are active`,
    );
  if (child !== undefined && (child.runId !== null || child.isArchived))
    return refuse('working', 'the subagent is already working');
  return null;
}
