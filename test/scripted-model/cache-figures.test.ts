import { describe, expect, test } from 'vitest';
import { PromptCache } from '../../scripted-model/cache-figures.ts';
import type { MessagesRequest, WireBlock } from '../../scripted-model/wire.ts';

const CACHED = { cache_control: { type: 'ephemeral' } };

function block(chars: number, fill = 'x', extra: object = {}): WireBlock {
  return { type: 'text', text: fill.repeat(chars), ...extra };
}
function request(system: WireBlock[], ...messages: WireBlock[][]): MessagesRequest {
  return {
    model: 'm',
    max_tokens: 1,
    system,
    messages: messages.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content })),
  };
}

function cacheAt(): { cache: PromptCache; clock: { ms: number } } {
  const clock = { ms: 0 };
  return { cache: new PromptCache(() => clock.ms), clock };
}

describe('the prompt cache', () => {
  test('counts everything as input when nothing is to be cached', () => {
    const { cache } = cacheAt();
    const plain = request([block(400)], [block(40)]);
    expect(cache.measure(plain)).toEqual({
      totalTokens: 110,
      inputTokens: 110,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    });
    expect(cache.measure(plain)).toMatchObject({ cacheReadTokens: 0 });
    expect(cache.count(plain)).toBe(110);
  });

  test('reads a growing conversation up to the last breakpoint, and writes the rest', () => {
    const { cache } = cacheAt();
    const system = [block(400, 's', CACHED), block(40, 'd')];
    expect(cache.measure(request(system, [block(100, 'a', CACHED)]))).toMatchObject({
      cacheWriteTokens: 135,
      cacheReadTokens: 0,
      inputTokens: 0,
    });
    const grown = request(system, [block(100, 'a')], [block(60, 'b')], [block(20, 'c', CACHED)]);
    expect(cache.measure(grown)).toMatchObject({
      cacheReadTokens: 135,
      cacheWriteTokens: 20,
      inputTokens: 0,
      totalTokens: 155,
    });
  });

  test('searches twenty blocks back from a breakpoint and no further', () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => block(4, String(n % 10)));
    const readAfter = (added: number, again: object): number => {
      const { cache } = cacheAt();
      cache.measure(request([], [block(400, 'a', CACHED)]));
      const end = block(4, 'z', CACHED);
      return cache.measure(request([], [block(400, 'a', again), ...many(added - 1), end])).cacheReadTokens;
    };
    expect(readAfter(19, {})).toBe(100);
    expect(readAfter(20, {})).toBe(0);
    expect(readAfter(20, CACHED)).toBe(100);
  });

  test('falls back to the system prompt when the conversation changed, and to nothing when that changed too', () => {
    const { cache } = cacheAt();
    cache.measure(request([block(400, 's', CACHED)], [block(100, 'a', CACHED)]));
    expect(cache.measure(request([block(400, 's', CACHED)], [block(100, 'z', CACHED)]))).toMatchObject({
      cacheReadTokens: 100,
      cacheWriteTokens: 25,
    });
    const oneCharOff = block(400, 's', CACHED);
    oneCharOff['text'] = `${String(oneCharOff['text']).slice(0, 200)}S${String(oneCharOff['text']).slice(201)}`;
    expect(cache.measure(request([oneCharOff], [block(100, 'a', CACHED)]))).toMatchObject({
      cacheReadTokens: 0,
      cacheWriteTokens: 125,
    });
  });

  test('distinguishes another model, another role and another order of keys', () => {
    const { cache } = cacheAt();
    const first = request([], [block(100, 'a', CACHED)]);
    cache.measure(first);
    expect(cache.measure({ ...first, model: 'other' }).cacheReadTokens).toBe(0);
    const call = (input: object): MessagesRequest =>
      request([], [block(4)], [{ type: 'tool_use', id: 't', name: 'n', input, ...CACHED }]);
    cache.measure(call({ a: 1, b: 2 }));
    expect(cache.measure(call({ a: 1, b: 2 })).cacheReadTokens).toBeGreaterThan(0);
    expect(cache.measure(call({ b: 2, a: 1 })).cacheReadTokens).toBe(0);
  });

  test('forgets after five minutes without use', () => {
    const { cache, clock } = cacheAt();
    const asked = request([], [block(100, 'a', CACHED)]);
    cache.measure(asked);
    for (const ms of [299_000, 598_000]) {
      clock.ms = ms;
      expect(cache.measure(asked).cacheReadTokens).toBe(25);
    }
    clock.ms = 598_000 + 300_000;
    expect(cache.measure(asked).cacheReadTokens).toBe(0);
  });
});
