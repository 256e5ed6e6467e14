// Text of plugins, made valid for a prompt and for the database: bounded, without NUL characters and lone surrogates.
import { storableText } from '../core/text.ts';
import { withoutBoundary } from './prompt-parts.ts';
import type { OverridableSection, PromptContribution, WorkspaceFile } from './system-input.ts';
import {
  REPLACED_CHARS_MAX,
  REPLACEMENTS_MAX,
  type Replacement,
  type TextTransforms,
} from '../model/stream/replace-text.ts';

/** The most of one text, in UTF-16 units: about half of a large context window. */
const TEXT_CHARS_MAX = 400_000;

/** Something that a plugin returned or registered cannot be used. `path` says where in it, `injectMessages[2].role`. */
export class PluginValueError extends Error {
  readonly code = 'bad_plugin_value';
  readonly path: string;

  constructor(path: string, fault: string) {
    super(path === '' ? fault : `${path}: ${fault}`);
    this.name = 'PluginValueError';
    this.path = path;
  }
}

/** The text at `path`; null when it is absent or blank. Throws `PluginValueError` for anything else. */
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

// What plugins register or return for prompts and texts, checked: what they add to the system prompt of every turn (a prefix among the stable
// sections, a suffix among those that change, their own wording of three sections), the replacements in text on its way to the model
// (`input`) and from it (`output`), and the workspace files of a prompt.

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

/** Those of several plugins as one; where two replace the same text, the first does. */
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
  /** The indexes of invalid files in the list: without a path, or with a content that is not text. */
  dropped: number[];
}

/**
 * The list as it may be shown. An entry needs a `path`; its `name` is else the last part of the path, and a `content` of null or nothing
 * means that the file is not there. Throws `PluginValueError` when the value is not a list.
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
