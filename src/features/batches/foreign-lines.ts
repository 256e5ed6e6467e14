// Lines of the batch files of Anthropic and OpenAI, as items. Only what an item can say is
// accepted: one message of the user, a model, and instructions before it.
import { z } from 'zod';
import type { CallerRequest } from '../../core/input-options.ts';
import { given } from '../../core/json.ts';
import type { LineFormat } from './rules/batch.ts';

/**
 * An item before it is checked, and what only a line of another format can say: instructions before
 * its message, and settings of the call.
 */
export interface MappedLine {
  item: object;
  system: string | null;
  caller: CallerRequest | null;
}

const OTHER_FIELD = 'an item cannot contain this field; remove it, or write the item as {"text": …}';
const TOKENS_MAX = 1_000_000;
const TOKENS = `expected an integer from 1 to ${TOKENS_MAX}`;

const tokens = z.int(TOKENS).min(1, TOKENS).max(TOKENS_MAX, TOKENS).nullish();
const anything = z.unknown().optional();

/** An object with these fields and no others. */
function only<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape, 'expected an object').catchall(z.undefined(OTHER_FIELD));
}

const block = z.object({ type: z.literal('text'), text: z.string() });
const content = z.union(
  [z.string(), z.array(block).transform((blocks) => blocks.map(({ text }) => text).join('\n\n'))],
  'expected a string or a list of text blocks; an item can only contain text',
);

function messagesOf<Role extends string>(...roles: Role[]) {
  const message = z.object({ role: z.enum(['user', ...roles], 'expected "user"'), content });
  const hasOneOfUser = (all: { role: string }[]): boolean => all.filter(({ role }) => role === 'user').length === 1;
  return z.array(message).refine(hasOneOfUser, 'expected one message with the role user');
}

/** The settings of the call, which apply as in a request of an OpenAI client. */
const settings = {
  model: anything,
  max_tokens: tokens,
  metadata: anything,
  stream: z.literal(false, 'expected false: the results of a batch are not streamed').nullish(),
};

/** The form of the answer, as an item has it; its schema is checked with the item. */
const answerFormat = z
  .discriminatedUnion(
    'type',
    [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({ type: z.literal('json_schema'), json_schema: z.object({ name: anything, schema: anything }) }),
    ],
    'expected text, json_object or json_schema',
  )
  .transform((format) => {
    if (format.type === 'text') return undefined;
    if (format.type === 'json_object') return { type: 'json_schema', schema: { type: 'object' } };
    return { type: format.type, ...given(format.json_schema) };
  })
  .nullish();

const FOREIGN = {
  anthropic: only({
    custom_id: anything,
    params: only({ ...settings, system: content.optional(), messages: messagesOf() }),
  }).transform(({ custom_id: customId, params: { system = null, ...request } }) =>
    toLine({ customId, ...modelOfAnthropic(request.model) }, request, system),
  ),
  openai: only({
    custom_id: anything,
    method: z.literal('POST').optional(),
    url: z.literal('/v1/chat/completions'),
    body: only({
      ...settings,
      max_completion_tokens: tokens,
      response_format: answerFormat,
      user: anything,
      messages: messagesOf('system', 'developer'),
    }),
  }).transform(({ custom_id: customId, body: request }) => {
    const responseFormat = request.response_format ?? undefined;
    return toLine({ customId, responseFormat, ...chosenByOpenAi(request.model) }, request, null);
  }),
} as const satisfies Partial<Record<LineFormat, z.ZodType<MappedLine>>>;

/** The schema that reads a line as an item; one in Holdfast's own format is the item itself. */
export function schemaOfLine(format: LineFormat): z.ZodType<MappedLine> {
  return format === 'holdfast' ? OWN : FOREIGN[format];
}

const OWN = z.looseObject({}).transform((item): MappedLine => ({ item, system: null, caller: null }));

export function detectFormat(line: object): LineFormat {
  if ('params' in line) return 'anthropic';
  return 'method' in line || 'url' in line || ('custom_id' in line && 'body' in line) ? 'openai' : 'holdfast';
}

interface ForeignRequest {
  messages: readonly { role: string; content: string }[];
  max_tokens?: number | null | undefined;
  max_completion_tokens?: number | null | undefined;
  metadata?: unknown;
  user?: unknown;
}

function toLine(facts: object, request: ForeignRequest, system: string | null): MappedLine {
  const { messages, metadata, user } = request;
  const isOfUser = ({ role }: { role: string }): boolean => role === 'user';
  const systems = [system ?? [], messages.filter((message) => !isOfUser(message)).map((one) => one.content)].flat();
  const asked = given({ metadata: metadata ?? undefined, user: user ?? undefined });
  const caller = given({
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    asked: Object.keys(asked).length === 0 ? undefined : asked,
  });
  return {
    item: given({ ...facts, text: messages.find(isOfUser)?.content }),
    system: systems.length === 0 ? null : systems.join('\n\n'),
    caller: Object.keys(caller).length === 0 ? null : caller,
  };
}

/** `claude-…` of Anthropic's file has no provider. */
function modelOfAnthropic(model: unknown): { model?: string } {
  if (typeof model !== 'string') return {};
  return { model: model.includes('/') ? model : `anthropic/${model}` };
}

const AGENT = /^(?:holdfast|agent):(.+)$/;

/**
 * The agent or the model that a line names; `holdfast` stands for the agent of the batch, with its
 * own model.
 */
function chosenByOpenAi(model: unknown): { agentId?: string; model?: string } {
  if (typeof model !== 'string' || model === 'holdfast') return {};
  const agentId = AGENT.exec(model)?.[1];
  return agentId === undefined ? { model } : { agentId };
}
