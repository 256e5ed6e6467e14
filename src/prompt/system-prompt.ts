// The system prompt: the sections in their order, empty lines dropped, joined by one line break.
// Equal inputs give equal bytes. The order is interface: a new section is a new entry of a list.
// Sections that change between turns are below the cache boundary. It stays a list of sections,
// each with its origin, until all contributions are added.
import type { SystemBlock } from '../core/model-request.ts';
import { withoutBoundary, type SystemPrompt, type Trust } from './prompt-parts.ts';
import { CONDUCT } from './sections/conduct.ts';
import { providerSuffix } from './sections/contributions.ts';
import { changedInstructions, EXTRA_CONTEXT, EXTRA_CONTEXT_BELOW, groupIntro } from './sections/extra-context.ts';
import { MESSAGING, REPLY_FORM, silentReplies } from './sections/messaging.ts';
import { dynamicProjectContext, projectContext } from './sections/project-context.ts';
import { heartbeats, runtime } from './sections/runtime.ts';
import { SURROUNDINGS } from './sections/surroundings.ts';
import { FULL_AND_MINIMAL, type Section, type SectionOrigin, type SystemPromptInput } from './system-input.ts';

export interface WrittenSection {
  name: string;
  origin: SectionOrigin;
  /** True above the cache boundary. */
  isStable: boolean;
  /** Not empty. */
  text: string;
  /** True when a blank line separates it from its neighbours. */
  isLoose?: boolean;
}

/**
 * The position of a section in its block, the stable or the other: `[start, end)` in UTF-16 units.
 */
export interface SectionSpan {
  name: string;
  origin: SectionOrigin;
  /** Untrusted text is never part of the system's role. */
  trust: Trust;
  isStable: boolean;
  start: number;
  end: number;
}

/** The sections that have something to say, in their order. */
export function writeSections(input: SystemPromptInput): WrittenSection[] {
  return [
    ...STABLE_SECTIONS.flatMap((section) => write(section, input, true)),
    ...DYNAMIC_SECTIONS.flatMap((section) => write(section, input, false)),
  ];
}

/** The text of sections, above and below the cache boundary, and the position of each. */
export function joinSections(sections: readonly WrittenSection[]): { prompt: SystemPrompt; spans: SectionSpan[] } {
  const stable = joinHalf(sections.filter(({ isStable }) => isStable));
  const dynamic = joinHalf(sections.filter(({ isStable }) => !isStable));
  return { prompt: { stable: stable.text, dynamic: dynamic.text }, spans: [...stable.spans, ...dynamic.spans] };
}

// A boundary marker in a contributed text is removed: it must neither move the boundary nor be
// sent.
function write(section: Section, input: SystemPromptInput, isStable: boolean): WrittenSection[] {
  const { name, modes = FULL_AND_MINIMAL, origin = 'holdfast', lines } = section;
  if (!modes.includes(input.mode)) return [];
  const text = withoutBoundary(
    lines(input)
      .filter((line) => line !== null && line !== '')
      .join('\n'),
  ).trimEnd();
  if (text === '') return [];
  return [{ name, origin: typeof origin === 'function' ? origin(input) : origin, isStable, text }];
}

function joinHalf(sections: readonly WrittenSection[]): { text: string; spans: SectionSpan[] } {
  let text = '';
  const spans = sections.map(({ name, origin, isStable, text: own, isLoose }, index): SectionSpan => {
    if (index > 0) text += isLoose === true || sections[index - 1]?.isLoose === true ? '\n\n' : '\n';
    const start = text.length;
    text += own;
    return { name, origin, trust: 'trusted', isStable, start, end: text.length };
  });
  return { text, spans };
}

/**
 * Two blocks: the stable one, kept in the provider's cache, and the changing one. An empty one is
 * left out.
 */
export function systemBlocks({ stable, dynamic }: SystemPrompt): SystemBlock[] {
  const blocks: SystemBlock[] = [
    { type: 'text', text: stable, cache_control: { type: 'ephemeral' } },
    { type: 'text', text: dynamic },
  ];
  return blocks.filter(({ text }) => text !== '');
}

/** Above the boundary. */
const STABLE_SECTIONS: readonly Section[] = [
  ...CONDUCT,
  ...SURROUNDINGS,
  ...MESSAGING,
  ...EXTRA_CONTEXT,
  ...REPLY_FORM,
  projectContext,
  silentReplies,
];

/** Below it. */
const DYNAMIC_SECTIONS: readonly Section[] = [
  dynamicProjectContext,
  ...EXTRA_CONTEXT_BELOW,
  changedInstructions,
  groupIntro,
  providerSuffix,
  heartbeats,
  runtime,
];
