// The view of the request of a model call: the body as it was sent, its proof, and the origin of each part.
import { z } from 'zod';
import type { RequestPart } from '../core/request-parts.ts';
import { entry } from './views.ts';

const count = z.int().min(0);

const requestPart = z.strictObject({
  path: z.string().describe('Where it stands in the body: system[0], tools[3], messages[4].content[1]'),
  name: z.string().describe('A section, a tool, a part of a prompt, or the type of a block'),
  origin: z.string().describe('Whose words it holds: holdfast, configuration, sender, tool:<name>, plugin:<id>, model'),
  trust: z.enum(['trusted', 'untrusted', 'model']),
  tokens: count.describe('An estimate'),
  cacheMarker: z.boolean().describe('Whether the provider is asked to keep everything up to here in its cache'),
  span: z
    .strictObject({ start: count, end: count })
    .nullable()
    .describe('The part of the text that it is, in UTF-16 units; null: all of it'),
  entry: z
    .strictObject({ id: z.uuid(), seq: count, kind: z.enum(entry.shape.kind.options), turnId: z.uuid() })
    .nullable()
    .describe('The entry of the transcript that it is of'),
}) satisfies z.ZodType<RequestPart>;

export const modelRequest = z.strictObject({
  turnId: z.uuid(),
  call: count,
  step: count,
  purpose: z.enum(['answer', 'compaction', 'flush']),
  status: z.enum(['ok', 'failed', 'aborted']),
  request: z
    .record(z.string(), z.unknown())
    .describe("The body of the call, in the shapes of Anthropic's Messages API"),
  requestSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable()
    .describe('Of the bytes that were sent; null: nothing was sent'),
  matches: z.boolean().nullable().describe('Whether the body that is given here has the same hash'),
  parts: z.array(requestPart).describe("In the order of the provider's cache: tools, system prompt, messages"),
});
