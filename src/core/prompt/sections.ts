// The sections of the system prompt in the order in which the model reads them. The order is interface: a new section is a new
// line here. Sections that change between turns of a session are below the cache boundary.
import { docs, modelAliases } from './sections/product.ts';
import { executionBias, identity, safety, toolCallStyle, tooling } from './sections/conduct.ts';
import { interactionStyle, providerPrefix, providerSuffix } from './sections/contributions.ts';
import {
  changedInstructions,
  extraContext,
  extraContextBelow,
  furtherInstructions,
  groupIntro,
} from './sections/extra-context.ts';
import { memoryRecall, skills } from './sections/knowledge.ts';
import {
  controlUiEmbed,
  messaging,
  reactions,
  reasoningFormat,
  replyTags,
  silentReplies,
  voice,
} from './sections/messaging.ts';
import { dynamicProjectContext, projectContext } from './sections/project-context.ts';
import { heartbeats, runtime } from './sections/runtime.ts';
import { authorizedSenders, currentTime, sandbox, timeHint, workspace, workspaceFiles } from './sections/workspace.ts';
import type { Section } from './system-input.ts';

/** Above the boundary. */
export const STABLE_SECTIONS: readonly Section[] = [
  identity,
  tooling,
  interactionStyle,
  toolCallStyle,
  executionBias,
  providerPrefix,
  safety,
  skills,
  memoryRecall,
  modelAliases,
  timeHint,
  workspace,
  docs,
  sandbox,
  authorizedSenders,
  currentTime,
  workspaceFiles,
  replyTags,
  controlUiEmbed,
  messaging,
  voice,
  extraContext,
  furtherInstructions,
  reactions,
  reasoningFormat,
  projectContext,
  silentReplies,
];

/** Below it. */
export const DYNAMIC_SECTIONS: readonly Section[] = [
  dynamicProjectContext,
  ...extraContextBelow,
  changedInstructions,
  groupIntro,
  providerSuffix,
  heartbeats,
  runtime,
];
