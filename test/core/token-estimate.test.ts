// Estimates: four characters make a token, two in tool results, an image is 8,000 characters.
import { expect, test } from 'vitest';
import type { ContentBlock } from '../../src/core/content.ts';
import {
  charsOfBlock,
  estimateChars,
  estimatePromptTokens,
  estimateTextTokens,
  estimateTokens,
} from '../../src/core/content-size.ts';

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } } as const;

test.each<[ContentBlock, number]>([
  [{ type: 'text', text: 'x'.repeat(40) }, 40],
  [{ type: 'tool_result', tool_use_id: 't', content: 'x'.repeat(40) }, 80],
  [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'x'.repeat(40) }, image] }, 8080],
  [image, 8000],
  [{ type: 'thinking', thinking: 'hm', signature: 'long' }, 2],
  [{ type: 'redacted_thinking', data: 'abc' }, 3],
  [{ type: 'tool_use', id: 't', name: 'read', input: { a: 1 } }, 'read'.length + '{"a":1}'.length],
])('%j costs %d characters', (block, chars) => {
  expect(charsOfBlock(block)).toBe(chars);
});

test('tokens are rounded up', () => {
  const messages = [{ content: [{ type: 'text', text: 'abcde' } as ContentBlock] }];
  expect(estimateChars(messages)).toBe(5);
  expect(estimateTokens(messages)).toBe(2);
  expect(estimateTextTokens('')).toBe(0);
});

test('the form of an answer is a part of the prompt', () => {
  const schema = { type: 'object', description: 'x'.repeat(400) };
  const head = { system: [], tools: [] };
  expect(estimatePromptTokens({ ...head, responseFormat: { type: 'json_schema', schema } })).toBeGreaterThan(100);
  expect(estimatePromptTokens(head)).toBe(0);
});
