// What the prompt hooks of plugins return, checked, and how the results of many become one. Results are given here in the order in
// which their handlers ran: `before_prompt_build` before `before_agent_start`, in each the higher priority first.
import { loosen, splitAtBoundary, withoutBoundary, type PromptPart } from './prompt-parts.ts';
import type { WrittenSection } from './system-prompt.ts';
import { readInjectedMessages, type InjectedMessage } from './injected-messages.ts';
import { readObject, readText } from './read-contributions.ts';

/** A text with the plugin that says it. */
export interface PluginText {
  plugin: string;
  text: string;
}

/** What one handler, or all of them together, change of a turn. */
export interface PromptChanges {
  /** Before the user prompt. */
  prependContext: readonly PluginText[];
  /** In place of the system prompt. */
  systemPrompt: PluginText | null;
  /** Before the system prompt, and after it. */
  prependSystemContext: readonly PluginText[];
  appendSystemContext: readonly PluginText[];
  /** Before the history. */
  injectMessages: readonly InjectedMessage[];
}

export const NO_CHANGES: PromptChanges = {
  prependContext: [],
  systemPrompt: null,
  prependSystemContext: [],
  appendSystemContext: [],
  injectMessages: [],
};

/**
 * What a handler returned; nothing at all changes nothing. `unknownFields` are those that mean nothing here. Throws `PluginValueError` with
 * the path of the fault.
 */
export function readPromptChanges(plugin: string, value: unknown): { changes: PromptChanges; unknownFields: string[] } {
  if (value === undefined || value === null) return { changes: NO_CHANGES, unknownFields: [] };
  const result = readObject(value, '');
  const textsAt = (field: keyof PromptChanges): PluginText[] => {
    const text = readText(result[field], field);
    return text === null ? [] : [{ plugin, text }];
  };
  return {
    changes: {
      prependContext: textsAt('prependContext'),
      systemPrompt: textsAt('systemPrompt')[0] ?? null,
      prependSystemContext: textsAt('prependSystemContext'),
      appendSystemContext: textsAt('appendSystemContext'),
      injectMessages: readInjectedMessages(plugin, result['injectMessages']),
    },
    unknownFields: Object.keys(result).filter((field) => !Object.hasOwn(NO_CHANGES, field)),
  };
}

/** All results as one: texts and messages follow each other in the order of the results, and the first system prompt is kept. */
export function mergeChanges(results: readonly PromptChanges[]): PromptChanges {
  return {
    prependContext: results.flatMap(({ prependContext }) => prependContext),
    systemPrompt: results.find(({ systemPrompt }) => systemPrompt !== null)?.systemPrompt ?? null,
    prependSystemContext: results.flatMap(({ prependSystemContext }) => prependSystemContext),
    appendSystemContext: results.flatMap(({ appendSystemContext }) => appendSystemContext),
    injectMessages: results.flatMap(({ injectMessages }) => injectMessages),
  };
}

/** The parts of a user prompt with the text of plugins before it, a blank line between each. */
export function changeParts(parts: readonly PromptPart[], { prependContext }: PromptChanges): PromptPart[] {
  const said = prependContext.map(({ plugin, text }): PromptPart => ({
    name: 'plugin-context',
    origin: `plugin:${plugin}`,
    trust: 'trusted',
    text,
  }));
  return said.length === 0 ? [...parts] : [...said, ...loosen(parts)];
}

/**
 * The sections of a system prompt with the changes of plugins: first the replacement (which may hold a cache boundary of its own), then
 * the text before it, above the boundary, and after it, below the boundary; a blank line between each.
 */
export function changeSections(sections: readonly WrittenSection[], changes: PromptChanges): readonly WrittenSection[] {
  const { systemPrompt, prependSystemContext, appendSystemContext } = changes;
  if (systemPrompt === null && prependSystemContext.length + appendSystemContext.length === 0) return sections;
  return [
    ...prependSystemContext.flatMap((said) => buildSection('plugin-system-prefix', said, true)),
    ...(systemPrompt === null ? sections : replacedBy(systemPrompt)),
    ...appendSystemContext.flatMap((said) => buildSection('plugin-system-suffix', said, false)),
  ];
}

function replacedBy({ plugin, text }: PluginText): WrittenSection[] {
  const { stable, dynamic } = splitAtBoundary(text);
  return [
    ...buildSection('plugin-system-prompt', { plugin, text: stable }, true),
    ...buildSection('plugin-system-prompt', { plugin, text: dynamic }, false),
  ];
}

function buildSection(name: string, { plugin, text }: PluginText, isStable: boolean): WrittenSection[] {
  const own = withoutBoundary(text).trimEnd();
  return own.trim() === '' ? [] : [{ name, origin: `plugin:${plugin}`, isStable, text: own, isLoose: true }];
}
