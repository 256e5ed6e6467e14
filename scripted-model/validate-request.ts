// Checks a request as the Messages API does, with its words, so that what passes here passes there:
// fields, roles, blocks, the pairing of tool calls and results, cache breakpoints. One walk over
// the body; the first fault is thrown.
import { schemaFaultOf } from './schema-fault.ts';
import { checkBlock } from './validate-block.ts';
import { checkThinking } from './validate-thinking.ts';
import { invalidRequest } from './provider-error.ts';
import type { MessagesRequest, WireBlock } from './wire.ts';
import { blocksOf, isRecord } from './wire.ts';

const REQUEST_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'max_tokens',
  'system',
  'tools',
  'tool_choice',
  'stream',
  'thinking',
  'temperature',
  'top_k',
  'top_p',
  'stop_sequences',
  'metadata',
  'service_tier',
  'container',
  'context_management',
  'mcp_servers',
  'output_config',
  'cache_control',
  'inference_geo',
]);
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;
const CACHE_BREAKPOINTS_MAX = 4;

/**
 * Returns the body as a request; throws `ProviderError` 400 with the API's message at the first
 * thing the API would refuse.
 */
export function validateRequest(body: unknown): MessagesRequest {
  const request = checkFields(body);
  checkThinking(request);
  const breakpoints =
    checkTools(request['tools']) + checkSystem(request['system']) + checkMessages(request['messages']);
  if (breakpoints > CACHE_BREAKPOINTS_MAX) {
    throw invalidRequest(
      `A maximum of ${CACHE_BREAKPOINTS_MAX} blocks with cache_control may be provided. Found ${breakpoints}.`,
    );
  }
  // Every field of the type was checked above.
  return request as unknown as MessagesRequest;
}

/** As `validateRequest`, for `POST /v1/messages/count_tokens`, which knows no `max_tokens`. */
export function validateCountRequest(body: unknown): MessagesRequest {
  return validateRequest(isRecord(body) ? { ...body, max_tokens: Number.MAX_SAFE_INTEGER } : body);
}

function checkFields(body: unknown): Record<string, unknown> {
  if (!isRecord(body)) throw invalidRequest('Input should be an object');
  for (const field of ['max_tokens', 'messages', 'model']) {
    if (body[field] === undefined) throw invalidRequest(`${field}: Field required`);
  }
  for (const field of Object.keys(body)) {
    if (!REQUEST_FIELDS.has(field)) throw invalidRequest(`${field}: Extra inputs are not permitted`);
  }
  const { model, max_tokens: maxTokens, stream } = body;
  if (typeof model !== 'string' || model === '') throw invalidRequest('model: Input should be a valid string');
  if (!Number.isInteger(maxTokens)) throw invalidRequest('max_tokens: Input should be a valid integer');
  if (Number(maxTokens) < 1) throw invalidRequest('max_tokens: Input should be greater than or equal to 1');
  if (stream !== undefined && typeof stream !== 'boolean')
    throw invalidRequest('stream: Input should be a valid boolean');
  return body;
}

function checkTools(tools: unknown): number {
  if (tools === undefined) return 0;
  if (!Array.isArray(tools)) throw invalidRequest('tools: Input should be a valid list');
  const names = new Set<unknown>();
  let breakpoints = 0;
  for (const [index, tool] of (tools as unknown[]).entries()) {
    const at = `tools.${index}`;
    if (!isRecord(tool)) throw invalidRequest(`${at}: Input should be an object`);
    const { name, input_schema: schema } = tool;
    if (name === undefined) throw invalidRequest(`${at}.custom.name: Field required`);
    if (typeof name !== 'string' || !TOOL_NAME.test(name)) {
      throw invalidRequest(`${at}.custom.name: String should match pattern '${TOOL_NAME.source}'`);
    }
    if (names.has(name)) throw invalidRequest('tools: Tool names must be unique.');
    names.add(name);
    // The provider's own tools have a type of their own and no schema.
    const isCustom = tool['type'] === undefined || tool['type'] === 'custom';
    if (isCustom && !isRecord(schema)) throw invalidRequest(`${at}.custom.input_schema: Field required`);
    if (isCustom && isRecord(schema) && schema['type'] !== 'object') {
      throw invalidRequest(`${at}.custom.input_schema.type: Input should be 'object'`);
    }
    if (isCustom && isRecord(schema)) checkSchema(schema, `${at}.custom.input_schema`);
    if (tool['cache_control']) breakpoints += 1;
  }
  return breakpoints;
}

function checkSchema(schema: Record<string, unknown>, at: string): void {
  if (schemaFaultOf(schema) !== null) {
    throw invalidRequest(
      `${at}: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.`,
    );
  }
  if (['oneOf', 'allOf', 'anyOf'].some((keyword) => keyword in schema)) {
    throw invalidRequest(`${at}: input_schema does not support oneOf, allOf, or anyOf at the top level`);
  }
  const { properties = {} } = schema;
  if (!Object.keys(properties as object).every((key) => PROPERTY_KEY.test(key))) {
    throw invalidRequest(`${at}.properties: Property keys should match pattern '${PROPERTY_KEY.source}'`);
  }
}

function checkSystem(system: unknown): number {
  if (system === undefined || typeof system === 'string') return 0;
  if (!Array.isArray(system)) throw invalidRequest('system: Input should be a valid list');
  let breakpoints = 0;
  for (const [index, block] of (system as unknown[]).entries()) {
    if (!isRecord(block) || block['type'] !== 'text' || typeof block['text'] !== 'string') {
      throw invalidRequest(`system.${index}: Input should be a text block`);
    }
    if (block['text'] === '') throw invalidRequest('system: text content blocks must be non-empty');
    if (block['cache_control']) breakpoints += 1;
  }
  return breakpoints;
}

function checkMessages(messages: unknown): number {
  if (!Array.isArray(messages)) throw invalidRequest('messages: Input should be a valid list');
  if (messages.length === 0) throw invalidRequest('messages: at least one message is required');
  const pairing = new Pairing();
  let breakpoints = 0;
  for (const [index, message] of (messages as unknown[]).entries()) {
    const role = checkMessage(message, index, index === messages.length - 1);
    if (index === 0 && role !== 'user') throw invalidRequest('messages: first message must use the "user" role');
    pairing.begin(role, index);
    // `checkMessage` has checked the shape.
    const blocks = blocksOf((message as { content: string | WireBlock[] }).content);
    for (const [blockIndex, block] of blocks.entries()) {
      const at = `messages.${index}.content.${blockIndex}`;
      checkBlock(block, role, at);
      pairing.take(block, at);
      if (block.cache_control) breakpoints += 1;
    }
  }
  pairing.end();
  return breakpoints;
}

function checkMessage(message: unknown, index: number, isLast: boolean): 'user' | 'assistant' {
  const at = `messages.${index}`;
  if (!isRecord(message)) throw invalidRequest(`${at}: Input should be an object`);
  const { role, content } = message;
  if (role === 'system') {
    throw invalidRequest(
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    );
  }
  if (role !== 'user' && role !== 'assistant')
    throw invalidRequest(`${at}.role: Input should be 'user' or 'assistant'`);
  if (content === undefined) throw invalidRequest(`${at}.content: Field required`);
  if (typeof content !== 'string' && !Array.isArray(content)) {
    throw invalidRequest(`${at}.content: Input should be a valid list`);
  }
  const isFinalAnswer = isLast && role === 'assistant';
  if (content.length === 0 && !isFinalAnswer) {
    throw invalidRequest(
      `${at}: all messages must have non-empty content except for the optional final assistant message`,
    );
  }
  if (isFinalAnswer) checkFinalAnswer(content as string | WireBlock[]);
  return role;
}

function checkFinalAnswer(content: string | WireBlock[]): void {
  const last = blocksOf(content).at(-1);
  const text = last?.type === 'text' ? last['text'] : undefined;
  if (typeof text === 'string' && text !== text.trimEnd()) {
    throw invalidRequest('messages: final assistant content cannot end with trailing whitespace');
  }
}

/**
 * Follows tool calls and their results through the messages. Neighbours of the same role count as
 * one message, as the API merges them; the results come first in the message after the calls, one
 * for each.
 */
class Pairing {
  readonly #callIds = new Set<string>();
  #role: 'user' | 'assistant' | null = null;
  /** The calls of the previous assistant message that have no result yet. */
  #open = new Set<string>();
  #closed = new Set<string>();
  #callsAt = 0;

  begin(role: 'user' | 'assistant', index: number): void {
    if (role === this.#role) return;
    if (role === 'assistant') {
      this.#refuseOpen();
      this.#closed = new Set();
      this.#callsAt = index;
    }
    this.#role = role;
  }

  take(block: WireBlock, at: string): void {
    if (block.type === 'tool_use') {
      // `checkBlock` has checked that both ids are strings.
      const id = block['id'] as string;
      if (this.#callIds.has(id)) throw invalidRequest(`${at}: \`tool_use\` ids must be unique`);
      this.#callIds.add(id);
      this.#open.add(id);
    } else if (block.type === 'tool_result') {
      this.#close(block['tool_use_id'] as string, at);
    } else if (this.#role === 'user') {
      this.#refuseOpen();
    }
  }

  end(): void {
    this.#refuseOpen();
  }

  #close(id: string, at: string): void {
    if (this.#closed.has(id)) {
      throw invalidRequest(
        `${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      );
    }
    if (!this.#open.delete(id)) {
      throw invalidRequest(
        `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
    this.#closed.add(id);
  }

  #refuseOpen(): void {
    if (this.#open.size === 0) return;
    throw invalidRequest(
      `messages.${this.#callsAt}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...this.#open].join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    );
  }
}
