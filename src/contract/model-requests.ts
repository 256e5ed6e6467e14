// The view of the request of a model call: the body as it was sent, its proof, and the origin of
// each part.
import { z } from 'zod';
import type { RequestPart } from '../kernel/rules/request-parts.ts';
import { entry } from './transcripts.ts';
import { text, flag, uuid, count } from './fields.ts';
import { guarded } from './guarded.ts';

const requestPart = z.strictObject({
  path: text.describe('Where it stands in the body: system[0], tools[3], messages[4].content[1]'),
  name: text.describe('A section, a tool, a part of a prompt, or the type of a block'),
  origin: text
    .describe('Whose words it holds: holdfast, configuration, sender, tool:<name>, plugin:<id>, model')
    .register(guarded, { as: 'origin' }),
  trust: z.enum(['trusted', 'untrusted', 'model']).describe("Whose words it has: the operator's, others', the model's"),
  tokens: count.describe('Its estimated tokens'),
  cacheMarker: flag.describe('Whether the provider is asked to keep everything up to here in its cache'),
  span: z
    .strictObject({
      start: count.describe('The position of its first code unit'),
      end: count.describe('The position after its last code unit'),
    })
    .nullable()
    .describe('The part of the text that it is, in UTF-16 code units; null: all of it'),
  entry: z
    .strictObject({
      id: uuid.describe('The id of the entry'),
      seq: count.describe('The number of the entry in the session'),
      kind: z.enum(entry.shape.kind.options).describe('What the entry is'),
      turnId: uuid.describe('The turn that wrote the entry'),
    })
    .nullable()
    .describe('The entry of the transcript that it is of; null: it is of none'),
}) satisfies z.ZodType<RequestPart>;

export const modelRequest = z.strictObject({
  turnId: uuid.describe('The turn that made the call'),
  call: count.describe('The number of the call in its turn, counted from 1'),
  step: count.describe('The number of the step in its turn, counted from 1'),
  purpose: z
    .enum(['answer', 'compaction', 'flush'])
    .describe('What it asks for: an answer, a summary, or notes before one'),
  status: z.enum(['ok', 'failed', 'aborted']).describe('How the call ended'),
  request: z.record(text, z.unknown()).describe("The body of the call, in the shapes of Anthropic's Messages API"),
  requestSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable()
    .describe('The hash of the sent bytes; null: nothing was sent'),
  matches: flag
    .nullable()
    .describe(
      'Whether the body that is given here has the same hash; null: nothing was sent, or in a form that only a plugin knows',
    ),
  body: text
    .nullable()
    .describe("The exact body that was sent to an API other than Anthropic's, as text; null: `request` is the body"),
  parts: z
    .array(requestPart)
    .describe("The parts of the body in the order of the provider's cache: tools, system, messages"),
});
