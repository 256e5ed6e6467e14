// The options of inputs in answers.
import { z } from 'zod';
import { inputOptions } from '../config/schema-inputs.ts';
import { TAGS_MAX } from '../core/input-options.ts';
import { text } from './fields.ts';

/** `metadata` of OpenAI's clients, in their bounds. They become tags. */
export const clientMetadata = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= TAGS_MAX, `expected at most ${TAGS_MAX} pairs`)
  .nullish();

export const shownTags = z.record(text, text).describe('Its tags, by their keys; empty: it has none');

export const output = z
  .record(text, z.unknown())
  .nullable()
  .describe('The value of the reply, if `responseFormat` asked for JSON; null: it did not, or there is none');

export const shownOptions = {
  tools: inputOptions.tools.unwrap().nullable().describe("Which of the agent's tools its turns have; null: all"),
  tags: shownTags,
};
