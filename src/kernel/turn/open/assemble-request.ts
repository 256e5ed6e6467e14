// Assembles what stays the same through a turn: system prompt, tools, model. Pure: equal inputs
// give equal bytes, so that the provider's prompt cache holds (and a retry sends the same).
import { modelRefOf, type AgentSettings, type Config, type ThinkingLevel } from '../../../config.ts';
import {
  modelNameOf,
  nameCallerTools,
  type CallerNames,
  type CallerRequest,
  type CallerTool,
} from '../../../core/input-options.ts';
import { splitAtBoundary } from '../../../prompt/prompt-parts.ts';
import type {
  PromptMode,
  AttributedContribution,
  GroupActivation,
  SystemPromptInput,
} from '../../../prompt/system-input.ts';
import { modelOfRef, type ModelFacts } from '../../../core/models.ts';
import type { RequestBase, Sampling, SystemBlock, ToolSpec } from '../../../core/model-request.ts';
import {
  systemBlocks,
  joinSections,
  writeSections,
  type SectionSpan,
  type WrittenSection,
} from '../../../prompt/system-prompt.ts';
import type { ResponseFormat } from '../../../core/response-format.ts';
import { given } from '../../../core/json.ts';
import type { ReasoningLevel } from '../../../core/reply.ts';
import { thinkingRequest } from '../../../core/thinking-request.ts';
import { capabilitiesOf, chooseMessageFeatures, chooseReactionMode } from '../../../config/agent-settings.ts';
import { sentSpec, type Toolset } from '../../../tools/toolset.ts';
import { readAgentFacts, MACHINE } from './agent-facts.ts';
import type { ChatFacts, SessionWorkspace } from './session-context.ts';
import { TurnFailed } from '../turn-stop.ts';

/** The inputs of a turn's system prompt. */
export interface SystemChoices {
  config: Config;
  agent: AgentSettings;
  mode: PromptMode;
  toolset: Toolset;
  workspace: SessionWorkspace;
  chat: ChatFacts;
  /** Set in the turn that explains the agent's role in its group. */
  groupIntro: GroupActivation | null;
  /** `provider/model`. */
  model: string;
  thinking: ThinkingLevel;
  reasoning: ReasoningLevel;
  /** The contributions of plugins, after those of the configuration. */
  contributions: readonly AttributedContribution[];
}

/**
 * The last prompt of a chat in a workspace: turns with unchanged inputs share its objects and
 * everything derived from them.
 */
const lastWritten = new WeakMap<
  ChatFacts,
  WeakMap<SessionWorkspace, { choices: SystemChoices; sections: WrittenSection[] }>
>();

/**
 * The sections of a turn's system prompt; the same array as for the turn before when nothing has
 * changed.
 */
export function systemSections(choices: SystemChoices): WrittenSection[] {
  let ofChat = lastWritten.get(choices.chat);
  if (ofChat === undefined) lastWritten.set(choices.chat, (ofChat = new WeakMap()));
  const last = ofChat.get(choices.workspace);
  if (last !== undefined && isSameChoice(last.choices, choices)) return last.sections;
  const sections = buildSections(choices);
  ofChat.set(choices.workspace, { choices, sections });
  return sections;
}

function isSameChoice(one: SystemChoices, other: SystemChoices): boolean {
  const { contributions, ...rest } = one;
  return (
    Object.entries(rest).every(([name, value]) => other[name as keyof SystemChoices] === value) &&
    contributions.length === other.contributions.length &&
    contributions.every((contribution, at) => contribution === other.contributions[at])
  );
}

/** The sections of the configured prompt if there is one, otherwise Holdfast's. */
function buildSections(choices: SystemChoices): WrittenSection[] {
  const { systemPromptOverride } = choices.agent;
  if (systemPromptOverride === undefined) return writeSections(buildSystemInput(choices));
  const { stable, dynamic } = splitAtBoundary(systemPromptOverride);
  const section = { name: 'system-prompt-override', origin: 'configuration' } as const;
  return [
    { ...section, isStable: true, text: stable },
    { ...section, isStable: false, text: dynamic },
  ].filter(({ text }) => text !== '');
}

/**
 * The unchanging part of a turn's requests, the positions of the sections of its system prompt, and
 * the names of a client's tools.
 */
export function assembleRequest(
  sections: readonly WrittenSection[],
  {
    model,
    thinking,
    reasoning,
    toolset,
    channel,
    caller,
    facts,
    format,
  }: Pick<SystemChoices, 'model' | 'thinking' | 'reasoning' | 'toolset'> & {
    /** What is known of the model; null: nothing. */
    facts: ModelFacts | null;
    channel: string | undefined;
    caller: CallerRequest | null;
    format: ResponseFormat | undefined;
  },
): { request: RequestBase; spans: SectionSpan[]; callerNames: CallerNames | undefined } {
  const { system, spans } = join(sections);
  const named = modelOfRef(model);
  const { tools = [], maxTokens } = caller ?? {};
  const own = toolset.specsOn(channel);
  const callerNames = nameCallerTools(
    tools,
    own.map(({ name }) => name),
  );
  const limits = maxTokens === undefined ? {} : { answerTokensMax: maxTokens };
  const request: RequestBase = {
    ...named,
    ...thinkingRequest({ ...named, level: thinking, isShown: reasoning !== 'off', facts, ...limits }),
    system,
    // After the agent's own: those begin the provider's cache.
    tools: tools.length === 0 ? own : [...own, ...tools.map((tool) => callerSpec(tool, callerNames))],
    ...given({ sampling: callerSampling(caller, callerNames), responseFormat: format }),
  };
  return { request, spans, callerNames: tools.length === 0 ? undefined : callerNames };
}

function callerSpec(tool: CallerTool, names: CallerNames): ToolSpec {
  const { description, input_schema } = tool;
  return sentSpec({ name: modelNameOf(tool.name, names), description, input_schema });
}

function callerSampling(caller: CallerRequest | null, names: CallerNames): Sampling | undefined {
  const choice = caller?.sampling?.tool_choice;
  if (choice?.type !== 'tool' || caller?.isOwnToolForced === true) return caller?.sampling;
  return { ...caller?.sampling, tool_choice: { type: 'tool', name: modelNameOf(choice.name, names) } };
}

interface JoinedSystem {
  system: SystemBlock[];
  spans: SectionSpan[];
}

const joined = new WeakMap<readonly WrittenSection[], JoinedSystem>();

function join(sections: readonly WrittenSection[]): JoinedSystem {
  const known = joined.get(sections);
  if (known !== undefined) return known;
  const { prompt, spans } = joinSections(sections);
  const made = { system: systemBlocks(prompt), spans };
  joined.set(sections, made);
  return made;
}

/**
 * The model of a turn as `provider/model`, from a name or an alias. Throws `TurnFailed` for one
 * that cannot be used: `providers` are those that are served.
 */
export function modelFor(agent: AgentSettings, wanted: string, providers: readonly string[]): string {
  const ref = modelRefOf(agent, wanted);
  if (ref !== null && providers.some((provider) => ref.startsWith(`${provider}/`))) return ref;
  const known = providers.map((provider) => `${provider}/<model>`).join(', ');
  throw new TurnFailed(
    'unknown_model',
    `There is no model "${wanted}": use ${known} or an alias of agents.defaults.models.`,
  );
}

function buildSystemInput(choices: SystemChoices): SystemPromptInput {
  const { config, agent, mode, toolset, workspace, chat, groupIntro, model, thinking, reasoning } = choices;
  const facts = readAgentFacts(config, agent);
  return {
    ...facts,
    ...chat,
    ...buildChannelFacts(config, chat.channel),
    mode,
    tools: toolset.tools.map((tool) => ({ name: tool.spec.name, summary: tool.summary })),
    files: workspace.files,
    skillsPrompt: workspace.skills,
    model,
    thinking,
    reasoning,
    runtime: workspace.repo === null ? MACHINE : { ...MACHINE, repo: workspace.repo },
    contributions: [...(facts.contributions ?? []), ...choices.contributions],
    ...(groupIntro === null ? {} : { groupIntro }),
  };
}

/** The configured facts of the channel of a chat. */
function buildChannelFacts(
  config: Config,
  channel: string | undefined,
): Pick<SystemPromptInput, 'capabilities' | 'messageHints' | 'messageFeatures' | 'reactions'> {
  if (channel === undefined) return {};
  const { messageHints = [] } = config.channels.platforms[channel] ?? {};
  const capabilities = capabilitiesOf(config, channel);
  const mode = chooseReactionMode(config, channel);
  const messageFeatures = chooseMessageFeatures(config, channel);
  return { capabilities, messageHints, messageFeatures, ...(mode === 'off' ? {} : { reactions: { channel, mode } }) };
}
