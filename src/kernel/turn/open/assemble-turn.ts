// Assembles a turn: from the claim to everything that its opening commits. A pipeline of named
// steps, read once from top to bottom. Effects happen here at the edges (files, hooks, images);
// their results are passed to pure functions. A prompt that cannot be assembled must still be
// answered: the turn is then opened with the bare texts and ends with the reason.
import type { RequestBase } from '../../../core/model-request.ts';
import { isDeepStrictEqual } from 'node:util';
import { factsOfModel, type Config, type ThinkingLevel } from '../../../config.ts';
import { readAnnouncement, announcementText, roleAt } from '../../../core/subagents.ts';
import { findCaller, optionsOfInputs } from '../../../core/input-options.ts';
import { channelOf, isDirect, type InboundMessage, type Media } from '../../../core/inbound.ts';
import { joinParts, ownPart, type PromptPart } from '../../../prompt/prompt-parts.ts';
import { changeParts, changeSections, type PromptChanges } from '../../../prompt/read-contributions.ts';
import { choosePromptMode, type PromptMode, type GroupActivation } from '../../../prompt/system-input.ts';
import type { WrittenSection } from '../../../prompt/system-prompt.ts';
import type { UserPrompt } from '../../../prompt/user-prompt.ts';
import { toReasoning, type ReasoningLevel } from '../../../core/reply.ts';
import type { SessionView, EntryImages, SessionImages } from '../../../core/view.ts';
import { isPassingFault } from '../../../database/passing-faults.ts';
import type { Toolset } from '../../../tools/toolset.ts';
import { assembleRequest, modelFor, systemSections } from './assemble-request.ts';
import { bootstrapNotes, type Notes, readSessionContext, type SessionContext } from './session-context.ts';
import type { TurnContext } from '../context.ts';
import { takeSnapshot, type Snapshot } from '../transcript-cache.ts';
import { TurnFailed } from '../turn-stop.ts';
import { changesOfPlugins, toTurnFacts, toPromptFacts, type PromptFacts, type TurnMaterial } from './turn-hooks.ts';
import { writePrompt } from './write-prompt.ts';
import { given } from '../../../core/json.ts';
import {
  acceptsImages,
  planImages,
  findImageRefs,
  imageNotes,
  isImagePath,
} from '../../../images/rules/plan-images.ts';
import { assembleGiven } from './assemble-given.ts';
import type { Assembly } from './assembly.ts';
import type { LoadedImages } from '../../../images/load-images.ts';

/**
 * Assembles a turn. Throws only for faults that pass (`isPassingFault`); everything else is in
 * `failure`.
 */
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
  for (const { request } of context.features) {
    const given = await request?.(material.inputs, agent);
    if (given) return assembleGiven(context, given);
  }
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

/**
 * The system prompt before plugins change it, and the model that it is for. Throws `TurnFailed` for
 * one that cannot be used.
 */
function writeSystem(
  { config, plugins, models }: TurnContext,
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
  const model = modelFor(
    agent,
    facts.messages.at(-1)?.model ?? claim.session.model ?? agent.model,
    models.client.providers,
  );
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
    changes.injectMessages.length === 0 ? null : context.store.snapshotCache.keep(changes.injectMessages).snapshot;
  const { text, spans } = joinParts([...notes.parts, ...images.parts]);
  const { responseFormat } = optionsOfInputs(material.inputs);
  const format = responseFormat === undefined ? undefined : context.store.snapshotCache.keep(responseFormat);
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

/**
 * The role to explain in this turn: the agent's in a group, as long as the transcript does not
 * contain it.
 */
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

// The images of a turn: those that its prompt names and its messages bring, loaded once and kept as
// snapshots, and those of earlier prompts that its requests still show.

export interface TurnImagesInput {
  /** The user prompt so far. */
  parts: readonly PromptPart[];
  /** The inputs that the turn answers. */
  messages: readonly InboundMessage[];
  workspaceDir: string;
  /** `provider/model`. */
  model: string;
  /** The number that the prompt's entry will have. */
  promptSeq: number;
  /** The images of earlier prompts that the session's view lists. */
  before: readonly SessionImages[] | undefined;
}

export interface TurnImages {
  /** The user prompt, with notes on images that are not shown. */
  parts: PromptPart[];
  /** For the views of turn and session; undefined: nothing. */
  turn: EntryImages[] | undefined;
  session: SessionImages[] | undefined;
  snapshots: Snapshot[];
}

/** Loads the images of a turn that is about to be opened. */
export async function imagesOfTurn(context: TurnContext, input: TurnImagesInput): Promise<TurnImages> {
  const mayShow = acceptsImages(input.model, context.config.images.textOnlyModels);
  const { blocks, missing } = await loadWanted(context, input, mayShow);
  const kept = blocks.map((block) => ({ block, snapshot: context.store.snapshotCache.keep(block).snapshot }));
  const { turn, session } = planImages({
    before: input.before,
    prompt: {
      seq: input.promptSeq,
      images: kept.map(({ block, snapshot }) => ({ sha256: snapshot.sha256, chars: block.source.data.length })),
    },
    acceptsImages: mayShow,
  });
  return {
    parts: withNotes(input.parts, imageNotes(missing)),
    turn,
    session,
    snapshots: kept.map(({ snapshot }) => snapshot),
  };
}

async function loadWanted(context: TurnContext, input: TurnImagesInput, mayShow: boolean): Promise<LoadedImages> {
  const wanted = wantedPaths(input);
  const sent = input.messages.flatMap(({ caller }) => caller?.images ?? []);
  if (wanted.length + sent.length === 0) return { blocks: [], missing: [] };
  if (mayShow) {
    const fitted = await context.images.fit(sent);
    const { blocks, missing } = await context.images.load(wanted, input.workspaceDir);
    return { blocks: [...fitted.blocks, ...blocks], missing: [...fitted.missing, ...missing] };
  }
  const names = [...sent.map((_, at) => `image ${at + 1} of the message`), ...wanted];
  return { blocks: [], missing: names.map((path) => ({ path, reason: 'the model takes no images' })) };
}

/** First the images of the messages, then those that the prompt names. */
function wantedPaths({ messages, parts }: TurnImagesInput): string[] {
  const attached = messages.flatMap(({ media = [] }) => media.flatMap(listImagePaths));
  return [...new Set([...attached, ...findImageRefs(joinParts(parts).text)])];
}

function listImagePaths({ path, type }: Media): string[] {
  if (path === undefined || /^[a-z][a-z0-9+.-]*:\/\//i.test(path)) return [];
  return type?.toLowerCase().startsWith('image/') === true || isImagePath(path) ? [path] : [];
}

// Under the note of the attachments when there is one such note, else at the end: before an
// untrusted body, a note could be taken for a part of it.
function withNotes(parts: readonly PromptPart[], notes: readonly string[]): PromptPart[] {
  if (notes.length === 0) return [...parts];
  // The paths in them came from outside.
  const note: PromptPart = { ...ownPart('image-notes', notes.join('\n')), trust: 'untrusted' };
  const mediaNotes = parts.filter(({ name }) => name === 'media-note').length;
  const lastOfNote = parts.findLastIndex(({ name }) => name === 'media-note' || name === 'media-hint');
  const at = mediaNotes === 1 ? lastOfNote + 1 : parts.length;
  return parts.toSpliced(at, 0, note);
}
