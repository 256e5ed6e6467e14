// The body that is sent is the JSON of the wire request, however it is written.
import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContentBlock } from '../../src/core/content.ts';
import type { ModelMessage, ModelRequest } from '../../src/core/model-request.ts';
import { toWireRequest } from '../../src/model/wire-request.ts';
import { writeBody } from '../../src/model/write-body.ts';

const long = 'long "text"\n'.repeat(3000);
const block: fc.Arbitrary<ContentBlock> = fc.oneof(
  fc.constantFrom('a', 'ü\u2028', long).map((text): ContentBlock => ({ type: 'text', text })),
  fc.constant<ContentBlock>({ type: 'thinking', thinking: 'hm', signature: 's' }),
  fc.constant<ContentBlock>({ type: 'tool_use', id: 't1', name: 'read', input: { path: 'ä' } }),
);
const message: fc.Arbitrary<ModelMessage> = fc.record({
  role: fc.constantFrom('user' as const, 'assistant' as const),
  content: fc.array(block, { minLength: 1, maxLength: 3 }),
});

function requestOf(messages: ModelMessage[]): ModelRequest {
  return { model: 'm', maxTokens: 1, system: [{ type: 'text', text: 's' }], tools: [], messages };
}

function expectSame(messages: ModelMessage[]): void {
  const expected = JSON.stringify(toWireRequest(requestOf(messages)));
  const { bytes, sha256 } = writeBody(requestOf(messages));
  expect(bytes.toString()).toBe(expected);
  expect(sha256).toBe(hash('sha256', expected, 'hex'));
}

test('a conversation that grows, is pruned in its middle and starts over has the bytes of its JSON', () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 14 }), fc.nat(), (messages, at) => {
      for (let length = 1; length <= messages.length; length += 1) expectSame(messages.slice(0, length));
      const index = at % messages.length;
      const pruned = messages.with(index, {
        ...(messages[index] as ModelMessage),
        content: [{ type: 'text', text: 'p' }],
      });
      expectSame(pruned);
      expectSame(messages);
      expectSame(pruned.slice(0, -1).concat(messages.slice(0, 1)));
    }),
    { numRuns: 100 },
  );
});

// Goal: a call of a long conversation does not write what was written before. Method: a message that counts how often it is read.
test('what was written before is not written again', () => {
  let reads = 0;
  const counted = (text: string): ModelMessage => ({
    role: 'user',
    content: [
      {
        type: 'text',
        get text() {
          reads += 1;
          return text;
        },
      },
    ],
  });
  const messages = Array.from(
    { length: 40 },
    (_, at) => ({ ...counted(long), role: at % 2 === 0 ? 'user' : 'assistant' }) as ModelMessage,
  );
  writeBody(requestOf(messages));
  reads = 0;
  writeBody(
    requestOf([...messages, counted('x'), { role: 'assistant', content: [{ type: 'text', text: 'y' }] }, counted('z')]),
  );
  expect(reads).toBeLessThan(12);
});

test('a request without messages is written, too', () => {
  expectSame([]);
});
