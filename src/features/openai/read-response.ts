// The body of a response: every parameter is used, named as ignored, or refused with its name.
import { z } from 'zod';
import type { ClientMessage, ClientResult } from './rules/conversation.ts';
import { parseWith } from '../../api/parse-json.ts';
import { fieldProblem } from '../../api/problem.ts';
import {
  answerFormat,
  effort,
  namesSent,
  parseArguments,
  parseParts,
  readShared,
  refused,
  SHARED,
  SHARED_IGNORED,
  tokens,
  toResponseFormat,
  type ClientRequest,
} from './read-parts.ts';
import { customInput, nameOfCalled, type ClientTools } from './read-tools.ts';

export interface ResponseRequest extends ClientRequest {
  previousId: string | undefined;
  conversation: string | undefined;
  isBackground: boolean;
  /** The fields of the request that the answer repeats. */
  asked: Record<string, unknown>;
}

const part = z.looseObject({ type: z.string() });
const item = z.looseObject({ type: z.string().nullish(), role: z.string().nullish() });
const called = { call_id: z.string().min(1), name: z.string().min(1), namespace: z.string().nullish() };
const call = z.looseObject({ ...called, arguments: z.string() });
const customCall = z.looseObject({ ...called, input: z.string() });
const output = z.looseObject({ call_id: z.string().min(1), output: z.union([z.string(), z.array(part)]) });
const said = z.looseObject({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), z.array(part)]),
});

const IGNORED = {
  ...SHARED_IGNORED,
  truncation: z.string().nullish(),
  include: z.array(z.string()).nullish(),
  prompt_cache_options: z.looseObject({}).nullish(),
  client_metadata: z.looseObject({}).nullish(),
  max_tool_calls: z.int().nullish(),
  stream_options: z.looseObject({}).nullish(),
};

const body = z.strictObject({
  ...SHARED,
  input: z.union([z.string().min(1, 'is empty'), z.array(item).min(1, 'is empty')]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string().min(1).max(1000), z.looseObject({ id: z.string().min(1).max(1000) })]).nullish(),
  background: z.boolean().nullish(),
  max_output_tokens: tokens,
  reasoning: z.looseObject({ effort }).nullish(),
  text: z.looseObject({ format: answerFormat }).nullish(),
  prompt: refused('stored prompts are not supported'),
  ...IGNORED,
});

/** The parameters that a response repeats. */
const { instructions, max_output_tokens, previous_response_id, text, background } = body.shape;
const { model: _model, stream: _stream, ...repeated } = SHARED;
const ASKED = { ...repeated, instructions, max_output_tokens, previous_response_id, text, background };

/**
 * Reads the body; the arguments of its calls are nested `depthMax` levels at most. Throws `Problem`
 * with the parameter that does not fit.
 */
export function readResponse(raw: unknown, depthMax: number): ResponseRequest {
  const data = parseWith(body, raw, 'invalid_body');
  const read = readShared('responses', data, data.reasoning?.effort);
  const { conversation } = data;
  if (conversation && data.previous_response_id)
    throw fieldProblem('conversation', 'cannot be combined with previous_response_id: both name a session');
  const conversationId = typeof conversation === 'string' ? conversation : conversation?.id;
  return {
    ...read,
    messages: toMessages(data, { tools: read.tools, depthMax }),
    maxTokens: data.max_output_tokens ?? undefined,
    stop: undefined,
    responseFormat: toResponseFormat(data.text?.format, 'text.format'),
    ignored: [...namesSent(IGNORED, data), ...ignoredItems(data.input)],
    previousId: data.previous_response_id ?? undefined,
    conversation: conversationId,
    isBackground: data.background === true,
    asked: {
      ...Object.fromEntries(namesSent(ASKED, data).map((name) => [name, data[name as keyof typeof data]])),
      ...(conversationId === undefined ? {} : { conversation: { id: conversationId } }),
    },
  };
}

interface Reading {
  tools: ClientTools;
  depthMax: number;
}

function toMessages({ input, instructions }: z.output<typeof body>, reading: Reading): ClientMessage[] {
  const first: ClientMessage[] = instructions ? [{ role: 'system', text: instructions }] : [];
  if (typeof input === 'string') return [...first, { role: 'user', parts: [{ type: 'text', text: input }] }];
  return [...first, ...joinCalls(input.flatMap((one, at) => toItemMessages(one, `input[${at}]`, reading)))];
}

/** What other services record in a conversation of their own tools and thoughts. */
const FOREIGN_ITEMS: ReadonlySet<string> = new Set(
  (
    'reasoning web_search_call file_search_call code_interpreter_call image_generation_call local_shell_call local_shell_call_output shell_call ' +
    'shell_call_output apply_patch_call apply_patch_call_output computer_call computer_call_output tool_search_call tool_search_output ' +
    'mcp_list_tools mcp_call mcp_approval_request mcp_approval_response'
  ).split(' '),
);

/** The kinds of items that are left out; models have their reasoning from the session. */
function ignoredItems(input: z.output<typeof body>['input']): string[] {
  if (typeof input === 'string') return [];
  const types = input.flatMap(({ type }) => (type && type !== 'reasoning' && FOREIGN_ITEMS.has(type) ? [type] : []));
  return [...new Set(types)].map((type) => `input.${type}`);
}

function toItemMessages(
  one: z.output<typeof item>,
  path: string,
  { tools: { tools }, depthMax }: Reading,
): ClientMessage[] {
  if (FOREIGN_ITEMS.has(one.type ?? '')) return [];
  switch (one.type ?? 'message') {
    case 'message':
      return [toMessage(parseWith(said, one, 'invalid_body', path), path)];
    case 'function_call': {
      const { call_id: id, arguments: json, ...named } = parseWith(call, one, 'invalid_body', path);
      const input = parseArguments(json, `${path}.arguments`, depthMax);
      return [{ role: 'assistant', text: '', calls: [{ id, name: nameOfCalled(tools, named), input }] }];
    }
    case 'custom_tool_call': {
      const { call_id: id, input: text, ...named } = parseWith(customCall, one, 'invalid_body', path);
      const input = customInput(text);
      return [{ role: 'assistant', text: '', calls: [{ id, name: nameOfCalled(tools, named), input }] }];
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { call_id: callId, output: result } = parseWith(output, one, 'invalid_body', path);
      return [{ role: 'tool', callId, content: toResult(result, `${path}.output`) }];
    }
    default:
      throw fieldProblem(
        `${path}.type`,
        `expected message, item_reference, function_call, custom_tool_call or the output of one; ${JSON.stringify(one.type)} is not supported`,
      );
  }
}

/** Texts and images of a result; one text where there are no images. */
function toResult(content: z.output<typeof output>['output'], path: string): ClientResult['content'] {
  if (typeof content === 'string') return content;
  // Clients give texts several types.
  const typed = content.map((one) => (typeof one['text'] === 'string' ? { ...one, type: 'input_text' } : one));
  const parts = parseParts(typed, path, { text: 'input_text', image: 'input_image' });
  const texts = parts.flatMap((one) => (one.type === 'text' ? [one.text] : []));
  return texts.length === parts.length ? texts.join('\n') : parts;
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
