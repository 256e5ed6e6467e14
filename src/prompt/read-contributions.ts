// What plugins contribute to prompts, made valid for a prompt and for the database: bounded,
// without NUL characters and lone surrogates.
import { loosen, withoutBoundary, type PromptPart, splitAtBoundary } from './prompt-parts.ts';
import { storableText, storableValue } from '../core/text.ts';
import type { OverridableSection, PromptContribution, WorkspaceFile } from './system-input.ts';
import {
  REPLACED_CHARS_MAX,
  REPLACEMENTS_MAX,
  type Replacement,
  type TextTransforms,
} from '../model/stream/replace-text.ts';
import type { WrittenSection } from './system-prompt.ts';
import type { ContentBlock, ImageBlock, TextBlock } from '../core/content.ts';
import type { ModelMessage } from '../core/model-request.ts';

/** The most of one text, in UTF-16 units: about half of a large context window. */
const TEXT_CHARS_MAX = 400_000;

/**
 * Something that a plugin returned or registered cannot be used. `path` says where in it,
 * `injectMessages[2].role`.
 */
export class PluginValueError extends Error {
  readonly code = 'bad_plugin_value';
  readonly path: string;

  constructor(path: string, fault: string) {
    super(path === '' ? fault : `${path}: ${fault}`);
    this.name = 'PluginValueError';
    this.path = path;
  }
}

/**
 * The text at `path`; null when it is absent or blank. Throws `PluginValueError` for anything else.
 */
export function readText(value: unknown, path: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw new PluginValueError(path, `must be a text, not ${kindOf(value)}`);
  if (value.length > TEXT_CHARS_MAX) {
    throw new PluginValueError(path, `has ${value.length} characters, more than the ${TEXT_CHARS_MAX} allowed`);
  }
  const text = storableText(value);
  return text.trim() === '' ? null : text;
}

/** The value at `path` as an object with any fields. Throws `PluginValueError`. */
export function readObject(value: unknown, path: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new PluginValueError(path, `must be an object, not ${kindOf(value)}`);
}

/** The value at `path` as a list of at most `itemsMax`. Throws `PluginValueError`. */
export function readList(value: unknown, path: string, itemsMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw new PluginValueError(path, `must be a list, not ${kindOf(value)}`);
  if (value.length > itemsMax)
    throw new PluginValueError(path, `has ${value.length} items, more than the ${itemsMax} allowed`);
  return value;
}

/** The type of a value, for an error: `a number`, `a list`, `nothing`. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

// What plugins register or return for prompts and texts, checked: what they add to the system
// prompt of every turn (a prefix among the stable sections, a suffix among those that change, their
// own wording of three sections), the replacements in text on its way to the model (`input`) and
// from it (`output`), and the workspace files of a prompt.

const SECTIONS: Readonly<Record<OverridableSection, true>> = {
  interaction_style: true,
  tool_call_style: true,
  execution_bias: true,
};

/** Checks the value that a plugin registered. Throws `PluginValueError`. */
export function readPromptContribution(value: unknown): PromptContribution {
  const { stablePrefix, dynamicSuffix, sectionOverrides = {} } = readObject(value, '');
  const prefix = readText(stablePrefix, 'stablePrefix');
  const suffix = readText(dynamicSuffix, 'dynamicSuffix');
  return {
    ...(prefix === null ? {} : { stablePrefix: withoutBoundary(prefix) }),
    ...(suffix === null ? {} : { dynamicSuffix: withoutBoundary(suffix) }),
    sectionOverrides: readOverrides(sectionOverrides),
  };
}

function readOverrides(value: unknown): NonNullable<PromptContribution['sectionOverrides']> {
  const entries = Object.entries(readObject(value, 'sectionOverrides')).flatMap(([name, wording]) => {
    const path = `sectionOverrides.${name}`;
    if (!Object.hasOwn(SECTIONS, name)) {
      throw new PluginValueError(path, `must be one of ${Object.keys(SECTIONS).join(', ')}`);
    }
    const text = readText(wording, path);
    return text === null ? [] : [[name, withoutBoundary(text)] as const];
  });
  return Object.fromEntries(entries);
}

export const NO_TRANSFORMS: TextTransforms = { input: [], output: [] };

const REPLACING_CHARS_MAX = 10_000;

/** Checks the value that a plugin registered. Throws `PluginValueError`. */
export function readTextTransforms(value: unknown): TextTransforms {
  const { input, output } = readObject(value, '');
  return { input: readReplacements(input, 'input'), output: readReplacements(output, 'output') };
}

/** Merges the transforms of several plugins; where two replace the same text, the first does. */
export function mergeTextTransforms(transforms: readonly TextTransforms[]): TextTransforms {
  return {
    input: transforms.flatMap(({ input }) => input),
    output: transforms.flatMap(({ output }) => output),
  };
}

function readReplacements(value: unknown, path: string): Replacement[] {
  if (value === undefined) return [];
  return readList(value, path, REPLACEMENTS_MAX).map((item, index) => {
    const at = `${path}[${index}]`;
    const { from, to } = readObject(item, at);
    if (typeof from !== 'string' || from === '' || from.length > REPLACED_CHARS_MAX) {
      throw new PluginValueError(`${at}.from`, `must be a text of 1 to ${REPLACED_CHARS_MAX} characters`);
    }
    if (typeof to !== 'string' || to.length > REPLACING_CHARS_MAX) {
      throw new PluginValueError(
        `${at}.to`,
        `must be a text of at most ${REPLACING_CHARS_MAX} characters, not ${kindOf(to)}`,
      );
    }
    return { from, to: storableText(to) };
  });
}

/** The most files of one prompt. */
const FILES_MAX = 100;

export interface ReadFiles {
  files: WorkspaceFile[];
  /**
   * The indexes of invalid files in the list: without a path, or with a content that is not text.
   */
  dropped: number[];
}

/**
 * The list as it may be shown. An entry needs a `path`; its `name` is else the last part of the
 * path, and a `content` of null or nothing means that the file is not there. Throws
 * `PluginValueError` when the value is not a list.
 */
export function readBootstrapFiles(value: unknown): ReadFiles {
  const files: WorkspaceFile[] = [];
  const dropped: number[] = [];
  for (const [index, item] of readList(value, 'bootstrapFiles', FILES_MAX).entries()) {
    const { name, path, content } = (item ?? {}) as Partial<Record<keyof WorkspaceFile, unknown>>;
    const isContent = content === undefined || content === null || typeof content === 'string';
    if (typeof path !== 'string' || path.trim() === '' || !isContent) {
      dropped.push(index);
      continue;
    }
    files.push({
      name: typeof name === 'string' && name !== '' ? name : path.slice(path.lastIndexOf('/') + 1),
      path,
      content: typeof content === 'string' ? storableText(content) : null,
    });
  }
  return { files, dropped };
}

// What the prompt hooks of plugins return, checked, and how the results of many become one. Results
// are given here in the order in which their handlers ran: `before_prompt_build` before
// `before_agent_start`, in each the higher priority first.

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
 * What a handler returned; nothing at all changes nothing. `unknownFields` are those that mean
 * nothing here. Throws `PluginValueError` with the path of the fault.
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

/**
 * All results as one: texts and messages follow each other in the order of the results, and the
 * first system prompt is kept.
 */
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
 * The sections of a system prompt with the changes of plugins: first the replacement (which may
 * hold a cache boundary of its own), then the text before it, above the boundary, and after it,
 * below the boundary; a blank line between each.
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

// Messages that plugins put before a history, validated. They are not entries: limits, pruning and
// compaction ignore them, and later changes of the history do not drop them. Roles and pairs are
// repaired where they join the history.

/** The most messages of one handler, and blocks of one message. */
const MESSAGES_MAX = 200;
const BLOCKS_MAX = 100;
const ID_CHARS_MAX = 100;
const NAME_CHARS_MAX = 128;
/** The provider takes images of 5 MiB, counted in base64. */
const IMAGE_CHARS_MAX = 5 * 1024 * 1024;
/** The types of images that models take. */
export const IMAGE_TYPES: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** A message with the plugin that it is of. */
export interface InjectedMessage extends ModelMessage {
  plugin: string;
}

/**
 * The messages that a plugin returned: `{role: 'user' | 'assistant', content: text | blocks}`,
 * blocks being text, images, tool calls and tool results. Blank ones are left out. Throws
 * `PluginValueError` with the path of the fault.
 */
export function readInjectedMessages(plugin: string, value: unknown): InjectedMessage[] {
  if (value === undefined || value === null) return [];
  return readList(value, 'injectMessages', MESSAGES_MAX).flatMap((item, index) => {
    const at = `injectMessages[${index}]`;
    const { role, content } = readObject(item, at);
    if (role !== 'user' && role !== 'assistant') {
      throw new PluginValueError(
        `${at}.role`,
        `must be "user" or "assistant", not ${JSON.stringify(role) ?? 'nothing'}`,
      );
    }
    const blocks = readContent(content, `${at}.content`);
    return blocks.length === 0 ? [] : [{ plugin, role, content: blocks }];
  });
}

function readContent(value: unknown, path: string): ContentBlock[] {
  if (typeof value === 'string') return textBlocks(value, path);
  return readList(value, path, BLOCKS_MAX).flatMap((item, index) => readBlock(item, `${path}[${index}]`));
}

function readBlock(value: unknown, path: string): ContentBlock[] {
  const block = readObject(value, path);
  switch (block['type']) {
    case 'text':
      return textBlocks(block['text'], `${path}.text`);
    case 'image':
      return [readImage(block, path)];
    case 'tool_use': {
      const id = readWord(block['id'], `${path}.id`, ID_CHARS_MAX);
      const name = readWord(block['name'], `${path}.name`, NAME_CHARS_MAX);
      return [{ type: 'tool_use', id, name, input: readInput(block['input'], path) }];
    }
    case 'tool_result':
      return [readResult(block, path)];
    default:
      throw new PluginValueError(
        `${path}.type`,
        `must be "text", "image", "tool_use" or "tool_result", not ${JSON.stringify(block['type']) ?? 'nothing'}`,
      );
  }
}

function textBlocks(value: unknown, path: string): TextBlock[] {
  if (value === undefined) throw new PluginValueError(path, 'must be a text, not nothing');
  const text = readText(value, path);
  return text === null ? [] : [{ type: 'text', text }];
}

function readImage(block: Record<string, unknown>, path: string): ImageBlock {
  const { type, media_type, data } = readObject(block['source'], `${path}.source`);
  if (type !== 'base64') throw new PluginValueError(`${path}.source.type`, 'must be "base64"');
  if (!IMAGE_TYPES.has(media_type)) {
    throw new PluginValueError(`${path}.source.media_type`, `must be one of ${[...IMAGE_TYPES].join(', ')}`);
  }
  if (typeof data !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
    throw new PluginValueError(`${path}.source.data`, 'must be base64');
  }
  if (data.length > IMAGE_CHARS_MAX) {
    throw new PluginValueError(
      `${path}.source.data`,
      `has ${data.length} characters, more than the ${IMAGE_CHARS_MAX} allowed`,
    );
  }
  return { type: 'image', source: { type, media_type: String(media_type), data } };
}

function readResult(block: Record<string, unknown>, path: string): ContentBlock {
  const { content, is_error } = block;
  const parts =
    typeof content === 'string' ? textBlocks(content, `${path}.content`) : readParts(content, `${path}.content`);
  return {
    type: 'tool_result',
    tool_use_id: readWord(block['tool_use_id'], `${path}.tool_use_id`, ID_CHARS_MAX),
    content: parts.length === 0 ? '(empty)' : parts,
    ...(is_error === true ? { is_error } : {}),
  };
}

function readParts(value: unknown, path: string): (TextBlock | ImageBlock)[] {
  return readList(value, path, BLOCKS_MAX).flatMap((item, index): (TextBlock | ImageBlock)[] => {
    const at = `${path}[${index}]`;
    const part = readObject(item, at);
    return part['type'] === 'image' ? [readImage(part, at)] : textBlocks(part['text'], `${at}.text`);
  });
}

function readWord(value: unknown, path: string, charsMax: number): string {
  if (typeof value === 'string' && value.length <= charsMax && /^[a-zA-Z0-9_-]+$/.test(value)) return value;
  throw new PluginValueError(path, `must be 1 to ${charsMax} of a-z A-Z 0-9 _ -`);
}

function readInput(value: unknown, path: string): unknown {
  const input = readObject(value, `${path}.input`);
  // Values that cannot be written as JSON cannot be sent; the JSON differs from the given value in
  // nothing that matters.
  try {
    return storableValue(JSON.parse(JSON.stringify(input)));
  } catch {
    throw new PluginValueError(`${path}.input`, `must be JSON, not ${kindOf(input)} that cannot be written as JSON`);
  }
}
