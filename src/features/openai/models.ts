// The models of the OpenAI-compatible endpoints: the agents, and the models that they can be asked
// to use.
import { cutHead } from '../../core/text.ts';
import { agentOf, isAgent, modelFault, type AgentSettings, type Config } from '../../config.ts';
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
 * The agent and the model that a request names. Throws `Problem` 404 if one does not exist.
 * `agentId`: from its header.
 */
export function chooseModel(config: Config, name: string, agentId: string | undefined): ChosenModel {
  const prefix = AGENT_PREFIXES.find((one) => name.startsWith(one));
  const wanted = prefix === undefined ? (agentId ?? findDefaultAgent(config)) : name.slice(prefix.length);
  if (!isAgent(config, wanted)) throw unknown(config, prefix === undefined ? 'x-holdfast-agent-id' : 'model', wanted);
  const agent = agentOf(config, wanted);
  if (prefix !== undefined || name === DEFAULT) return { agent };
  if (modelFault(config, wanted, name) !== null) throw unknown(config, 'model', name);
  return { agent, model: name };
}

function unknown(config: Config, path: string, name: string): Problem {
  const names = modelNames(config).slice(0, 10).join(', ');
  const message = `there is no model ${JSON.stringify(cutHead(name, 100))}; there are ${names}, and provider/model`;
  return fieldProblem(path, message, 'model_not_found');
}

function findDefaultAgent(config: Config): string {
  return isAgent(config, 'main') ? 'main' : (config.agents.list[0]?.id ?? 'main');
}

/** All names that a client may use, but for models that are named by their provider. */
export function modelNames(config: Config): string[] {
  const agents = config.agents.list.map(({ id }) => id);
  const aliases = agents.flatMap((id) => Object.keys(agentOf(config, id).models));
  return [...new Set([DEFAULT, ...agents.map((id) => `holdfast:${id}`), ...aliases])];
}
