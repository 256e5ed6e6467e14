import { describe, expect, test } from 'vitest';
import { readInjectedMessages } from '../../../src/prompt/read-contributions.ts';

const read = (value: unknown) => readInjectedMessages('p', value);
const text = (value: string) => ({ type: 'text', text: value });

test('texts and blocks become messages that know their plugin', () => {
  expect(
    read([
      { role: 'user', content: 'q' },
      { role: 'assistant', content: [text('a'), { type: 'tool_use', id: 't1', name: 'look', input: { at: 'x' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'seen', is_error: true }] },
      {
        role: 'user',
        content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' }, note: 'own' }],
      },
    ]),
  ).toEqual([
    { plugin: 'p', role: 'user', content: [text('q')] },
    {
      plugin: 'p',
      role: 'assistant',
      content: [text('a'), { type: 'tool_use', id: 't1', name: 'look', input: { at: 'x' } }],
    },
    {
      plugin: 'p',
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't1', content: [text('seen')], is_error: true }],
    },
    {
      plugin: 'p',
      role: 'user',
      content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }],
    },
  ]);
});

test('blank messages and blocks are left out', () => {
  expect(
    read([
      { role: 'assistant', content: ' ' },
      { role: 'user', content: [text(''), text('x')] },
    ]),
  ).toEqual([{ plugin: 'p', role: 'user', content: [text('x')] }]);
  expect(read(undefined)).toEqual([]);
});

test('the sent messages are copies: later changes by the plugin have no effect', () => {
  const input = { key: 'before' };
  const [message] = read([{ role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'n', input }] }]);
  input.key = 'after';
  expect(JSON.stringify(message)).toContain('before');
});

describe('is refused by its place', () => {
  const content = (block: unknown) => [{ role: 'user', content: [block] }];
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;

  test.each<[string, unknown, string]>([
    ['no list', 'hello', 'injectMessages: must be a list, not a string'],
    [
      'too long a list',
      Array.from({ length: 201 }, () => ({ role: 'user', content: 'x' })),
      'injectMessages: has 201 items',
    ],
    ['no message', [null], 'injectMessages[0]: must be an object, not nothing'],
    ['no role', [{ content: 'x' }], 'injectMessages[0].role: must be "user" or "assistant", not nothing'],
    [
      'the system role',
      [{ role: 'system', content: 'x' }],
      'injectMessages[0].role: must be "user" or "assistant", not "system"',
    ],
    ['no content', [{ role: 'user' }], 'injectMessages[0].content: must be a list, not nothing'],
    ['no text', content({ type: 'text' }), 'injectMessages[0].content[0].text: must be a text, not nothing'],
    [
      'thinking',
      content({ type: 'thinking', thinking: 'x', signature: 'y' }),
      'injectMessages[0].content[0].type: must be "text", "image", "tool_use" or "tool_result", not "thinking"',
    ],
    [
      'an image of the web',
      content({ type: 'image', source: { type: 'url', url: 'https://x.org' } }),
      'injectMessages[0].content[0].source.type: must be "base64"',
    ],
    [
      'an image of another kind',
      content({ type: 'image', source: { type: 'base64', media_type: 'image/svg+xml', data: 'aGk=' } }),
      'injectMessages[0].content[0].source.media_type: must be one of',
    ],
    [
      'an image that is no base64',
      content({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '!' } }),
      'injectMessages[0].content[0].source.data: must be base64',
    ],
    [
      'a call without an id',
      content({ type: 'tool_use', name: 'n', input: {} }),
      'injectMessages[0].content[0].id: must be 1 to 100 of',
    ],
    [
      'a call with a list',
      content({ type: 'tool_use', id: 'a', name: 'n', input: [] }),
      'injectMessages[0].content[0].input: must be an object, not a list',
    ],
    [
      'a call that is no JSON',
      content({ type: 'tool_use', id: 'a', name: 'n', input: cyclic }),
      'injectMessages[0].content[0].input: must be JSON',
    ],
  ])('%s', (_title, value, message) => {
    expect(() => read(value)).toThrow(expect.objectContaining({ code: 'bad_plugin_value' }));
    expect(() => read(value)).toThrow(message);
  });
});
