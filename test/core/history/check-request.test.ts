// Every fault of a request is found (G12).
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContentBlock } from '../../../src/core/content.ts';
import { createRequestCheck } from '../../../src/history/check-request.ts';
import { createHistory } from '../../../src/history/prepare-history.ts';
import type { ModelMessage } from '../../../src/core/model-request.ts';

const text = (words: string): ContentBlock => ({ type: 'text', text: words });
const call = (id: string, input: unknown = {}): ContentBlock => ({ type: 'tool_use', id, name: 'read', input });
const result = (id: string): ContentBlock => ({ type: 'tool_result', tool_use_id: id, content: 'r' });
const user = (...content: ContentBlock[]): ModelMessage => ({ role: 'user', content });
const assistant = (...content: ContentBlock[]): ModelMessage => ({ role: 'assistant', content });
const codes = (messages: ModelMessage[]): string[] => createRequestCheck()(messages).map(({ code }) => code);

const sound = [user(text('a')), assistant(call('1'), call('2')), user(result('2'), result('1'), text('b'))];

test('a sound request has no violation', () => {
  expect(codes(sound)).toEqual([]);
});

const thinking: ContentBlock = { type: 'thinking', thinking: 'x', signature: 's' };
test.each<[string, ModelMessage[]]>([
  ['no_messages', []],
  ['first_not_user', [assistant(text('a')), user(text('b'))]],
  ['last_not_user', [user(text('a')), assistant(text('b'))]],
  ['not_alternating', [user(text('a')), user(text('b'))]],
  ['empty_message', [user()]],
  ['empty_block', [user(text(' '))]],
  ['empty_block', [user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } })]],
  [
    'empty_block',
    [
      user(text('a')),
      assistant(call('1')),
      user({ type: 'tool_result', tool_use_id: '1', content: [{ type: 'text', text: '' }] }),
    ],
  ],
  ['block_of_other_role', [user(text('a'), thinking)]],
  ['bad_tool_use', [user(text('a')), assistant(call('1', 'x')), user(result('1'))]],
  ['duplicate_tool_use_id', [...sound, assistant(call('1')), user(result('1'))]],
  ['missing_tool_result', [user(text('a')), assistant(call('1')), user(text('b'))]],
  ['unexpected_tool_result', [user(text('a')), assistant(text('b')), user(result('1'))]],
  ['tool_result_not_first', [user(text('a')), assistant(call('1')), user(text('b'), result('1'))]],
  ['torn_text', [user(text('a\ud83d'))]],
  ['torn_text', [user(text('a')), assistant(call('1', { deep: [{ 'k\0': 1 }] })), user(result('1'))]],
  ['trailing_thinking', [user(text('a')), assistant(text('b'), thinking), user(text('c'))]],
])('%s is found', (code, messages) => {
  expect(codes(messages)).toEqual([code]);
});

test('an unanswered call at the end is reported together with the end', () => {
  expect(codes([user(text('a')), assistant(call('1'))])).toEqual(['last_not_user', 'missing_tool_result']);
});

describe('createRequestCheck', () => {
  test('a growing list is judged as if it were checked from the start', () => {
    const block = fc.constantFrom(text('a'), text(''), call('1'), call('2'), result('1'), result('2'));
    const message = fc.record({
      role: fc.constantFrom('user' as const, 'assistant' as const),
      content: fc.array(block, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const check = createRequestCheck();
        for (let length = 0; length <= messages.length; length += 1) {
          const grown = messages.slice(0, length);
          const sorted = (found: { code: string; at: number }[]): string[] =>
            found.map(({ code, at }) => `${at} ${code}`).toSorted();
          expect(sorted(check(grown))).toEqual(sorted(createRequestCheck()(grown)));
        }
      }),
      { numRuns: 200 },
    );
  });

  test('a history that grows is checked without looking back', () => {
    const history = createHistory([{ role: 'user', content: [text('go')] }]);
    const check = createRequestCheck();
    let reads = 0;
    for (let step = 0; step < 200; step += 1) {
      history.push(assistant(call(`c${step}`)));
      history.push(user(result(`c${step}`)));
      const watched = new Proxy(history.messages as ModelMessage[], {
        get: (target, key) => {
          reads += 1;
          return Reflect.get(target, key) as unknown;
        },
      });
      expect(check(watched)).toEqual([]);
    }
    expect(reads).toBeLessThan(200 * 60);
  });

  test('another list is judged as a whole', () => {
    const check = createRequestCheck();
    check(sound);
    expect(check([user(text('')), ...sound.slice(1)]).map(({ code }) => code)).toEqual(['empty_block']);
  });
});
