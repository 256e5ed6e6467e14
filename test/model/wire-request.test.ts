import { describe, expect, test } from 'vitest';
import { toWireRequest } from '../../src/model/wire-request.ts';
import { assistant, request, user } from './build-request.ts';

describe('the body of a call', () => {
  test('has a cache breakpoint at its end and one where the request before it ended, and leaves the request as it was', () => {
    const given = request(['older', assistant('old'), 'first', assistant('answer'), user('a', 'b')]);
    const before = structuredClone(given);
    const body = toWireRequest(given);
    expect(body.messages.map((message) => message.content.map((block) => 'cache_control' in block))).toEqual([
      [false],
      [false],
      [true],
      [false],
      [false, true],
    ]);
    expect(given).toEqual(before);
  });

  test('marks the last block that can be marked', () => {
    const body = toWireRequest(
      request(['first', assistant('say', { type: 'thinking', thinking: 't', signature: 's' })]),
    );
    expect(body.messages[1]?.content).toEqual([
      { type: 'text', text: 'say', cache_control: { type: 'ephemeral' } },
      { type: 'thinking', thinking: 't', signature: 's' },
    ]);
  });

  test('has the thinking and effort of the request, and leaves out empty lists', () => {
    const thinking = { type: 'adaptive' } as const;
    expect(toWireRequest(request(['x'], { thinking, effort: 'high' }))).toMatchObject({
      thinking,
      output_config: { effort: 'high' },
    });
    expect(Object.keys(toWireRequest(request(['x'], { system: [], tools: [] })))).toEqual([
      'model',
      'max_tokens',
      'stream',
      'messages',
    ]);
  });

  test('says whether its answer is to be streamed', () => {
    expect(toWireRequest(request(['x'])).stream).toBe(true);
    expect(toWireRequest(request(['x']), { isStreaming: false }).stream).toBe(false);
  });

  test('is the same bytes for the same request', () => {
    expect(JSON.stringify(toWireRequest(request(['x'])))).toBe(JSON.stringify(toWireRequest(request(['x']))));
  });
});
