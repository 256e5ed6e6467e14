// The options of inputs in answers.
import { z } from 'zod';
import { inputOptions } from '../config/schema-inputs.ts';
import { TAGS_MAX } from '../core/input-options.ts';

/** `metadata` of OpenAI's clients, in their bounds. They become tags. */
export const clientMetadata = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= TAGS_MAX, `expected at most ${TAGS_MAX} pairs`)
  .nullish();

/** Empty: none. */
export const shownTags = z.record(z.string(), z.string()).describe('The tags; empty: none');

/** `tools` null: all of the agent's. */
export const shownOptions = { tools: inputOptions.tools.unwrap().nullable(), tags: shownTags };
