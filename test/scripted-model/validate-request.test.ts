// The requests that the Messages API refuses, and its error messages.
import { describe, expect, test } from 'vitest';
import { signatureOf } from '../../scripted-model/signature.ts';
import { validateRequest } from '../../scripted-model/validate-request.ts';

type Json = Record<string, unknown>;

function body(messages: unknown, overrides: Json = {}): Json {
  return { model: 'm', max_tokens: 100, messages, ...overrides };
}
function user(...content: unknown[]): Json {
  return { role: 'user', content: content.map((block) => (typeof block === 'string' ? text(block) : block)) };
}
function assistant(...content: unknown[]): Json {
  return { ...user(...content), role: 'assistant' };
}
function text(value: string, cached = false): Json {
  return { type: 'text', text: value, ...(cached ? { cache_control: { type: 'ephemeral' } } : {}) };
}
function call(id: string): Json {
  return { type: 'tool_use', id, name: 'read', input: {} };
}
function result(id: string, overrides: Json = {}): Json {
  return { type: 'tool_result', tool_use_id: id, content: 'ok', ...overrides };
}
const missing = (ids: string) =>
  `messages.1: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;

describe('a request is accepted', () => {
  test.each([
    ['with a plain string', body([{ role: 'user', content: 'hi' }])],
    [
      'with neighbours of the same role, which the API merges',
      body([user('a'), user('b'), assistant('c'), assistant('d'), user('e')]),
    ],
    [
      'with results over two merged messages',
      body([user('a'), assistant(call('1'), call('2')), user(result('2')), user(result('1'), 'more')]),
    ],
    ['with an empty result', body([user('a'), assistant(call('1')), user(result('1', { content: [] }))])],
    ['with an empty final answer', body([user('a'), { role: 'assistant', content: [] }])],
    [
      'with signed thinking',
      body([user('a'), assistant({ type: 'thinking', thinking: 't', signature: signatureOf('t') }, 'x'), user('b')]),
    ],
    [
      'with four breakpoints',
      body([user(text('a', true), text('b', true))], {
        system: [text('s', true)],
        tools: [{ name: 't', input_schema: { type: 'object' }, cache_control: {} }],
      }),
    ],
  ])('%s', (_, valid) => {
    expect(validateRequest(valid)).toBe(valid);
  });
});

describe('a request is refused', () => {
  test.each<[string, unknown, string]>([
    ['that is no object', [], 'Input should be an object'],
    ['without max_tokens', { model: 'm', messages: [] }, 'max_tokens: Field required'],
    ['without messages', { model: 'm', max_tokens: 1 }, 'messages: Field required'],
    ['without a model', { messages: [], max_tokens: 1 }, 'model: Field required'],
    [
      'with no tokens to answer',
      body([user('a')], { max_tokens: 0 }),
      'max_tokens: Input should be greater than or equal to 1',
    ],
    ['with an unknown field', body([user('a')], { constructor_: 1 }), 'constructor_: Extra inputs are not permitted'],
    ['with no messages', body([]), 'messages: at least one message is required'],
    ['that begins with the assistant', body([assistant('a')]), 'messages: first message must use the "user" role'],
    [
      'with a role that is none',
      body([{ role: 'tool', content: 'a' }]),
      "messages.0.role: Input should be 'user' or 'assistant'",
    ],
    [
      'with an empty message',
      body([user('a'), assistant(), user('b')]),
      'messages.1: all messages must have non-empty content except for the optional final assistant message',
    ],
    ['with an empty text', body([user('')]), 'messages: text content blocks must be non-empty'],
    ['with a blank text', body([user(' \n')]), 'messages: text content blocks must contain non-whitespace text'],
    [
      'with an empty system text',
      body([user('a')], { system: [text('')] }),
      'system: text content blocks must be non-empty',
    ],
    [
      'with a field too many in a block',
      body([user({ ...text('a'), citation: 1 })]),
      'messages.0.content.0.text.citation: Extra inputs are not permitted',
    ],
    [
      'with white space at the end of a final answer',
      body([user('a'), assistant('b ')]),
      'messages: final assistant content cannot end with trailing whitespace',
    ],
    [
      'with a call of the user',
      body([user(call('1'))]),
      'messages.0.content.0: `tool_use` blocks can only be in `assistant` messages',
    ],
    [
      'with a result of the assistant',
      body([user('a'), assistant(result('1'))]),
      'messages.1.content.0: `tool_result` blocks can only be in `user` messages',
    ],
    [
      'with a call whose input is no object',
      body([user('a'), assistant({ ...call('1'), input: 'x' })]),
      'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
    ],
    [
      'with a call whose id is none',
      body([user('a'), assistant(call('a b'))]),
      "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ],
    [
      'with an empty error result',
      body([user('a'), assistant(call('1')), user(result('1', { content: '', is_error: true }))]),
      'messages.2.content.0.tool_result: content cannot be empty if `is_error` is true',
    ],
    [
      'with an empty text in a result',
      body([user('a'), assistant(call('1')), user(result('1', { content: [text('')] }))]),
      'messages: text content blocks must be non-empty',
    ],
    [
      'with an image of no known type',
      body([user({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'x' } })]),
      "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ],
    [
      'with thinking that was changed',
      body([user('a'), assistant({ type: 'thinking', thinking: 'T', signature: signatureOf('t') }), user('b')]),
      'messages.1.content.0: Invalid `signature` in `thinking` block',
    ],
    [
      'with a tool name that is none',
      body([user('a')], { tools: [{ name: 'a b', input_schema: { type: 'object' } }] }),
      "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ],
    [
      'with a tool twice',
      body([user('a')], { tools: [1, 2].map(() => ({ name: 'a', input_schema: { type: 'object' } })) }),
      'tools: Tool names must be unique.',
    ],
    [
      'with a tool without a schema',
      body([user('a')], { tools: [{ name: 'a' }] }),
      'tools.0.custom.input_schema: Field required',
    ],
    [
      'with five breakpoints',
      body([user(...[1, 2, 3, 4, 5].map((n) => text(`${n}`, true)))]),
      'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    ],
    [
      'with too little thinking',
      body([user('a')], { thinking: { type: 'enabled', budget_tokens: 10 } }),
      'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    ],
    [
      'with more thinking than tokens',
      body([user('a')], { thinking: { type: 'enabled', budget_tokens: 2000 } }),
      '`max_tokens` must be greater than `thinking.budget_tokens`.',
    ],
    [
      'with a budget for a model that thinks adaptively',
      body([user('a')], { model: 'claude-sonnet-5-5', thinking: { type: 'enabled', budget_tokens: 1024 } }),
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    ],
    [
      'with adaptive thinking for a model that takes a budget',
      body([user('a')], { model: 'claude-haiku-4-5', thinking: { type: 'adaptive' } }),
      'adaptive thinking is not supported on this model',
    ],
    [
      'with thinking turned off where it cannot be',
      body([user('a')], { model: 'claude-opus-5-5', thinking: { type: 'disabled' } }),
      '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    ],
    [
      'with an effort that is none',
      body([user('a')], { output_config: { effort: 'huge' } }),
      "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ],
    [
      'with a call without its result',
      body([user('a'), assistant(call('1'), call('2')), user(result('2'))]),
      missing('1'),
    ],
    ['with calls at the end', body([user('a'), assistant(call('1'), call('2'))]), missing('1, 2')],
    ['with text before the results', body([user('a'), assistant(call('1')), user('well', result('1'))]), missing('1')],
    [
      'with a result too many',
      body([user('a'), assistant(call('1')), user(result('1'), result('9'))]),
      'messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: 9. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    ],
    [
      'with a result that comes too late',
      body([user('a'), assistant(call('1')), user(result('1')), assistant('x'), user(result('1'))]),
      'messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: 1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    ],
    [
      'with two results for a call',
      body([user('a'), assistant(call('1')), user(result('1'), result('1'))]),
      'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: 1',
    ],
    [
      'with an id used twice',
      body([user('a'), assistant(call('1')), user(result('1')), assistant(call('1')), user(result('1'))]),
      'messages.3.content.0: `tool_use` ids must be unique',
    ],
  ])('%s', (_, invalid, message) => {
    expect(() => validateRequest(invalid)).toThrow(
      expect.objectContaining({ status: 400, type: 'invalid_request_error', message }),
    );
  });

  test.each(['nonsense', 'constructor', 'undefined'])('with a block of the unknown type %s', (type) => {
    expect(() => validateRequest(body([user({ type })]))).toThrow(
      `messages.0.content.0: Input tag '${type}' found using 'type' does not match any of the expected tags`,
    );
  });

  test('with a system message among the messages', () => {
    expect(() => validateRequest(body([{ role: 'system', content: 'x' }]))).toThrow('Unexpected role "system"');
  });
});
