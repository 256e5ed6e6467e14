// What a provider or a plugin contributes to the prompt. It may put a text at two fixed places and
// replace three sections; it cannot change anything else of the prompt, and never the safety
// section.
import type {
  AttributedContribution,
  OverridableSection,
  Section,
  SectionOrigin,
  SystemPromptInput,
} from '../system-input.ts';

export const interactionStyle: Section = {
  name: 'interaction-style',
  origin: (input) => findOverride(input, 'interaction_style')?.origin ?? 'configuration',
  lines: (input) => [findOverride(input, 'interaction_style')?.text ?? null],
};

export const providerPrefix: Section = {
  name: 'provider-prefix',
  origin: (input) => chooseOrigin(input, 'stablePrefix'),
  lines: (input) => listTexts(input, 'stablePrefix'),
};

export const providerSuffix: Section = {
  name: 'provider-suffix',
  origin: (input) => chooseOrigin(input, 'dynamicSuffix'),
  lines: (input) => listTexts(input, 'dynamicSuffix'),
};

/** A section that a contribution may say in its own words, heading included. */
export function overridable(section: Section, name: OverridableSection): Section {
  return {
    ...section,
    origin: (input) => findOverride(input, name)?.origin ?? 'holdfast',
    lines: (input) => {
      const override = findOverride(input, name);
      return override === null ? section.lines(input) : [override.text];
    },
  };
}

/** The first override of a section that says anything. */
function findOverride(
  input: SystemPromptInput,
  name: OverridableSection,
): { text: string; origin: SectionOrigin } | null {
  for (const { sectionOverrides, origin } of input.contributions ?? []) {
    const text = normalised(sectionOverrides?.[name]);
    if (text !== '') return { text, origin };
  }
  return null;
}

type Place = 'stablePrefix' | 'dynamicSuffix';

function listTexts(input: SystemPromptInput, place: Place): string[] {
  return listSpeakers(input, place).map((contributed) => normalised(contributed[place]));
}

// If several contribute at one place, the first names the section.
function chooseOrigin(input: SystemPromptInput, place: Place): SectionOrigin {
  return listSpeakers(input, place)[0]?.origin ?? 'configuration';
}

function listSpeakers({ contributions = [] }: SystemPromptInput, place: Place): AttributedContribution[] {
  return contributions.filter((contributed) => normalised(contributed[place]) !== '');
}

/** One form for texts that people typed: `\n`, no blanks at the ends of lines, nothing around. */
function normalised(text: string | undefined): string {
  return (text ?? '')
    .replace(/\r\n?/g, '\n')
    .replace(/(?<![^\S\n])[^\S\n]+$/gm, '')
    .trim();
}
