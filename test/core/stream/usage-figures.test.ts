// Usage figures come from outside: whatever a provider sends, the journal stores whole numbers
// within a bound.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventsOfBody, type StreamEvent } from '../../../src/model/stream/stream-event.ts';
import { TOKENS_MAX } from '../../../src/model/stream/stop-reasons.ts';
import { reduce, START, textBlock } from './answer-events.ts';

/** The events of an answer with these figures at its start and at its end. */
function answerWith(first: unknown, last: unknown): StreamEvent[] {
  return [
    { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: first } },
    ...textBlock(0, 'hello'),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: last },
    { type: 'message_stop' },
  ] as StreamEvent[];
}

const figure = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(1e30, -1, 12.5, 2 ** 53),
  fc.jsonValue(),
);
const usage = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      input_tokens: figure,
      output_tokens: figure,
      cache_read_input_tokens: figure,
      cache_creation_input_tokens: figure,
    },
    { requiredKeys: [] },
  ),
);

describe('the usage figures of an answer', () => {
  test('are whole numbers from 0 to 2^40, for any values of the provider', () => {
    fc.assert(
      fc.property(usage, usage, (first, last) => {
        const body = { id: 'm', model: 'm', content: [], stop_reason: 'end_turn', usage: first };
        for (const events of [answerWith(first, last), eventsOfBody(body)]) {
          const figures = Object.values(reduce(events).answer.usage);
          expect(figures).toHaveLength(4);
          for (const one of figures) expect(Number.isSafeInteger(one) && one >= 0 && one <= TOKENS_MAX).toBe(true);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    [12.5, 13],
    [1e30, TOKENS_MAX],
    [-3, 0],
    ['many', 1],
    [null, 1],
    [{ tokens: 5 }, 1],
  ])('of %j output tokens after 1 are stored as %d', (wire, stored) => {
    const { answer } = reduce(answerWith({ output_tokens: 1 }, { output_tokens: wire }));
    expect(answer.usage.outputTokens).toBe(stored);
  });

  test('stay as they were when the end of the answer has none', () => {
    const { answer } = reduce([
      START,
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ]);
    expect(answer.usage).toEqual({ inputTokens: 7, outputTokens: 1, cacheReadTokens: 3, cacheWriteTokens: 0 });
  });
});
