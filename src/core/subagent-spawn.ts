// Plans a requested subagent: its agent, its model, its time limit, and its first message. A refusal names the value; the store, which
// counts subagents, checks their number.
// What a session may do depends on its place in a family: a subagent works on a task, and sends messages neither to users nor to other
// sessions; at the bottom of its family it has no subagents.
import { withOptions, type InputOptions } from './input-options.ts';
import { storableText } from './text.ts';
import { subagentInstructions, type SessionMessage } from './session-message.ts';
import type { ThinkingLevel } from '../prompt/thinking-directive.ts';
import { given } from './given.ts';

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
  /** The delivery address of the answer to its announcement. Only a client sets it; for a tool call it is that of its turn's answer. */
  deliver?: { url: string } | null | undefined;
  /** Of its turns, in addition to those of the turn that spawns it. */
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
  id: string;
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
  /** Null: where the configuration says, or where the turn's own answer goes. */
  /** Absent: where the configuration says; null: nowhere. */
  deliver?: { url: string } | null;
  options?: InputOptions;
}

/** `field` names the refused field; the message gives its value and what is allowed. */
export type SpawnPlanResult =
  | { kind: 'planned'; plan: SpawnPlan }
  | { kind: 'refused'; field: string; message: string };

/** Decides a request. `agent` null: the requested agent is not in the configuration. */
export function planSpawn(
  request: SpawnRequest,
  { requesterId, agent, settings }: { requesterId: string; agent: SpawnedAgent | null; settings: SpawnSettings },
): SpawnPlanResult {
  const agentId = request.agentId ?? requesterId;
  if (agent === null) return refused('agentId', `the agent ${JSON.stringify(agentId)} is not in the configuration`);
  if (!mayBeSpawned(agentId, requesterId, settings)) {
    const allowed = [requesterId, ...settings.allowAgents].join(', ');
    return refused('agentId', `${JSON.stringify(agentId)} must not be spawned from this agent; allowed: ${allowed}`);
  }
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

/** True for the agent itself and for those that it may spawn. */
export function mayBeSpawned(
  agentId: string,
  requesterId: string,
  settings: Pick<SpawnSettings, 'allowAgents'>,
): boolean {
  const { allowAgents } = settings;
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

/**
 * Why a planned subagent was not spawned. `depth`, `children`, `descendants`: the limit is reached. `ended`: the run of the spawning session
 * has ended. `stopped`: the turn of the call is being stopped or has ended. `working`: the subagent is already working.
 */
export type SpawnRefusal = 'depth' | 'children' | 'descendants' | 'ended' | 'stopped' | 'working';

/** Why nothing was spawned, for people and models; `count` is the number that was compared with the limit. */
export function spawnRefusalText(code: SpawnRefusal, count: number, settings: SpawnSettings): string {
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

function refused(field: string, message: string): SpawnPlanResult {
  return { kind: 'refused', field, message };
}

/** `main`: it was not spawned. `orchestrator`: a subagent that may spawn. `leaf`: one that may not. */
export type SubagentRole = 'main' | 'orchestrator' | 'leaf';

const DENIED_BELOW = ['gateway', 'agents_list', 'whatsapp_login', 'cron', 'sessions_send', 'message'] as const;

/** Tools that a role does not have, regardless of the tool policy. */
export const DENIED_TOOLS: Readonly<Record<SubagentRole, readonly string[]>> = {
  main: [],
  orchestrator: DENIED_BELOW,
  leaf: [...DENIED_BELOW, 'subagents', 'sessions_list', 'sessions_history', 'sessions_spawn'],
};

/** The role of a session at this depth, when subagents may be spawned down to `depthMax`. */
export function roleAt(depth: number, depthMax: number): SubagentRole {
  if (depth === 0) return 'main';
  return depth < depthMax ? 'orchestrator' : 'leaf';
}
