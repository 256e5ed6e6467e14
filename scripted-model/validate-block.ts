// Checks one content block of a message as the Messages API does: known type, allowed role,
// required and extra fields, no blank texts, and signatures of thinking that were not tampered
// with.
import { invalidRequest } from './provider-error.ts';
import { signatureOf } from './signature.ts';
import type { WireBlock } from './wire.ts';
import { isRecord } from './wire.ts';

/** The fields of the blocks that Holdfast sends; the API refuses any other in them. */
const FIELDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['text', new Set(['type', 'text', 'cache_control', 'citations'])],
  ['image', new Set(['type', 'source', 'cache_control'])],
  ['tool_use', new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller'])],
  ['tool_result', new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control'])],
  ['thinking', new Set(['type', 'thinking', 'signature'])],
  ['redacted_thinking', new Set(['type', 'data'])],
]);
/** Known to the API, and let through as they are. */
const OTHER_TYPES: ReadonlySet<string> = new Set([
  'document',
  'search_result',
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'container_upload',
]);
const ROLE_OF_TYPE: ReadonlyMap<string, 'user' | 'assistant'> = new Map<string, 'user' | 'assistant'>([
  ['tool_use', 'assistant'],
  ['thinking', 'assistant'],
  ['redacted_thinking', 'assistant'],
  ['tool_result', 'user'],
  ['image', 'user'],
]);
const TOOL_USE_ID = /^[a-zA-Z0-9_-]+$/;
const TOOL_USE_NAME = /^[a-zA-Z0-9_-]{1,200}$/;
const IMAGE_TYPES: ReadonlySet<unknown> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/**
 * Throws `ProviderError` 400 when the API would refuse the block; `at` names its place
 * (`messages.2.content.0`).
 */
export function checkBlock(block: unknown, role: 'user' | 'assistant', at: string): asserts block is WireBlock {
  if (!isRecord(block)) throw invalidRequest(`${at}: Input should be an object`);
  const type = String(block['type']);
  const fields = FIELDS.get(type);
  if (!fields) {
    if (OTHER_TYPES.has(type)) return;
    const known = [...FIELDS.keys(), ...OTHER_TYPES].map((name) => `'${name}'`).join(', ');
    throw invalidRequest(
      `${at}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${known}`,
    );
  }
  for (const field in block) {
    if (!fields.has(field)) throw invalidRequest(`${at}.${type}.${field}: Extra inputs are not permitted`);
  }
  const onlyRole = ROLE_OF_TYPE.get(type);
  if (onlyRole && onlyRole !== role) {
    throw invalidRequest(`${at}: \`${type}\` blocks can only be in \`${onlyRole}\` messages`);
  }
  checkFieldsOf(type, block, at);
}

function checkFieldsOf(type: string, block: Record<string, unknown>, at: string): void {
  switch (type) {
    case 'text':
      return checkText(block['text'], `${at}.text.text`);
    case 'tool_use':
      return checkToolUse(block, `${at}.tool_use`);
    case 'tool_result':
      return checkToolResult(block, `${at}.tool_result`);
    case 'image':
      return checkImage(block['source'], `${at}.image.source`);
    case 'thinking':
      return checkThinking(block, at);
    default:
      if (typeof block['data'] !== 'string') throw invalidRequest(`${at}.${type}.data: Field required`);
  }
}

function checkText(text: unknown, at: string): void {
  if (typeof text !== 'string') throw invalidRequest(`${at}: Field required`);
  if (text === '') throw invalidRequest('messages: text content blocks must be non-empty');
  // A check of the first character spares most texts the search.
  if (text.charCodeAt(0) <= 32 && text.trim() === '') {
    throw invalidRequest('messages: text content blocks must contain non-whitespace text');
  }
}

function checkToolUse(block: Record<string, unknown>, at: string): void {
  const { id, name, input } = block;
  if (typeof id !== 'string' || !TOOL_USE_ID.test(id)) {
    throw invalidRequest(`${at}.id: String should match pattern '${TOOL_USE_ID.source}'`);
  }
  if (typeof name !== 'string' || !TOOL_USE_NAME.test(name)) {
    throw invalidRequest(`${at}.name: String should match pattern '${TOOL_USE_NAME.source}'`);
  }
  if (!isRecord(input)) throw invalidRequest(`${at}.input: Input should be a valid dictionary`);
}

function checkToolResult(block: Record<string, unknown>, at: string): void {
  const { tool_use_id: id, content, is_error: isError } = block;
  if (typeof id !== 'string' || id === '') throw invalidRequest(`${at}.tool_use_id: Field required`);
  if (isError !== undefined && typeof isError !== 'boolean') {
    throw invalidRequest(`${at}.is_error: Input should be a valid boolean`);
  }
  const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0);
  if (isEmpty && isError === true) throw invalidRequest(`${at}: content cannot be empty if \`is_error\` is true`);
  if (isEmpty || typeof content === 'string') return;
  if (!Array.isArray(content)) throw invalidRequest(`${at}.content: Input should be a valid list`);
  for (const [index, inner] of (content as unknown[]).entries()) checkBlock(inner, 'user', `${at}.content.${index}`);
}

function checkImage(source: unknown, at: string): void {
  if (!isRecord(source)) throw invalidRequest(`${at}: Field required`);
  if (source['type'] !== 'base64') return;
  if (!IMAGE_TYPES.has(source['media_type'])) {
    throw invalidRequest(
      `${at}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
    );
  }
  if (typeof source['data'] !== 'string' || source['data'] === '') {
    throw invalidRequest(`${at}.base64.data: Field required`);
  }
}

function checkThinking(block: Record<string, unknown>, at: string): void {
  const { thinking, signature } = block;
  if (typeof thinking !== 'string') throw invalidRequest(`${at}.thinking.thinking: Field required`);
  if (typeof signature !== 'string') throw invalidRequest(`${at}.thinking.signature: Field required`);
  if (signature !== signatureOf(thinking)) throw invalidRequest(`${at}: Invalid \`signature\` in \`thinking\` block`);
}
