// The options of inputs in answers.
import { inputOptions } from '../../config/schema-inputs.ts';
import type { InputOptions } from '../../core/input-options.ts';

/** Null: none. */
export const shownOptions = { tools: inputOptions.tools.unwrap().nullable() };

/** The options as fields of an answer. */
export function showOptions({ tools = null }: Partial<InputOptions> | { tools?: null }) {
  return { tools };
}
