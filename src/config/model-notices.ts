// Notices for the operator about the configured models: which of them their provider ends, and when, and whether a window is
// set that a model does not have. Holdfast still asks them; the start lines and the doctor show the notices.
import { DEFAULT_PROVIDER, modelOfRef } from '../core/model-ref.ts';
import { endOfModel, knownModel } from '../core/models.ts';
import { agentOf, resolveModelRef, type AgentSettings } from './agent-settings.ts';
import type { Config } from './schema.ts';

/** One sentence or two for each model that needs attention. `today` is a day as YYYY-MM-DD. */
export function modelNotices(config: Config, today: string): string[] {
  const agents = config.agents.list.map(({ id }) => agentOf(config, id));
  const places = new Map<string, string[]>();
  for (const agent of agents) {
    for (const [place, ref] of listModels(agent)) places.set(ref, [...(places.get(ref) ?? []), place]);
  }
  for (const { name, agentId, payload } of config.cron.jobs) {
    if (!('model' in payload) || payload.model === undefined) continue;
    const agent = agents.find(({ id }) => id === agentId) ?? agents[0];
    const ref = agent === undefined ? null : resolveModelRef(agent, payload.model);
    if (ref !== null) places.set(ref, [...(places.get(ref) ?? []), `the cron "${name}"`]);
  }
  const ends = [...places].flatMap(([ref, named]) => {
    const end = endOfModel(ref, today);
    return end === null ? [] : [`${end} It is the model of ${named.join(', ')}.`];
  });
  return [...ends, ...agents.flatMap(windowNotice)];
}

/** The models that an agent asks, with the place that names each. */
function listModels(agent: AgentSettings): [place: string, ref: string][] {
  const { id, model, fallbacks, compaction, subagents, models } = agent;
  const named: [string, string | undefined][] = [
    [`agent "${id}"`, model],
    ...fallbacks.map((name): [string, string] => [`the fallbacks of agent "${id}"`, name]),
    [`compactions of agent "${id}"`, compaction.model],
    [`subagents of agent "${id}"`, subagents.model],
    ...Object.entries(models).map(([alias, ref]): [string, string] => [`the alias "${alias}" of agent "${id}"`, ref]),
  ];
  return named.flatMap(([place, name]): [string, string][] => {
    const ref = name === undefined ? null : resolveModelRef(agent, name);
    return ref === null ? [] : [[place, ref]];
  });
}

function windowNotice({ id, model: ref, contextTokens }: AgentSettings): string[] {
  const { provider = DEFAULT_PROVIDER, model } = modelOfRef(ref);
  const known = provider === DEFAULT_PROVIDER ? knownModel(model) : undefined;
  if (known === undefined || known.contextTokens >= contextTokens) return [];
  return [
    `contextTokens of agent "${id}" is ${contextTokens}, but ${ref} takes ${known.contextTokens}. Lower it, so that transcripts are compacted in time.`,
  ];
}
