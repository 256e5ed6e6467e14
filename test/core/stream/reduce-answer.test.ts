import { Stream } from '@anthropic-ai/sdk/streaming';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { joinText } from '../../../src/core/content.ts';
import { storableValue } from '../../../src/core/text.ts';
import { AnswerReducer, STEPS } from '../../../src/model/stream/reduce-answer.ts';
import { asStreamEvent, eventsOfBody, type StreamEvent } from '../../../src/model/stream/stream-event.ts';
import { end, reduce, rules, START, textBlock, toolBlock, type Reduced } from './answer-events.ts';
import { processorMsOf } from '../../servers/busy-machine.ts';

const CALL = { id: 'toolu_0', name: 'read' };

describe('the events of one answer', () => {
  test('become its blocks, usage and stop reason', () => {
    const { answer } = reduce([
      START,
      ...textBlock(0, 'Hel', 'lo'),
      ...toolBlock(1, CALL, '{"path":', '"a"}'),
      ...end(),
    ]);
    expect(answer).toEqual({
      id: 'msg_1',
      model: 'm',
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 'toolu_0', name: 'read', input: { path: 'a' } },
      ],
      stopReason: 'end_turn',
      usage: { inputTokens: 7, outputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 0 },
    });
  });

  test('report text that joins to the result of joinText, one report per event', () => {
    const events = [
      START,
      ...textBlock(0, ' ', '\n', 'a', ' b'),
      { type: 'ping' },
      ...textBlock(1, ' '),
      ...textBlock(2, 'c'),
      ...end(),
    ];
    const { answer, deltas } = reduce(events);
    expect(deltas).toHaveLength(events.length);
    expect(deltas.join('')).toBe(joinText(answer.content));
    expect(answer.content).toHaveLength(2);
  });

  test('drop blank texts, which the provider refuses when they come back (G12)', () => {
    expect(reduce([START, ...textBlock(0), ...textBlock(1, ' \n'), ...end()]).answer.content).toEqual([]);
  });

  test('keep what the provider needs back with a block, the last of each', () => {
    const originOf = (id: string) => ({ provider: 'openai', model: 'm', metadata: { id } });
    const delta = (index: number, origin: unknown): StreamEvent => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'origin_delta', origin: origin as never },
    });
    const thought: StreamEvent = {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: 'hm' },
    };
    const blocks = [
      thought,
      delta(0, originOf('x')),
      delta(0, originOf('rs_1\0')),
      ...textBlock(1, 'a'),
      delta(1, originOf('msg')),
    ];
    const call = [...toolBlock(2, CALL, '{}'), delta(2, originOf('fc_1'))];
    expect(reduce([START, ...blocks, ...call, ...end('tool_use')]).answer.content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: '', origin: originOf('rs_1') },
      { type: 'text', text: 'a', origin: originOf('msg') },
      { type: 'tool_use', id: 'toolu_0', name: 'read', input: {}, origin: originOf('fc_1') },
    ]);
    expect(() => reduce([START, thought, delta(0, { provider: 'openai' })])).toThrow('The origin of a block');
  });

  test('keep thinking with its signature, and ignore unknown blocks', () => {
    const { answer } = reduce([
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
      ...end(),
    ]);
    expect(answer.content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'xyz' },
    ]);
  });

  test.each<[string, () => unknown]>([
    ['no object', () => asStreamEvent('data')],
    ['an object without a type', () => asStreamEvent({ n: 1 })],
    ['a delta without its block', () => reduce(textBlock(0, 'x').slice(1))],
    ['a block before the message', () => reduce(textBlock(0))],
    ['a message without an id', () => reduce([asStreamEvent({ type: 'message_start', message: {} })])],
    ['a second message', () => reduce([START, START])],
    [
      'text for a block that has ended',
      () => reduce([START, ...textBlock(0, 'a'), ...textBlock(1), ...textBlock(0, 'b').slice(1)]),
    ],
    ['no message', () => eventsOfBody({ type: 'error' })],
  ])('are malformed when one is %s', (_, act) => {
    expect(act).toThrow(expect.objectContaining({ name: 'StreamFault', type: 'malformed_stream' }));
  });

  test('make no answer before message_stop, nor without a stop reason (G12)', () => {
    const reducer = new AnswerReducer(rules());
    for (const event of [START, ...textBlock(0, 'a'), ...end().slice(0, 1)]) reducer.take(event);
    expect(reducer.answer).toBeNull();
    expect(() => reduce([START, { type: 'message_stop' }])).toThrow('without a message or a stop reason');
  });

  test('that contain an error are thrown with its text', () => {
    const error: StreamEvent = {
      type: 'error',
      error: { type: 'overloaded_error', message: 'busy', details: { error_code: 'x' } },
    };
    expect(() => reduce([START, error])).toThrow(
      expect.objectContaining({ type: 'overloaded_error', message: 'busy', errorCode: 'x' }),
    );
  });

  test('after message_stop change nothing', () => {
    const reducer = new AnswerReducer(rules());
    for (const event of [START, ...textBlock(0, 'a'), ...end()]) reducer.take(event);
    expect(reducer.take({ type: 'message_stop' })).toBe('');
    expect(joinText(reducer.answer?.content ?? [])).toBe('a');
  });
});

describe('half a character or a NUL in an answer', () => {
  test('does not get into its texts, its thinking or its calls, and a character in two events is whole (G12)', () => {
    const { answer, deltas } = reduce([
      { type: 'message_start', message: { id: 'msg\0_1', model: 'm\ud83d' } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: 'h\0m', signature: 's' } },
      ...textBlock(1, 'a\ud83d b', '\ud83d', '\ude00\0', 'c\ud83d'),
      ...textBlock(2, '\ude00d'),
      ...toolBlock(3, CALL, String.raw`{"path":"\ud83d","k\u0000":["\u0000x"],`, '"n":1}'),
      ...toolBlock(4, { id: 'toolu_\ud83d', name: 'r\0ead' }, '{"path":"\ud83d"}'),
      ...toolBlock(5, { id: 'toolu_9', name: 'read' }, '{"path": \0\ud83d'),
      ...end('tool_use'),
    ]);
    expect(answer.content).toHaveLength(6);
    expect(storableValue(answer)).toBe(answer);
    expect(deltas.join('').startsWith('a\ufffd b😀c\ufffd\n\ufffdd')).toBe(true);
    expect(deltas.join('')).toBe(joinText(answer.content));
  });

  test('takes its signature from a thought that it changes: it was not signed like this', () => {
    const thought = { type: 'thinking', thinking: 'h\ud83dm', signature: 'sig' };
    const start = { type: 'content_block_start', index: 0, content_block: thought };
    const { answer } = reduce([START, start, ...textBlock(1, 'x'), ...end()]);
    expect(answer.content[0]).toEqual({ type: 'thinking', thinking: 'h\ufffdm', signature: '' });
  });

  test('is recorded as a repair of the call that it was in', () => {
    const raw = String.raw`{"path":"\ud83d"}`;
    const { answer } = reduce([START, ...toolBlock(0, CALL, raw), ...end('tool_use')]);
    expect(answer.content).toMatchObject([{ input: { path: '\ufffd' } }]);
    expect(answer.repairs).toEqual([{ step: 'whole-characters', callId: 'toolu_0', was: raw }]);
  });

  test('in the arguments of a call keeps it from being run: without the NUL it would be another call', () => {
    const raw = String.raw`{"command":"echo a\u0000b"}`;
    const { answer } = reduce([START, ...toolBlock(0, CALL, raw), ...end('tool_use')]);
    expect(answer.content).toMatchObject([{ input: {} }]);
    expect(answer.malformedInputs).toEqual({ toolu_0: raw });
  });

  test('changes nothing else: any answer of whole characters stays as it is', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', minLength: 1 })), (texts) => {
        const whole = texts.map((text) => text.replaceAll('\0', ''));
        const { answer } = reduce([START, ...textBlock(0, 'x', ...whole), ...end()]);
        expect(joinText(answer.content)).toBe(`x${whole.join('')}`);
      }),
    );
  });
});

describe('an answer in one body', () => {
  test('is the same as if it had been streamed', () => {
    const streamed = reduce([
      START,
      ...textBlock(0, 'Hello'),
      ...toolBlock(1, CALL, '{"path":"a"}'),
      ...end('tool_use'),
    ]).answer;
    const body = {
      id: 'msg_1',
      model: 'm',
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', ...CALL, input: { path: 'a' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 7, output_tokens: 5, cache_read_input_tokens: 3 },
    };
    const { answer, deltas } = reduce(eventsOfBody(body));
    expect(answer).toEqual(streamed);
    expect(deltas.join('')).toBe('Hello');
  });

  test('may hold the arguments of a call as a text', () => {
    const content = [{ type: 'tool_use', ...CALL, input: '{"path":"a"}' }];
    const { answer } = reduce(eventsOfBody({ id: 'm', model: 'm', content, stop_reason: 'tool_use' }));
    expect(answer.content).toMatchObject([{ input: { path: 'a' } }]);
  });
});

test('every step leaves an answer that needs nothing as it is', () => {
  const { answer } = reduce([START, ...textBlock(0, 'a'), ...toolBlock(1, CALL, '{"a":1}'), ...end('tool_use')]);
  expect(answer).not.toHaveProperty('repairs');
  expect(STEPS.map(({ name }) => name)).toEqual([
    'drop-blank-text',
    'call-ids',
    'tool-names',
    'read-arguments',
    'decode-arguments',
    'repair-arguments',
    'whole-characters',
    'mark-malformed',
    'stop-reason',
    'unknown-tools',
  ]);
});

test('the same bytes make the same answer, however they are cut', async () => {
  const anyText = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'é', '🙂', ' ', '\n', '<', '&') }), {
    maxLength: 6,
  });
  const anyCall = fc.record({
    id: fc.constantFrom('toolu_1', 'toolu_2', '', 'functions.read:0'),
    name: fc.constantFrom('read', ' Read ', 'functions.exec:1', 'nothing', ''),
    parts: fc.array(fc.constantFrom('{"a":', '1', '}', '"x"', '🙂'), { maxLength: 4 }),
  });
  const anyBlock = fc.oneof(anyText, anyCall);
  const anyReason = fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'sensitive', 'other');
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyBlock, { maxLength: 5 }),
      anyReason,
      fc.array(fc.nat(60), { maxLength: 60 }),
      async (blocks, reason, cuts) => {
        const events = [
          START,
          ...blocks.flatMap((block, index) =>
            Array.isArray(block) ? textBlock(index, ...block) : toolBlock(index, block, ...block.parts),
          ),
          ...end(reason),
        ];
        const replacements = [
          { from: 'ab', to: 'X' },
          { from: 'b🙂', to: '' },
        ];
        const whole = reduce(events, { replacements });
        const cut = await reduceBytes(events, cuts, replacements);
        expect(cut.answer).toEqual(whole.answer);
        expect(cut.deltas.join('')).toBe(joinText(whole.answer.content));
      },
    ),
    { numRuns: 300 },
  );
});

/**
 * The events as the bytes of a stream that is cut into pieces of these sizes, in the middle of
 * characters too.
 */
async function reduceBytes(
  events: readonly StreamEvent[],
  cuts: readonly number[],
  replacements: { from: string; to: string }[],
): Promise<Reduced> {
  const bytes = new TextEncoder().encode(
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  );
  const reducer = new AnswerReducer(rules({ replacements }));
  const deltas: string[] = [];
  let from = 0;
  const pieces = [...cuts, bytes.length].map((size) => bytes.subarray(from, (from += size)));
  const stream = Stream.fromSSEResponse(new Response(ReadableStream.from(pieces)), new AbortController());
  for await (const event of stream) deltas.push(reducer.take(asStreamEvent(event)));
  if (reducer.answer === null) throw new Error('The bytes make no answer.');
  return { answer: reducer.answer, deltas };
}

test('the cost of a long answer in many pieces is linear in its length', () => {
  const reducer = new AnswerReducer(rules({ replacements: [{ from: 'secret name', to: 'it' }] }));
  const spentMs = processorMsOf(() => {
    reducer.take(START);
    reducer.take({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    for (let count = 0; count < 100_000; count += 1) {
      reducer.take({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: count < 50_000 ? ' ' : 'secret ' },
      });
    }
    for (const event of end()) reducer.take(event);
  });
  expect(joinText(reducer.answer?.content ?? [])).toHaveLength(400_000);
  expect(spentMs).toBeLessThan(3000);
});
