// The fields that everything has in common that starts turns: messages, batches and their items,
// crons, subagents.
import { z } from 'zod';
import { TAGS_MAX, type InputOptions } from '../core/input-options.ts';
import { MESSAGE_VIAS } from '../core/inbound.ts';
import { findSchemaFault, SCHEMA_CHARS_MAX, type ResponseFormat } from '../core/response-format.ts';
import { EXTERNAL_TOOLS_MAX, TOOL_NAME, TOOL_NAME_TEXT, type ExternalTool } from '../core/tool-policy.ts';
import { distinct, duration, TEXT_MAX, word } from './schema-scalars.ts';

/** How long a call of an external tool waits whose definition does not say it. */
const EXTERNAL_TOOL_MS = 3_600_000;

const NAMES_MAX = 100;
/** The limit of OpenAI's metadata, which becomes tags. */
const TAG_VALUE_CHARS_MAX = 512;
const TAG_KEY = /^[^:\p{Cc}\p{Cs}]{1,64}$/u;
const TAG_KEY_TEXT = 'expected a key of 1 to 64 characters without a colon or control characters';
const STORABLE_TEXT = 'a text without NUL characters or lone surrogates';

const toolNames = z.array(word).max(NAMES_MAX);

/** A tool that another program runs, as it is defined in the configuration and by a message. */
export const externalTool = z.strictObject({
  name: z.string().regex(TOOL_NAME, TOOL_NAME_TEXT).describe('its name, which no other tool has'),
  description: z.string().min(1).max(TEXT_MAX).describe('what it does, for the model'),
  inputSchema: z
    .record(z.string(), z.unknown())
    .superRefine((schema, context) => {
      const fault = findSchemaFault(schema, 'the input of a tool');
      if (fault !== null) context.addIssue({ code: 'custom', ...fault, input: schema });
    })
    .describe(`JSON Schema of its input, of type object, of at most ${SCHEMA_CHARS_MAX} characters`),
  timeout: duration(1, 1_000, 30 * 86_400_000)
    .default(EXTERNAL_TOOL_MS)
    .describe('how long a call waits for its result; after it, the model reads that none has come'),
}) satisfies z.ZodType<ExternalTool>;

/** Tools that other programs run; no two of them have the same name. */
export const externalTools = distinct(externalTool, {
  key: 'name',
  of: ({ name }) => name.toLowerCase(),
  what: 'a name that no other of these tools has (letter case aside)',
});

export const inputOptions = {
  tools: z
    .strictObject({
      allow: toolNames.exactOptional().describe('Names of the only tools, or patterns with `*`; absent: all tools'),
      deny: toolNames.exactOptional().describe('Names of tools that are left out, or patterns with `*`'),
    })
    .describe("Which of the agent's tools its turns have, and everything that these start: names, or patterns with `*`")
    .exactOptional(),
  tags: z
    .record(z.string(), z.string().max(TAG_VALUE_CHARS_MAX).refine(isStorable, STORABLE_TEXT))
    .superRefine((tags, context) => {
      const keys = Object.keys(tags);
      for (const key of keys) {
        if (!TAG_KEY.test(key)) context.addIssue({ code: 'custom', path: [key], message: TAG_KEY_TEXT, input: tags });
      }
      if (keys.length > TAGS_MAX) {
        context.addIssue({
          code: 'custom',
          message: `expected at most ${TAGS_MAX} tags, got ${keys.length}`,
          input: tags,
        });
      }
    })
    .describe('Facts by which its turns are found again, and everything that these start')
    .exactOptional(),
} satisfies Partial<Record<keyof InputOptions, z.ZodType>>;

/** The tools of a message: which of the agent's it has, and more that another program runs. */
export const messageTools = inputOptions.tools
  .unwrap()
  .extend({
    external: externalTools
      .max(EXTERNAL_TOOLS_MAX)
      .exactOptional()
      .describe('More tools of its turn, which another program runs: see tools.md#external-tools'),
  })
  .describe("Which of the agent's tools its turn has, and everything that it starts; and more tools of its own")
  .exactOptional();

export const responseFormat = z
  .strictObject({
    type: z.literal('json_schema').describe('The answer is JSON that fits a schema'),
    schema: z
      .record(z.string(), z.unknown())
      .superRefine((schema, context) => {
        const fault = findSchemaFault(schema);
        if (fault !== null) context.addIssue({ code: 'custom', ...fault, input: schema });
      })
      .describe(`JSON Schema of type object, of at most ${SCHEMA_CHARS_MAX} characters`),
    name: z
      .string()
      .regex(/^[\w-]{1,64}$/, 'expected 1 to 64 letters, digits, _ and -')
      .exactOptional()
      .describe('What the answer is called, for the model; absent: `answer`'),
  })
  .describe(
    'The form of the answer: JSON, which is also read as `output` of the turn; absent: text',
  ) satisfies z.ZodType<ResponseFormat>;

/** The options of a single turn, in contrast to those of a series of turns. */
export const turnOptions = { ...inputOptions, responseFormat: responseFormat.exactOptional() };

/** How messages and turns of crons ask their model. */
export const messageVia = z
  .enum(MESSAGE_VIAS)
  .describe(
    'How the model is called: `live` (absent: the same), in a provider batch (at half the price and within a day), or `auto`: items of a batch in the way that is cheaper for the first of them, other messages in a provider batch',
  );

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
