// Assembles a turn: from the claim to everything that its opening commits. A pipeline of named steps, read once from top to
// bottom. Effects happen here at the edges (files, hooks, images); their results are passed to pure functions. A prompt that
// cannot be assembled must still be answered: the turn is then opened with the bare texts and ends with the reason.
import type { RequestBase } from '../../../core/model-request.ts';
import { isDeepStrictEqual } from 'node:util';
import { factsOfModel, type Config, type ThinkingLevel } from '../../../config.ts';
import { readAnnouncement, announcementText } from '../../../core/announcement.ts';
import { findCaller } from '../../../core/caller-request.ts';
import { optionsOfInputs } from '../../../core/input-options.ts';
import { channelOf, isDirect, type InboundMessage } from '../../../core/inbound.ts';
import { changeParts, changeSections, type PromptChanges } from '../../../prompt/prompt-changes.ts';
import { choosePromptMode, type PromptMode, type GroupActivation } from '../../../prompt/system-input.ts';
import { joinParts, type CleanBody, type PartSpan } from '../../../prompt/prompt-parts.ts';
import type { WrittenSection } from '../../../prompt/system-prompt.ts';
import type { UserPrompt } from '../../../prompt/user-prompt.ts';
import { toReasoning, type ReasoningLevel } from '../../../core/reasoning-tags.ts';
import { roleAt } from '../../../core/subagent-spawn.ts';
import type { SessionView, TurnRequestSettings } from '../../../core/view.ts';
import { isPassingFault } from '../../../database/database.ts';
import type { Toolset } from '../../../tools/toolset.ts';
import { assembleRequest, modelFor, systemSections } from './assemble-request.ts';
import { bootstrapNotes, type Notes } from './bootstrap-notes.ts';
import type { TurnContext } from '../context.ts';
import { readSessionContext, type SessionContext } from './session-context.ts';
import { takeSnapshot, type Snapshot } from '../snapshot-cache.ts';
import { TurnFailed } from '../turn-stop.ts';
import { changesOfPlugins, toTurnFacts } from './turn-hooks.ts';
import { imagesOfTurn, type TurnImages } from './turn-images.ts';
import { toPromptFacts, type PromptFacts, type TurnMaterial } from './turn-material.ts';
import { writePrompt } from './write-prompt.ts';
import { given } from '../../../core/given.ts';

/** What the opening of a turn commits. */
export interface Assembly {
  prompt: {
    text: string;
    thinking: ThinkingLevel | null;
    /** The parts of the text with their positions; null when the prompt could not be assembled. */
    parts: readonly (PartSpan | CleanBody)[] | null;
  };
  request: RequestBase;
  view: TurnRequestSettings;
  /** The session's view when the turn changes it, else null. */
  sessionView: SessionView | null;
  /** The tools of the request; null when it could not be assembled. */
  toolset: Toolset | null;
  /** Everything that the view and the request name by its hash. */
  snapshots: Snapshot[];
  /** Set when the turn cannot be run: it ends with this. */
  failure: TurnFailed | null;
}

/** Assembles a turn. Throws only for faults that pass (`isPassingFault`); everything else is in `failure`. */
export async function assembleTurn(context: TurnContext, material: TurnMaterial): Promise<Assembly> {
  try {
    return await assemble(context, material);
  } catch (error) {
    if (isPassingFault(error)) throw error;
    return failed(context, material, error);
  }
}

async function assemble(context: TurnContext, material: TurnMaterial): Promise<Assembly> {
  const { config } = context;
  const { agent, claim } = material;
  checkAgent(material);
  const facts = toPromptFacts(material);
  const mode = choosePromptMode(facts.sessionKind, agent.promptMode);
  const toolset = await context.toolsetOf(agent, roleAt(claim.session.depth, agent.subagents.maxSpawnDepth));

  const session = await readSessionContext(context, {
    agent,
    mode,
    view: facts.view,
    message: facts.message,
    isPoll: facts.kind === 'heartbeat',
    changeFiles: (files) => context.plugins.changeBootstrapFiles(files, toTurnFacts(material)),
  });
  const workspace = session.workspace.value;
  const prompt = await writePrompt(context, material, facts, toolset);
  const system = writeSystem(context, material, { facts, mode, toolset, session, thinking: prompt.thinking });
  const notes = await bootstrapNotes({
    config,
    agent,
    toolset,
    workspace,
    kind: facts.kind,
    sessionKind: facts.sessionKind,
    warned: facts.view.budgetWarnings ?? [],
  });
  const changes = await changesOfPlugins(context, material, prompt.parts);
  const images = await imagesOfTurn(context, {
    parts: changeParts(prompt.parts, changes),
    messages: facts.messages,
    workspaceDir: agent.workspaceDir,
    model: system.model,
    promptSeq: claim.session.entrySeq + 1,
    before: facts.view.images,
  });
  return closeAssembly(context, { material, facts, session, prompt, system, notes, changes, images });
}

interface WrittenSystem {
  sections: WrittenSection[];
  /** `provider/model`. */
  model: string;
  thinking: ThinkingLevel;
  reasoning: ReasoningLevel;
  toolset: Toolset;
  groupIntro: GroupActivation | null;
}

/** The system prompt before plugins change it, and the model that it is for. Throws `TurnFailed` for one that cannot be used. */
function writeSystem(
  { config, plugins, model: port }: TurnContext,
  { agent, claim }: TurnMaterial,
  written: {
    facts: PromptFacts;
    mode: PromptMode;
    toolset: Toolset;
    session: SessionContext;
    thinking: ThinkingLevel | null;
  },
): WrittenSystem {
  const { facts, mode, toolset, session } = written;
  const model = modelFor(agent, facts.messages.at(-1)?.model ?? claim.session.model ?? agent.model, port.providers);
  const thinking = written.thinking ?? agent.thinking;
  const reasoning = toReasoning(claim.session.reasoning);
  const groupIntro = chooseGroupIntro(config, facts.message, facts.view);
  const sections = systemSections({
    config,
    agent,
    mode,
    toolset,
    workspace: session.workspace.value,
    chat: session.chat.value,
    groupIntro,
    model,
    thinking,
    reasoning,
    contributions: plugins.contributionsFor(model.slice(0, model.indexOf('/'))),
  });
  return { sections, model, thinking, reasoning, toolset, groupIntro };
}

/** Combines the results of the steps. */
function closeAssembly(
  context: TurnContext,
  drafts: {
    material: TurnMaterial;
    facts: PromptFacts;
    session: SessionContext;
    prompt: UserPrompt;
    system: WrittenSystem;
    notes: Notes;
    changes: PromptChanges;
    images: TurnImages;
  },
): Assembly {
  const { material, facts, session, prompt, system, notes, changes, images } = drafts;
  const injected =
    changes.injectMessages.length === 0 ? null : context.snapshotCache.keep(changes.injectMessages).snapshot;
  const { text, spans } = joinParts([...notes.parts, ...images.parts]);
  const { responseFormat } = optionsOfInputs(material.inputs);
  const format = responseFormat === undefined ? undefined : context.snapshotCache.keep(responseFormat);
  const {
    request,
    spans: sectionSpans,
    callerNames,
  } = assembleRequest(changeSections(system.sections, changes), {
    ...system,
    channel: session.chat.value.channel,
    caller: findCaller(material.inputs),
    facts: factsOfModel(context.config, system.model),
    format: format?.value,
  });
  const sectionsSnapshot = takeSnapshot(sectionSpans);
  const sessionView: SessionView = {
    ...facts.view,
    workspaceSha256: session.workspace.snapshot.sha256,
    chatSha256: session.chat.snapshot.sha256,
    ...given({
      groupIntroduced: system.groupIntro ?? undefined,
      budgetWarnings: notes.warned.length === 0 ? undefined : [...notes.warned],
      images: images.session,
    }),
  };
  return {
    prompt: { text, thinking: prompt.thinking, parts: [...spans, { name: 'clean-body', text: prompt.cleanBody }] },
    request,
    toolset: system.toolset,
    view: {
      sectionsSha256: sectionsSnapshot.sha256,
      workspaceSha256: session.workspace.snapshot.sha256,
      chatSha256: session.chat.snapshot.sha256,
      ...given({
        injectedSha256: injected?.sha256,
        images: images.turn,
        formatSha256: format?.snapshot.sha256,
        callerNames,
      }),
    },
    sessionView: isDeepStrictEqual(sessionView, material.claim.session.view) ? null : sessionView,
    snapshots: [
      takeSnapshot(request.system),
      takeSnapshot(request.tools),
      sectionsSnapshot,
      session.workspace.snapshot,
      session.chat.snapshot,
      ...images.snapshots,
      ...(injected === null ? [] : [injected]),
      ...(format === undefined ? [] : [format.snapshot]),
    ],
    failure: null,
  };
}

function checkAgent({ agent, claim }: TurnMaterial): void {
  if (agent.id === claim.session.agentId) return;
  throw new TurnFailed('unknown_agent', `The configuration has no agent "${claim.session.agentId}".`);
}

/** The role to explain in this turn: the agent's in a group, as long as the transcript does not contain it. */
function chooseGroupIntro(config: Config, message: InboundMessage | null, view: SessionView): GroupActivation | null {
  if (message === null || isDirect(message)) return null;
  const { accounts = {}, ...ofChannel } = config.channels.platforms[channelOf(message)] ?? {};
  const isGivenAll = accounts[message.accountId ?? '']?.requireMention === false;
  const groupActivation = ofChannel.groupActivation ?? (isGivenAll ? 'always' : 'mention');
  const activation = groupActivation === 'always' ? 'always-on' : 'trigger-only';
  return view.groupIntroduced === activation ? null : activation;
}

function failed(context: TurnContext, { claim, inputs, agent }: TurnMaterial, error: unknown): Assembly {
  context.logger.error({ err: error, sessionKey: claim.session.key }, 'Prompt could not be assembled');
  const request: RequestBase = { model: agent.model, maxTokens: 1, system: [], tools: [] };
  const texts = inputs.map(({ body }) => {
    const announcement = readAnnouncement(body);
    return announcement === null ? String((body as InboundMessage).text) : announcementText(announcement);
  });
  return {
    prompt: { text: texts.join('\n\n') || '(no text)', thinking: null, parts: null },
    request,
    toolset: null,
    view: {},
    sessionView: null,
    snapshots: [takeSnapshot(request.system), takeSnapshot(request.tools)],
    failure: error instanceof TurnFailed ? error : new TurnFailed('internal_error', String(error), error),
  };
}
