import { describe, expect, test } from 'vitest';
import { toWireRequest } from '../../src/model/transport.ts';
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

  test('has the ids that the provider gave to calls, and no origins, which the API does not know (G34)', () => {
    const origin = { provider: 'gateway', model: 'm', metadata: {}, callId: 'call:1/=' };
    const call = { type: 'tool_use' as const, id: 'call_1_', name: 'read', input: {}, origin };
    const result = { type: 'tool_result' as const, tool_use_id: 'call_1_', content: 'ok' };
    const turns = ['a', 'b'].map((last) => [
      { role: 'assistant' as const, content: [{ ...call, id: call.id + last }] },
      { role: 'user' as const, content: [{ ...result, tool_use_id: result.tool_use_id + last }] },
    ]);
    const { messages } = toWireRequest({ ...request([]), messages: [...request(['x']).messages, ...turns.flat()] });
    const ids = messages.flatMap(({ content }) =>
      content.flatMap((block) =>
        block.type === 'tool_use' ? [block.id] : block.type === 'tool_result' ? [block.tool_use_id] : [],
      ),
    );
    expect(ids).toEqual(['call:1/=', 'call:1/=', 'call_1_b', 'call_1_b']);
    expect(JSON.stringify(messages)).not.toContain('origin');
  });

  test('says whether its answer is to be streamed', () => {
    expect(toWireRequest(request(['x'])).stream).toBe(true);
    expect(toWireRequest(request(['x']), { isStreaming: false }).stream).toBe(false);
  });

  test('is the same bytes for the same request', () => {
    expect(JSON.stringify(toWireRequest(request(['x'])))).toBe(JSON.stringify(toWireRequest(request(['x']))));
  });
});
