// Text of plugins, made valid for a prompt and for the database: bounded, without NUL characters and lone surrogates.
import { storableText } from '../core/storable-text.ts';

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
