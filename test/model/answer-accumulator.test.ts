import { describe, expect, test } from 'vitest';
import { textOf } from '../../src/core/content.ts';
import type { ModelAnswer } from '../../src/core/model-request.ts';
import { AnswerAccumulator } from '../../src/model/answer-accumulator.ts';

const START = {
  type: 'message_start',
  message: { id: 'msg_1', model: 'm', usage: { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: 3 } },
};
const END = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];

function textBlock(index: number, ...texts: string[]): object[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    ...texts.map((text) => ({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index },
  ];
}

function toolBlock(index: number, ...parts: string[]): object[] {
  return [
    {
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: `toolu_${index}`, name: 'read', input: {} },
    },
    ...parts.map((part) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: part },
    })),
    { type: 'content_block_stop', index },
  ];
}

function accumulate(events: object[]): { answer: ModelAnswer; deltas: string[] } {
  const deltas: string[] = [];
  const accumulator = new AnswerAccumulator((delta) => deltas.push(delta));
  for (const event of events) accumulator.take(JSON.stringify(event));
  return { answer: accumulator.finish(), deltas };
}

describe('the events of one answer', () => {
  test('become its blocks, usage and stop reason', () => {
    const { answer } = accumulate([START, ...textBlock(0, 'Hel', 'lo'), ...toolBlock(1, '{"path":', '"a"}'), ...END]);
    expect(answer).toEqual({
      id: 'msg_1',
      model: 'm',
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } },
      ],
      stopReason: 'end_turn',
      usage: { inputTokens: 7, outputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 0 },
    });
  });

  test('report text that joins to what textOf gives, one report per event', () => {
    const events = [
      START,
      ...textBlock(0, ' ', '\n', 'a', ' b'),
      { type: 'ping' },
      ...textBlock(1, ' '),
      ...textBlock(2, 'c'),
      ...END,
    ];
    const { answer, deltas } = accumulate(events);
    expect(deltas).toHaveLength(events.length);
    expect(deltas.join('')).toBe(textOf(answer.content));
    expect(answer.content).toHaveLength(2);
  });

  test('drop blank texts, which the provider refuses when they come back (G12)', () => {
    expect(accumulate([START, ...textBlock(0), ...textBlock(1, ' \n'), ...END]).answer.content).toEqual([]);
  });

  test.each(['{"path": "a', '[1]', '"text"', 'null', '{} {}'])(
    'keep a call whose arguments are %s, and mark it',
    (raw) => {
      const { answer } = accumulate([START, ...toolBlock(0, raw), ...END]);
      expect(answer.content).toMatchObject([{ type: 'tool_use', input: {} }]);
      expect(answer.malformedInputs).toEqual({ toolu_0: raw });
    },
  );

  test('take a call without arguments for one with none', () => {
    const { answer } = accumulate([START, ...toolBlock(0), ...toolBlock(1, ''), ...END]);
    expect(answer.content).toMatchObject([{ input: {} }, { input: {} }]);
    expect(answer).not.toHaveProperty('malformedInputs');
  });

  test('keep thinking with its signature, and pass over what nobody asked for', () => {
    const { answer } = accumulate([
      START,
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'new_delta' } },
      { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'xyz' } },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'server_tool_use', id: 's', name: 'n', input: {} },
      },
      { type: 'something_new' },
      { type: 'message_delta', delta: { stop_reason: 'something_new' } },
      { type: 'message_stop' },
    ]);
    expect(answer.content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'xyz' },
    ]);
    expect(answer.stopReason).toBe('end_turn');
  });

  test.each([
    ['no JSON', 'data'],
    ['JSON without a type', '{"n":1}'],
    [
      'a delta without its block',
      JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } }),
    ],
    ['a block before the message', JSON.stringify(textBlock(0)[0])],
    ['a message without an id', '{"type":"message_start","message":{}}'],
  ])('are malformed when one is %s', (_, data) => {
    const accumulator = new AnswerAccumulator(() => {});
    expect(() => accumulator.take(data)).toThrow(
      expect.objectContaining({ name: 'ModelError', type: 'malformed_stream' }),
    );
  });

  test('make no answer before message_stop, nor without a stop reason (G12)', () => {
    expect(() => accumulate([START, ...textBlock(0, 'a'), ...END.slice(0, 1)])).toThrow(
      'without a message or a stop reason',
    );
    expect(() => accumulate([START, { type: 'message_stop' }])).toThrow('without a message or a stop reason');
  });
});
