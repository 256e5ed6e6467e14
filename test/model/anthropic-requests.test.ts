// Goal: a change for other providers changes no byte of what Anthropic is sent. Method: histories
// and settings of every kind, made from fixed numbers, pass through the views, the limits of
// thinking and the transport as those of a turn do; the hashes of the bodies are committed. A
// change of these lines is a change of every prompt cache: it needs a reason of its own.
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { withMarkers } from '../../src/core/cache-markers.ts';
import { given } from '../../src/core/json.ts';
import type { ModelRequest, Sampling, SystemBlock, ToolSpec } from '../../src/core/model-request.ts';
import { KNOWN_MODELS, THINKING_LEVELS } from '../../src/core/models.ts';
import { thinkingRequest } from '../../src/core/thinking-request.ts';
import type { CallView, TurnRequestSettings } from '../../src/core/view.ts';
import { summaryRequest } from '../../src/compaction/summary-request.ts';
import { viewMessages, type ViewEntry } from '../../src/history/past.ts';
import { createInputTransform } from '../../src/model/stream/replace-text.ts';
import { createAnthropicTransport } from '../../src/model/anthropic.ts';
import { createDice, entriesOf, IMAGE, pick, type Dice } from './random-histories.ts';

const HISTORIES = 240;
const MODELS = [...Object.keys(KNOWN_MODELS), 'claude-nova-7', 'claude-3-haiku-20240307', 'scripted-1'];

function viewOf(dice: Dice, model: string, entries: readonly ViewEntry[]): TurnRequestSettings {
  const half = Math.ceil(entries.length / 2);
  return given({
    historyLimit: dice(5) === 0 ? 1 + dice(3) : undefined,
    heartbeatAckCharsMax: dice(3) === 0 ? 30 : undefined,
    models:
      dice(3) === 0
        ? [
            { seq: 1, model: pick(dice, MODELS) },
            { seq: half, model },
          ]
        : undefined,
    images: dice(4) === 0 ? [{ seq: half, images: dice(2) === 0 ? [] : [{ sha256: 'one', chars: 12 }] }] : undefined,
    injectedSha256: dice(6) === 0 ? 'injected' : undefined,
    resultCharsMax: dice(3) === 0 ? 1_000 : undefined,
    inputReplacements: dice(5) === 0 ? [{ from: 'order', to: 'Order' }] : undefined,
  });
}

function callOf(dice: Dice, count: number): CallView | null {
  if (dice(4) > 0) return null;
  const tools = { allow: [], deny: dice(2) === 0 ? ['exec'] : [] };
  const until = { trimmedUntil: dice(count), clearedUntil: dice(count) };
  return { pruning: { ...until, headChars: 100, tailChars: 50, maxChars: 400, placeholder: '[cleared]', tools } };
}

const TOOLS: ToolSpec[] = [
  {
    name: 'read',
    description: 'Reads a file.',
    input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
  { name: 'exec', description: 'Runs “a command”.', input_schema: { type: 'object', additionalProperties: false } },
];
const STABLE: SystemBlock = { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } };
const SAMPLINGS: (Sampling | undefined)[] = [
  undefined,
  undefined,
  { temperature: 0.2, top_p: 0.9 },
  { stop_sequences: ['END'], tool_choice: { type: 'any' } },
  { tool_choice: { type: 'tool', name: 'read' } },
];

function requestOf(seed: number): ModelRequest {
  const dice = createDice(seed);
  const model = MODELS[seed % MODELS.length]!;
  const entries = entriesOf(dice);
  const view = viewOf(dice, model, entries);
  const ofPlugin = {
    plugin: 'one',
    role: 'user' as const,
    content: [{ type: 'text' as const, text: 'From a plugin.' }],
  };
  const injected = view.injectedSha256 === undefined ? [] : [ofPlugin];
  const rules = { view, promptSeq: entries.length, model, injected, imageOf: () => IMAGE };
  const { messages } = viewMessages(entries, rules, callOf(dice, entries.length));
  const system = pick(dice, [[], [STABLE], [STABLE, { type: 'text' as const, text: 'It is Monday.' }]]);
  const limits = thinkingRequest({
    model,
    level: THINKING_LEVELS[seed % THINKING_LEVELS.length]!,
    isShown: dice(2) === 0,
  });
  const request: ModelRequest = {
    model,
    ...limits,
    ...given({ sampling: pick(dice, SAMPLINGS) }),
    tools: TOOLS.slice(0, dice(3)),
    ...createInputTransform(view)({ system, messages: [...messages] }),
  };
  return withMarkers(request, pick(dice, ['5m', '5m', '1h', 'off']));
}

const summary = (squeeze: number): ModelRequest =>
  summaryRequest({
    model: 'claude-haiku-5-5',
    retired: entriesOf(createDice(squeeze)),
    contextTokens: 20_000,
    squeeze,
    instructions: squeeze === 0 ? null : 'Keep the numbers.',
    mayFlush: squeeze > 1,
  });

/** The hash of the body that a transport sends; nothing leaves. */
async function sentBy(transport: ReturnType<typeof createAnthropicTransport>, request: ModelRequest): Promise<string> {
  let sent = '';
  const onSent = (body: string | Uint8Array): void => {
    sent = hash('sha256', body, 'hex');
    throw new Error('held back');
  };
  const nothing = { onWrite: () => undefined, onBytes: () => undefined, onEvent: () => false };
  const call = { request, headers: {}, signal: new AbortController().signal, onSent, ...nothing };
  await expect(transport.send(call)).rejects.toThrow('held back');
  return sent;
}

test("Anthropic's requests are, byte for byte, those that are committed", async () => {
  const streamed = createAnthropicTransport({ apiKey: 'any' });
  const whole = createAnthropicTransport({ apiKey: 'any', isStreaming: false });
  const requests = [...Array.from({ length: HISTORIES }, (_, seed) => requestOf(seed + 1)), ...[0, 1, 2].map(summary)];
  const lines: string[] = [];
  for (const [at, request] of requests.entries()) {
    const batch = JSON.stringify(streamed.batchParams?.(request));
    // Every request as it is streamed; some also as one body and in a batch of the provider.
    const others = at % 4 === 0 ? [await sentBy(whole, request), hash('sha256', batch, 'hex')] : [];
    lines.push([String(at + 1).padStart(3, '0'), await sentBy(streamed, request), ...others].join(' '));
  }
  expect(new Set(lines.map((line) => line.slice(4, 68))).size).toBeGreaterThanOrEqual(200);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('anthropic-requests.txt');
});
