// The fields that everything has in common that starts turns: messages, batches and their items, crons, subagents.
import { z } from 'zod';
import type { InputOptions } from '../core/input-options.ts';
import { word } from './schema-scalars.ts';

const NAMES_MAX = 100;

const toolNames = z.array(word).max(NAMES_MAX);

export const inputOptions = {
  tools: z
    .strictObject({ allow: toolNames.exactOptional(), deny: toolNames.exactOptional() })
    .describe("Which of the agent's tools its turns have, and everything that these start: names, or patterns with `*`")
    .exactOptional(),
} satisfies Record<keyof InputOptions, z.ZodType>;
