// The body of a response: every parameter is used, named as ignored, or refused with its name.
import { z } from 'zod';
import type { ClientMessage } from './rules/conversation.ts';
import { parseWith } from '../../api/check-fields.ts';
import { clientMetadata } from '../../contract/input-options.ts';
import type { ClientRequest } from './read-chat.ts';
import {
  answerFormat,
  checkNames,
  toToolChoice,
  fail,
  parseArguments,
  parseParts,
  refused,
  textOfContent,
  THINKING,
  toResponseFormat,
  toToolSpec,
} from './read-parts.ts';

export interface ResponseRequest extends ClientRequest {
  previousId: string | undefined;
  conversation: string | undefined;
  isBackground: boolean;
  /** The fields of the request that the answer repeats. */
  asked: Record<string, unknown>;
}

const part = z.looseObject({ type: z.string() });
const texts = z.array(z.looseObject({ text: z.string() }));
const item = z.looseObject({ type: z.string().nullish(), role: z.string().nullish() });
const call = z.looseObject({ call_id: z.string().min(1), name: z.string().min(1), arguments: z.string() });
const output = z.looseObject({ call_id: z.string().min(1), output: z.union([z.string(), texts]) });
const said = z.looseObject({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), z.array(part)]),
});
const tool = z.looseObject({
  type: z.literal('function', { error: 'only tools of type function are supported' }),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

const TOKENS_MAX = 1_000_000;

const IGNORED = {
  store: z.boolean().nullish(),
  truncation: z.string().nullish(),
  include: z.array(z.string()).nullish(),
  service_tier: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
  top_logprobs: z.int().nullish(),
  max_tool_calls: z.int().nullish(),
  stream_options: z.looseObject({}).nullish(),
};

const body = z.strictObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1, 'is empty'), z.array(item).min(1, 'is empty')]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string().min(1).max(1000), z.looseObject({ id: z.string().min(1).max(1000) })]).nullish(),
  background: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(tool).max(128).nullish(),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.literal('function'), name: z.string() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_output_tokens: z.int().min(1).max(TOKENS_MAX).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  reasoning: z.looseObject({ effort: z.enum(Object.keys(THINKING) as [keyof typeof THINKING]).nullish() }).nullish(),
  text: z.looseObject({ format: answerFormat }).nullish(),
  metadata: clientMetadata,
  user: z.string().min(1).max(1000).nullish(),
  prompt: refused('stored prompts are not supported'),
  ...IGNORED,
});

/** Reads the body; the arguments of its calls are nested `depthMax` levels at most. Throws `Problem` with the parameter that does not fit. */
export function readResponse(raw: unknown, depthMax: number): ResponseRequest {
  const data = parseWith(body, raw, 'invalid_body');
  const tools = (data.tools ?? []).map((one, at) => toToolSpec(one, `tools[${at}]`));
  checkNames(tools, 'tools');
  const { conversation } = data;
  if (conversation && data.previous_response_id)
    fail('conversation', 'cannot be combined with previous_response_id: both name a session');
  return {
    model: data.model,
    messages: toMessages(data, depthMax),
    isStreaming: data.stream === true,
    tools,
    isParallel: data.parallel_tool_calls !== false,
    toolChoice: toToolChoice(
      typeof data.tool_choice === 'object' && data.tool_choice !== null
        ? { name: data.tool_choice.name, path: 'tool_choice.name' }
        : data.tool_choice,
      tools,
    ),
    thinking: data.reasoning?.effort ? THINKING[data.reasoning.effort] : undefined,
    maxTokens: data.max_output_tokens ?? undefined,
    temperature: data.temperature ?? undefined,
    topP: data.top_p ?? undefined,
    stop: undefined,
    user: data.user ?? undefined,
    metadata: data.metadata ?? undefined,
    responseFormat: toResponseFormat(data.text?.format, 'text.format'),
    ignored: Object.keys(IGNORED).filter((name) => (data[name as keyof typeof IGNORED] ?? null) !== null),
    previousId: data.previous_response_id ?? undefined,
    conversation: typeof conversation === 'string' ? conversation : conversation?.id,
    isBackground: data.background === true,
    asked: pickAsked(data),
  };
}

/** The parameters that a response repeats. */
const ASKED = [
  'instructions',
  'max_output_tokens',
  'parallel_tool_calls',
  'previous_response_id',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_p',
  'metadata',
  'background',
  'user',
] as const;

function pickAsked(data: z.output<typeof body>): Record<string, unknown> {
  return Object.fromEntries(ASKED.filter((name) => (data[name] ?? null) !== null).map((name) => [name, data[name]]));
}

function toMessages({ input, instructions }: z.output<typeof body>, depthMax: number): ClientMessage[] {
  const first: ClientMessage[] = instructions ? [{ role: 'system', text: instructions }] : [];
  if (typeof input === 'string') return [...first, { role: 'user', parts: [{ type: 'text', text: input }] }];
  return [...first, ...joinCalls(input.flatMap((one, at) => toItemMessages(one, `input[${at}]`, depthMax)))];
}

function toItemMessages(one: z.output<typeof item>, path: string, depthMax: number): ClientMessage[] {
  switch (one.type ?? 'message') {
    case 'message':
      return [toMessage(parseWith(said, one, 'invalid_body', path), path)];
    case 'function_call': {
      const { call_id: id, name, arguments: json } = parseWith(call, one, 'invalid_body', path);
      const input = parseArguments(json, `${path}.arguments`, depthMax);
      return [{ role: 'assistant', text: '', calls: [{ id, name, input }] }];
    }
    case 'function_call_output': {
      const { call_id: callId, output: result } = parseWith(output, one, 'invalid_body', path);
      return [{ role: 'tool', callId, text: textOfContent(result) }];
    }
    case 'reasoning':
      return [];
    default:
      return fail(
        `${path}.type`,
        `expected message, function_call, function_call_output or reasoning; ${JSON.stringify(one.type)} is not supported`,
      );
  }
}

function toMessage({ role, content }: z.output<typeof said>, path: string): ClientMessage {
  if (role === 'user')
    return { role, parts: parseParts(content, `${path}.content`, { text: 'input_text', image: 'input_image' }) };
  const type = role === 'assistant' ? 'output_text' : 'input_text';
  const text =
    typeof content === 'string'
      ? content
      : parseParts(content.map(saidPart), `${path}.content`, { text: type, image: '' })
          .map((one) => (one.type === 'text' ? one.text : ''))
          .join('\n');
  return role === 'assistant' ? { role, text, calls: [] } : { role: 'system', text };
}

/** A refusal of the assistant is what it said. */
function saidPart(one: z.output<typeof part>): z.output<typeof part> {
  return one.type === 'refusal' ? { type: 'output_text', text: one['refusal'] } : one;
}

/** An answer and its calls are separate items in this form, and one message everywhere else. */
function joinCalls(messages: readonly ClientMessage[]): ClientMessage[] {
  const joined: ClientMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === 'assistant' && last?.role === 'assistant' && (message.text === '' || last.text === ''))
      joined[joined.length - 1] = {
        role: 'assistant',
        text: last.text + message.text,
        calls: [...last.calls, ...message.calls],
      };
    else joined.push(message);
  }
  return joined;
}
