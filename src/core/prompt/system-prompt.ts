// The system prompt: the sections in their order, empty lines dropped, joined by one line break. Equal inputs give equal bytes.
import type { SystemPrompt } from './cache-boundary.ts';
import { DYNAMIC_SECTIONS, STABLE_SECTIONS } from './sections.ts';
import type { Section, SectionOrigin, SystemPromptInput } from './system-input.ts';

/** A section as it was written, for looking at. */
export interface WrittenSection {
  name: string;
  origin: SectionOrigin;
  isStable: boolean;
  text: string;
}

/** What stands above the cache boundary and what below it. */
export function buildSystemPrompt(input: SystemPromptInput): SystemPrompt {
  return {
    stable: join(write(STABLE_SECTIONS, input)).trimEnd(),
    dynamic: join(write(DYNAMIC_SECTIONS, input)).trimStart(),
  };
}

/** The same, section by section with its origin; sections with nothing to say are left out. */
export function writeSections(input: SystemPromptInput): WrittenSection[] {
  const label = (isStable: boolean) => (written: Omit<WrittenSection, 'isStable'>) => ({ ...written, isStable });
  return [...write(STABLE_SECTIONS, input).map(label(true)), ...write(DYNAMIC_SECTIONS, input).map(label(false))];
}

function write(sections: readonly Section[], input: SystemPromptInput): Omit<WrittenSection, 'isStable'>[] {
  return sections
    .filter(({ modes }) => modes.includes(input.mode))
    .map(({ name, origin, lines }) => ({
      name,
      origin,
      text: lines(input)
        .filter((line) => line !== null && line !== '')
        .join('\n'),
    }))
    .filter(({ text }) => text !== '');
}

function join(sections: readonly { text: string }[]): string {
  return sections.map(({ text }) => text).join('\n');
}
