// The models of the OpenAI-compatible endpoints: the agents, and the models that they can be asked
// to use.
import { cutHead } from '../../core/text.ts';
import { agentOf, defaultAgentOf, modelFault, reachableAgents, type AgentSettings, type Config } from '../../config.ts';
import type { Scope } from '../../core/scope.ts';
import { fieldProblem, type Problem } from '../../api/problem.ts';

/** The model name that stands for the agent of the request. */
const DEFAULT = 'holdfast';
const AGENT_PREFIXES = ['holdfast:', 'agent:'];

export interface ChosenModel {
  agent: AgentSettings;
  /** Absent: the one of the agent or of the session. */
  model?: string;
}

/**
 * The agent and the model that a request names. Throws `Problem` 404 if one does not exist, or if
 * the scope of the caller has nothing of the agent. `agentId`: from its header.
 */
export function chooseModel(
  config: Config,
  scope: Scope,
  { name, agentId }: { name: string; agentId?: string | undefined },
): ChosenModel {
  const prefix = AGENT_PREFIXES.find((one) => name.startsWith(one));
  const wanted = prefix === undefined ? (agentId ?? defaultAgentOf(config, scope)) : name.slice(prefix.length);
  const unknown = (path: string, missing: string): Problem => unknownModel(modelNames(config, scope), path, missing);
  if (!reachableAgents(config, scope).includes(wanted))
    throw unknown(prefix === undefined ? 'x-holdfast-agent-id' : 'model', wanted);
  const agent = agentOf(config, wanted);
  if (prefix !== undefined || name === DEFAULT) return { agent };
  if (modelFault(config, wanted, name) !== null) throw unknown('model', name);
  return { agent, model: name };
}

function unknownModel(names: readonly string[], path: string, name: string): Problem {
  const message = `there is no model ${JSON.stringify(cutHead(name, 100))}; there are ${names.slice(0, 10).join(', ')}, and provider/model`;
  return fieldProblem(path, message, 'model_not_found');
}

/** All names that a client may use, but for models that are named by their provider. */
export function modelNames(config: Config, scope: Scope): string[] {
  const agents = reachableAgents(config, scope);
  const aliases = agents.flatMap((id) => Object.keys(agentOf(config, id).models));
  return [...new Set([DEFAULT, ...agents.map((id) => `holdfast:${id}`), ...aliases])];
}
