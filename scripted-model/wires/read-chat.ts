// Checks a request of Chat Completions as OpenAI does, with its words, and reads it into one of the
// Messages API.
import type { MessagesRequest, WireBlock, WireMessage } from '../wire.ts';
import { isRecord } from '../wire.ts';
import { cachedByItself } from './model-wire.ts';
import {
  asList,
  asName,
  asRecord,
  asText,
  checkFields,
  checkFunction,
  checkImageUrl,
  invalid,
  missing,
  refused,
  schemaOf,
  unsupported,
} from './openai-errors.ts';

const REQUEST_FIELDS: ReadonlySet<string> = new Set(
  'messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options'.split(
    ' ',
  ),
);
const ROLES = ['system', 'assistant', 'user', 'function', 'tool', 'developer'];
/** `reasoning_content` is what compatible servers call the reasoning that they show. */
const MESSAGE_FIELDS: ReadonlySet<string> = new Set(
  'role content name refusal annotations audio tool_calls tool_call_id function_call reasoning_content reasoning'.split(
    ' ',
  ),
);
const PART_TYPES = ['text', 'image_url', 'input_audio', 'refusal', 'audio', 'file'];
const CALL_ID_CHARS_MAX = 40;

/** Throws `ProviderError` 400 at the first thing that OpenAI would refuse. */
export function readChat(body: unknown): MessagesRequest {
  const request = asRecord(body, 'body');
  if (typeof request['model'] !== 'string' || request['model'] === '') {
    throw refused('you must provide a model parameter', null);
  }
  checkFields(request, REQUEST_FIELDS, '');
  const tools = request['tools'] === undefined ? [] : asList(request['tools'], 'tools').map(readTool);
  const format = request['response_format'];
  const { system, messages } = readMessages(asList(request['messages'], 'messages'));
  return cachedByItself({
    model: request['model'],
    max_tokens: Number.MAX_SAFE_INTEGER,
    messages,
    system,
    tools,
    stream: request['stream'] === true,
    ...(typeof request['prompt_cache_key'] === 'string' && { cacheKey: request['prompt_cache_key'] }),
    ...(format !== undefined && schemaOf(format, 'response_format', 'json_schema')),
  });
}

function readTool(value: unknown, index: number): Record<string, unknown> {
  const at = `tools[${index}]`;
  const tool = asRecord(value, at);
  if (tool['type'] !== 'function') throw unsupported(tool['type'], ['function', 'custom'], `${at}.type`);
  checkFunction(asRecord(tool['function'], `${at}.function`), `${at}.function`);
  return tool;
}

function readMessages(values: readonly unknown[]): { system: WireBlock[]; messages: WireMessage[] } {
  const system: WireBlock[] = [];
  const messages: WireMessage[] = [];
  let open = new Set<string>();
  let callsAt = 0;
  for (const [index, value] of values.entries()) {
    const message = asRecord(value, `messages[${index}]`);
    checkFields(message, MESSAGE_FIELDS, `messages[${index}]`);
    const role = String(message['role']);
    if (role !== 'tool') refuseOpen(open, callsAt);
    switch (role) {
      case 'system':
      case 'developer':
        system.push(...blocksOf(message['content'], role, index));
        break;
      case 'user':
        messages.push({ role: 'user', content: blocksOf(message['content'], role, index) });
        break;
      case 'assistant': {
        const content = assistantBlocks(message, index);
        messages.push({ role: 'assistant', content });
        open = new Set(content.flatMap(({ type, id }) => (type === 'tool_use' ? [String(id)] : [])));
        callsAt = index;
        break;
      }
      case 'tool':
        messages.push({ role: 'user', content: [resultOf(message, index, open)] });
        break;
      default:
        throw unsupported(message['role'], ROLES, `messages[${index}].role`);
    }
  }
  refuseOpen(open, callsAt);
  return { system, messages };
}

function refuseOpen(open: ReadonlySet<string>, callsAt: number): void {
  if (open.size === 0) return;
  throw refused(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
    `messages.[${callsAt + 1}].role`,
  );
}

function resultOf(message: Record<string, unknown>, index: number, open: Set<string>): WireBlock {
  const id = asText(message['tool_call_id'], `messages[${index}].tool_call_id`);
  if (!open.delete(id)) {
    throw refused(
      `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.`,
      `messages.[${index}].role`,
    );
  }
  return { type: 'tool_result', tool_use_id: id, content: blocksOf(message['content'], 'tool', index) };
}

function assistantBlocks(message: Record<string, unknown>, index: number): WireBlock[] {
  const calls = message['tool_calls'];
  const hasText = message['content'] !== undefined && message['content'] !== null;
  const texts = hasText || (calls === undefined && !message['refusal']);
  const blocks = texts ? blocksOf(message['content'], 'assistant', index) : [];
  if (calls === undefined) return blocks;
  const at = `messages[${index}].tool_calls`;
  return [...blocks, ...asList(calls, at).map((call, place) => callOf(call, `${at}[${place}]`))];
}

function callOf(value: unknown, at: string): WireBlock {
  const call = asRecord(value, at);
  if (call['type'] !== 'function') throw unsupported(call['type'], ['function', 'custom'], `${at}.type`);
  const definition = asRecord(call['function'], `${at}.function`);
  return {
    type: 'tool_use',
    id: asText(call['id'], `${at}.id`, CALL_ID_CHARS_MAX),
    name: asName(definition['name'], `${at}.function.name`),
    input: asText(definition['arguments'], `${at}.function.arguments`),
  };
}

function blocksOf(content: unknown, role: string, index: number): WireBlock[] {
  const at = `messages[${index}].content`;
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (content === undefined) throw missing(at);
  if (content === null) {
    throw refused(`Invalid value for 'content': expected a string, got null.`, `messages.[${index}].content`);
  }
  return asList(content, at).map((value, place) => blockOf(value, { role, index, at: `${at}[${place}]` }));
}

function blockOf(value: unknown, { role, index, at }: { role: string; index: number; at: string }): WireBlock {
  const part = asRecord(value, at);
  switch (part['type']) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: asText(part[part['type']], `${at}.${part['type']}`) };
    case 'image_url': {
      if (role !== 'user') {
        const why = `. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`;
        throw invalid(`messages[${index}]`, why);
      }
      const image = isRecord(part['image_url']) ? part['image_url'] : {};
      return { type: 'image', source: checkImageUrl(image['url'], `${at}.image_url.url`) };
    }
    case 'input_audio':
    case 'audio':
    case 'file':
      return { type: 'document', source: part };
    default:
      throw unsupported(part['type'], PART_TYPES, `${at}.type`);
  }
}
