// Checks a request of Responses as OpenAI does with `store: false`, with its words, and reads it
// into one of the Messages API. The items that the model wrote one after another are one answer.
import { ProviderError } from '../provider-error.ts';
import type { MessagesRequest, WireBlock, WireMessage } from '../wire.ts';
import type { Exchange } from './model-wire.ts';
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
  schemaOf,
  refused,
  unsupported,
} from './openai-errors.ts';
import { openReasoning } from './sealed-reasoning.ts';

const REQUEST_FIELDS: ReadonlySet<string> = new Set(
  'model input instructions tools tool_choice parallel_tool_calls store stream stream_options include reasoning text max_output_tokens max_tool_calls temperature top_p top_logprobs truncation metadata previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier service_tier user background conversation context_management'.split(
    ' ',
  ),
);
const ITEM_FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  message: new Set(['type', 'id', 'role', 'content', 'status', 'phase']),
  function_call: new Set(['type', 'id', 'call_id', 'name', 'arguments', 'status', 'namespace']),
  function_call_output: new Set(['type', 'id', 'call_id', 'output', 'status']),
  reasoning: new Set(['type', 'id', 'summary', 'content', 'encrypted_content', 'status']),
};
const ID_STARTS: Readonly<Record<string, string>> = { message: 'msg', function_call: 'fc', reasoning: 'rs' };
const ROLES = ['assistant', 'system', 'developer', 'user'];
const INPUT_PARTS = ['input_text', 'input_image', 'input_file'];
const OUTPUT_PARTS = ['output_text', 'refusal'];
const ID_CHARS_MAX = 64;
const OUTPUT_TOKENS_MIN = 16;

/** Throws `ProviderError` 400 or 404 at the first thing that OpenAI would refuse. */
export function readResponses(body: unknown, { organisation }: Pick<Exchange, 'organisation'>): MessagesRequest {
  const request = asRecord(body, 'body');
  checkFields(request, REQUEST_FIELDS, '');
  const model = asText(request['model'], 'model');
  checkSettings(request);
  const tools = request['tools'] === undefined ? [] : (request['tools'] as unknown[]).map(readTool);
  const reader = new InputReader(model, organisation);
  if (typeof request['instructions'] === 'string') reader.system.push({ type: 'text', text: request['instructions'] });
  if (typeof request['input'] === 'string') reader.add('user', [{ type: 'text', text: request['input'] }]);
  else for (const [index, item] of asList(request['input'], 'input').entries()) reader.read(item, `input[${index}]`);
  reader.end();
  const { system, messages } = reader;
  const { format } = asRecord(request['text'] ?? {}, 'text');
  return cachedByItself({
    model,
    max_tokens: Number.MAX_SAFE_INTEGER,
    messages,
    system,
    tools,
    stream: request['stream'] === true,
    ...(typeof request['prompt_cache_key'] === 'string' && { cacheKey: request['prompt_cache_key'] }),
    ...(format !== undefined && schemaOf(format, 'text.format')),
  });
}

function checkSettings(request: Record<string, unknown>): void {
  const { max_output_tokens: tokens, previous_response_id: previous, tools } = request;
  if (typeof tokens === 'number' && tokens < OUTPUT_TOKENS_MIN) {
    const why = `: integer below minimum value. Expected a value >= ${OUTPUT_TOKENS_MIN}, but got ${tokens} instead.`;
    throw invalid('max_output_tokens', why, 'integer_below_min_value');
  }
  if (typeof previous === 'string') {
    const message = `Previous response with id '${previous}' not found.`;
    throw refused(message, 'previous_response_id', 'previous_response_not_found');
  }
  if (tools !== undefined && !Array.isArray(tools)) asRecord(tools, 'tools');
}

function readTool(value: unknown, index: number): Record<string, unknown> {
  const tool = asRecord(value, `tools[${index}]`);
  const type = asText(tool['type'], `tools[${index}].type`);
  if (type === 'function') checkFunction(tool, `tools[${index}]`);
  return tool;
}

/** A reasoning item whose following item has not come yet. */
interface OpenReasoning {
  id: string;
  next: string;
}

class InputReader {
  readonly system: WireBlock[] = [];
  readonly messages: WireMessage[] = [];
  readonly #exchange: { model: string; organisation: string };
  readonly #ids = new Set<string>();
  /** The calls without an output so far. */
  readonly #open = new Set<string>();
  #reasoning: OpenReasoning | null = null;

  constructor(model: string, organisation: string) {
    this.#exchange = { model, organisation };
  }

  read(value: unknown, at: string): void {
    const item = asRecord(value, at);
    const type = asText(item['type'] ?? 'message', `${at}.type`);
    if (type === 'item_reference') throw notFound(asText(item['id'], `${at}.id`));
    const fields = ITEM_FIELDS[type];
    if (fields === undefined) throw unsupported(type, [...Object.keys(ITEM_FIELDS), 'item_reference'], at);
    checkFields(item, fields, at);
    const id = this.#idOf(item['id'], type, at);
    const isWritten = type === 'function_call' || (type === 'message' && item['role'] === 'assistant');
    if (type !== 'reasoning') this.#follow(item, { type, id, isWritten });
    switch (type) {
      case 'message':
        return this.#readMessage(item, at);
      case 'function_call':
        return this.#readCall(item, at);
      case 'function_call_output':
        return this.#readOutput(item, at);
      default:
        return this.#readReasoning(item, id, at);
    }
  }

  /** After the last item. */
  end(): void {
    if (this.#reasoning !== null) throw unfollowed(this.#reasoning.id);
    for (const id of this.#open) throw refused(`No tool output found for function call ${id}.`, 'input');
  }

  add(role: 'user' | 'assistant', blocks: WireBlock[]): void {
    const last = this.messages.at(-1);
    if (role === 'assistant' && last?.role === 'assistant' && Array.isArray(last.content)) last.content.push(...blocks);
    else this.messages.push({ role, content: blocks });
  }

  #idOf(value: unknown, type: string, at: string): string | undefined {
    if (value === undefined || value === null) return undefined;
    const id = asText(value, `${at}.id`, ID_CHARS_MAX);
    // xAI, which speaks this wire too, takes any id.
    const start = this.#exchange.model.startsWith('grok') ? undefined : ID_STARTS[type];
    if (!/^[\w-]+$/.test(id)) {
      throw invalid(
        `${at}.id`,
        `: '${id}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`,
      );
    }
    if (start !== undefined && !id.startsWith(start)) {
      throw invalid(`${at}.id`, `: '${id}'. Expected an ID that begins with '${start}'.`);
    }
    if (this.#ids.has(id)) {
      throw refused(
        `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
        'input',
      );
    }
    this.#ids.add(id);
    return id;
  }

  /**
   * Checks that reasoning stands before the item that followed it, and an item after the reasoning
   * that it followed.
   */
  #follow(
    item: Record<string, unknown>,
    { type, id, isWritten }: { type: string; id: string | undefined; isWritten: boolean },
  ): void {
    const reasoning = this.#reasoning;
    this.#reasoning = null;
    const reasoningId = id === undefined ? undefined : /^(?:msg|fc)_r(\w+)$/.exec(id)?.[1];
    if (reasoning === null) {
      if (reasoningId === undefined || !isWritten) return;
      throw refused(
        `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: 'rs_${reasoningId}'.`,
        'input',
      );
    }
    const own = type === 'function_call' ? item['call_id'] : (id ?? reasoning.next);
    if (!isWritten || own !== reasoning.next) throw unfollowed(reasoning.id);
  }

  #readMessage(item: Record<string, unknown>, at: string): void {
    const role = String(item['role']);
    if (!ROLES.includes(role)) throw unsupported(item['role'], ROLES, `${at}.role`);
    const isAnswer = role === 'assistant';
    const blocks = partsOf(item['content'], isAnswer ? OUTPUT_PARTS : INPUT_PARTS, `${at}.content`);
    if (role === 'system' || role === 'developer') this.system.push(...blocks);
    else this.add(isAnswer ? 'assistant' : 'user', blocks);
  }

  #readCall(item: Record<string, unknown>, at: string): void {
    const id = asText(item['call_id'], `${at}.call_id`, ID_CHARS_MAX);
    const name = asName(item['name'], `${at}.name`);
    this.#open.add(id);
    this.add('assistant', [{ type: 'tool_use', id, name, input: asText(item['arguments'], `${at}.arguments`) }]);
  }

  #readOutput(item: Record<string, unknown>, at: string): void {
    const id = asText(item['call_id'], `${at}.call_id`, ID_CHARS_MAX);
    if (!this.#open.delete(id)) {
      throw refused(`No tool call found for function call output with call_id ${id}.`, 'input');
    }
    const content = partsOf(item['output'], INPUT_PARTS, `${at}.output`);
    this.add('user', [{ type: 'tool_result', tool_use_id: id, content }]);
  }

  #readReasoning(item: Record<string, unknown>, id: string | undefined, at: string): void {
    if (!Array.isArray(item['summary'])) throw missing(`${at}.summary`);
    if (this.#reasoning !== null) throw unfollowed(this.#reasoning.id);
    const content = item['encrypted_content'];
    if (typeof content !== 'string') throw notFound(id ?? 'rs_');
    this.#reasoning = openReasoning(content, { ...this.#exchange, ...(id !== undefined && { id }) });
    this.add('assistant', [{ type: 'redacted_thinking', data: content }]);
  }
}

function unfollowed(id: string): ProviderError {
  return refused(`Item '${id}' of type 'reasoning' was provided without its required following item.`, 'input');
}

function notFound(id: string): ProviderError {
  return new ProviderError({
    status: 404,
    type: 'invalid_request_error',
    message: `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    param: 'input',
  });
}

function partsOf(content: unknown, types: readonly string[], at: string): WireBlock[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return asList(content, at).map((value, index): WireBlock => {
    const place = `${at}[${index}]`;
    const part = asRecord(value, place);
    const type = String(part['type']);
    if (!types.includes(type)) throw unsupported(part['type'], types, `${place}.type`);
    if (type === 'refusal') return { type: 'text', text: asText(part['refusal'], `${place}.refusal`) };
    if (type !== 'input_image') {
      return type === 'input_file'
        ? { type: 'document', source: part }
        : { type: 'text', text: asText(part['text'], `${place}.text`) };
    }
    return { type: 'image', source: part['file_id'] ?? checkImageUrl(part['image_url'], `${place}.image_url`) };
  });
}
