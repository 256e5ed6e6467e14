// Tries on the wire.
import { z } from 'zod';
import { THINKING_LEVELS } from '../../core/models.ts';
import { accepted } from '../../contract/answers.ts';
import { uuid } from '../../contract/fields.ts';

const SYSTEM_PROMPT_CHARS_MAX = 1_000_000;

const text = z.string().regex(/\S/, 'at least 1 character that is not blank');

export const turnTry = z.strictObject({
  text: text.exactOptional().describe('What is asked; absent: what the turn was asked'),
  model: z
    .string()
    .min(1)
    .max(200)
    .exactOptional()
    .describe('The model, as provider/model or an alias; absent: the one of the turn'),
  thinking: z.enum(THINKING_LEVELS).exactOptional().describe('The thinking level; absent: the one of the turn'),
  systemPrompt: z
    .string()
    .max(SYSTEM_PROMPT_CHARS_MAX)
    .exactOptional()
    .describe('Replaces the system prompt; absent: it is assembled as for every turn'),
});

export const agentTry = turnTry.extend({
  text: text.describe('What is asked'),
  model: turnTry.shape.model.describe('The model, as provider/model or an alias; absent: that of the agent'),
  thinking: turnTry.shape.thinking.describe('The thinking level; absent: that of the agent'),
});

export const tried = accepted.extend({
  tryOf: uuid.nullable().describe('The turn that is tried; null: an agent is'),
});
