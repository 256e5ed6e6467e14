// Replacements that plugins register for text on its way to the model (`input`) and from it (`output`), checked.
import { REPLACED_CHARS_MAX, REPLACEMENTS_MAX, type Replacement, type TextTransforms } from '../stream/replace-text.ts';
import { storableText } from '../storable-text.ts';
import { kindOf, PluginValueError, readList, readObject } from './plugin-text.ts';

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
