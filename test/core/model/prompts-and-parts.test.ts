// The two pure conversions of the transport over the AI SDK's providers: our request to their
// prompt, and their parts to our events.
import { expect, test } from 'vitest';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ContentBlock } from '../../../src/core/content.ts';
import type { ModelRequest } from '../../../src/core/model-request.ts';
import { PartReader } from '../../../src/model/ai-sdk/to-events.ts';
import { toPrompt, toSettings, type PromptForm } from '../../../src/model/ai-sdk/to-prompt.ts';
import { assistant, request, user } from '../../model/build-request.ts';
import { reduce } from '../stream/answer-events.ts';

const INSIDE: PromptForm = { resultImages: 'inside', foreignThoughts: 'left-out', callIds: 'native' };
const AFTER: PromptForm = { resultImages: 'after', foreignThoughts: 'text', callIds: 'native' };
const image: ContentBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } };
const originOf = (metadata: Record<string, unknown>) => ({ origin: { provider: 'openai', model: 'm', metadata } });
const call = (more: object = {}): ContentBlock => ({
  type: 'tool_use',
  id: 'c1',
  name: 'read',
  input: { p: 1 },
  ...more,
});
const result = (more: object): ContentBlock => ({ type: 'tool_result', tool_use_id: 'c1', content: 'ok', ...more });

test('the system text is one message in its role, the stable part first', () => {
  const system: ModelRequest['system'] = [
    { type: 'text', text: 'You are.', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'Monday.' },
  ];
  expect(toPrompt(request(['hi'], { system }), INSIDE)).toEqual([
    { role: 'system', content: 'You are.\n\nMonday.' },
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
  ]);
  expect(toPrompt(request(['hi'], { system: [] }), INSIDE)[0]).toMatchObject({ role: 'user' });
});

test('the blocks of an answer give back what their provider needs', () => {
  const thought: ContentBlock = {
    type: 'thinking',
    thinking: 'hm',
    signature: '',
    ...originOf({ openai: { itemId: 'rs_1' } }),
  };
  const said: ContentBlock = { type: 'text', text: 'a', ...originOf({}) };
  const prompt = toPrompt(
    { system: [], messages: [assistant(thought, said, call(originOf({ google: { thoughtSignature: 's' } })))] },
    INSIDE,
  );
  expect(prompt).toEqual([
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { openai: { itemId: 'rs_1' } } },
        { type: 'text', text: 'a' },
        {
          type: 'tool-call',
          toolCallId: 'c1',
          toolName: 'read',
          input: { p: 1 },
          providerOptions: { google: { thoughtSignature: 's' } },
        },
      ],
    },
  ]);
});

test('thoughts of other models are left out, or become text', () => {
  const foreign: ContentBlock = { type: 'thinking', thinking: 'hm', signature: 'c2ln' };
  const hidden: ContentBlock = { type: 'redacted_thinking', data: 'x' };
  const messages = [assistant(foreign, hidden, 'a')];
  expect(toPrompt({ system: [], messages }, INSIDE)).toMatchObject([{ content: [{ type: 'text', text: 'a' }] }]);
  expect(toPrompt({ system: [], messages }, AFTER)).toMatchObject([
    {
      content: [
        { type: 'text', text: 'hm' },
        { type: 'text', text: 'a' },
      ],
    },
  ]);
});

test('results come first, each with the name of its tool, and say that they failed', () => {
  const failed = { ...result({ content: 'no', is_error: true }), tool_use_id: 'c2' } as ContentBlock;
  const messages = [
    assistant(call(), { ...call(), id: 'c2', name: 'exec' } as ContentBlock),
    user(result({}), failed, 'go', image),
  ];
  expect(toPrompt({ system: [], messages }, INSIDE).slice(1)).toEqual([
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'c1', toolName: 'read', output: { type: 'text', value: 'ok' } },
        { type: 'tool-result', toolCallId: 'c2', toolName: 'exec', output: { type: 'error-text', value: 'no' } },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'go' }, file] },
  ]);
});

test('the images of a result go into it, or into a message after it where its API takes only text', () => {
  const messages = [assistant(call()), user(result({ content: [{ type: 'text', text: 'seen' }, image] }), 'go')];
  expect(toPrompt({ system: [], messages }, INSIDE).slice(1)).toMatchObject([
    { content: [{ output: { type: 'content', value: [{ type: 'text', text: 'seen' }, file] } }] },
    { content: [{ text: 'go' }] },
  ]);
  expect(toPrompt({ system: [], messages }, AFTER).slice(1)).toMatchObject([
    { content: [{ output: { type: 'text', value: 'seen\n[The images of this result follow in the next message.]' } }] },
    { content: [{ text: '[The images of the result of read]' }, file, { text: 'go' }] },
  ]);
});

test('the settings of a request have the words of the specification', () => {
  const sampling: ModelRequest['sampling'] = {
    temperature: 0,
    top_p: 0.5,
    stop_sequences: ['E'],
    tool_choice: { type: 'any' },
  };
  expect(toSettings(request(['x'], { sampling, thinking: { type: 'enabled', budget_tokens: 16_384 } }))).toEqual({
    maxOutputTokens: 4096,
    temperature: 0,
    topP: 0.5,
    stopSequences: ['E'],
    reasoning: 'high',
    tools: [
      { type: 'function', name: 'read', description: 'Reads a file.', inputSchema: { type: 'object', properties: {} } },
    ],
    toolChoice: { type: 'required' },
  });
  expect(toSettings(request(['x'], { tools: [], sampling: { tool_choice: { type: 'none' } } }))).toEqual({
    maxOutputTokens: 4096,
  });
});

test.each([
  [1024, 'minimal'],
  [4096, 'low'],
  [8192, 'medium'],
  [32_768, 'xhigh'],
] as const)('a budget of %i tokens is the effort %s', (budget, effort) => {
  expect(toSettings(request(['x'], { thinking: { type: 'enabled', budget_tokens: budget } })).reasoning).toBe(effort);
});

const USAGE = {
  inputTokens: { total: 100, noCache: 40, cacheRead: 60, cacheWrite: undefined },
  outputTokens: { total: 20, text: 15, reasoning: 5 },
};
const finish = (
  unified: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'interrupted' | 'other',
  raw?: string,
) => ({ type: 'finish', finishReason: { unified, raw }, usage: USAGE }) satisfies LanguageModelV4StreamPart;

function answerOf(parts: LanguageModelV4StreamPart[], provider = 'openai') {
  const reader = new PartReader({ provider, model: 'm' });
  return reduce(parts.flatMap((part) => reader.read(part)));
}

test('the parts of an answer become its blocks, each with what its provider needs back', () => {
  const { answer, deltas } = answerOf([
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'resp_1', modelId: 'm-1' },
    { type: 'reasoning-start', id: 'rs:0', providerMetadata: { openai: { itemId: 'rs', encrypted: '' } } },
    { type: 'reasoning-delta', id: 'rs:0', delta: 'hm' },
    { type: 'reasoning-end', id: 'rs:0', providerMetadata: { openai: { encrypted: 'E' } } },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'Hel' },
    { type: 'text-delta', id: 't', delta: 'lo' },
    { type: 'text-end', id: 't' },
    { type: 'tool-input-start', id: 'c1', toolName: 'read' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"p":' },
    { type: 'tool-input-delta', id: 'c1', delta: '1}' },
    { type: 'tool-input-end', id: 'c1' },
    {
      type: 'tool-call',
      toolCallId: 'c1',
      toolName: 'read',
      input: '{"p":1}',
      providerMetadata: { openai: { itemId: 'fc' } },
    },
    { type: 'tool-call', toolCallId: 'c2', toolName: 'exec', input: '{}' },
    finish('tool-calls'),
  ]);
  expect(deltas.join('')).toBe('Hello');
  expect(answer).toEqual({
    id: 'resp_1',
    model: 'm-1',
    content: [
      { type: 'thinking', thinking: 'hm', signature: '', ...originOf({ openai: { itemId: 'rs', encrypted: 'E' } }) },
      { type: 'text', text: 'Hello' },
      { type: 'tool_use', id: 'c1', name: 'read', input: { p: 1 }, ...originOf({ openai: { itemId: 'fc' } }) },
      { type: 'tool_use', id: 'c2', name: 'exec', input: {} },
    ],
    stopReason: 'tool_use',
    usage: { inputTokens: 40, cacheReadTokens: 60, cacheWriteTokens: 0, outputTokens: 20 },
  });
});

test('a thought without metadata has an origin all the same, so that no other model sees it', () => {
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', delta: 'hm' },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'a' },
    finish('stop'),
  ];
  expect(answerOf(parts).answer.content).toEqual([
    { type: 'thinking', thinking: 'hm', signature: '', ...originOf({}) },
    { type: 'text', text: 'a' },
  ]);
});

test('a text that continues after another block becomes a block of its own', () => {
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'one' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: '{}' },
    { type: 'text-delta', id: 't', delta: 'two' },
    { type: 'text-end', id: 't' },
    finish('tool-calls'),
  ];
  expect(answerOf(parts).answer.content).toMatchObject([{ text: 'one' }, { name: 'read' }, { text: 'two' }]);
});

test.each([
  ['stop', undefined, 'end_turn'],
  ['length', 'MAX_TOKENS', 'max_tokens'],
  ['content-filter', 'SAFETY', 'sensitive'],
  ['content-filter', 'LANGUAGE', 'sensitive'],
  ['content-filter', undefined, 'sensitive'],
  ['other', 'NEW_REASON', 'end_turn'],
] as const)('the reason %s (%s) ends an answer as %s', (unified, raw, stopReason) => {
  const text: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'a' },
  ];
  expect(answerOf([...text, finish(unified, raw)]).answer.stopReason).toBe(stopReason);
});

test.each([
  ['interrupted', 'cut_stream'],
  ['other', 'cut_stream'],
  ['error', 'malformed_stream'],
] as const)('an answer that ends as %s is none', (unified, type) => {
  expect(() => answerOf([{ type: 'text-start', id: 't' }, finish(unified)])).toThrow(expect.objectContaining({ type }));
});
