// The sections of the system prompt in the order in which the model reads them. The order is interface: a new section is a new entry of one of
// these lists. Sections that change between turns of a session are below the cache boundary.
import { CONDUCT } from './sections/conduct.ts';
import { providerSuffix } from './sections/contributions.ts';
import { changedInstructions, EXTRA_CONTEXT, EXTRA_CONTEXT_BELOW, groupIntro } from './sections/extra-context.ts';
import { MESSAGING, REPLY_FORM, silentReplies } from './sections/messaging.ts';
import { dynamicProjectContext, projectContext } from './sections/project-context.ts';
import { heartbeats, runtime } from './sections/runtime.ts';
import { SURROUNDINGS } from './sections/surroundings.ts';
import type { Section } from './system-input.ts';

/** Above the boundary. */
export const STABLE_SECTIONS: readonly Section[] = [
  ...CONDUCT,
  ...SURROUNDINGS,
  ...MESSAGING,
  ...EXTRA_CONTEXT,
  ...REPLY_FORM,
  projectContext,
  silentReplies,
];

/** Below it. */
export const DYNAMIC_SECTIONS: readonly Section[] = [
  dynamicProjectContext,
  ...EXTRA_CONTEXT_BELOW,
  changedInstructions,
  groupIntro,
  providerSuffix,
  heartbeats,
  runtime,
];
