// Goal: a call through a package of the AI SDK keeps what holds for every call: its bytes are recorded, nothing is sent after its lease, its
// answer is bounded, and each failure has its own error. Method: a real server of the other API, and real packages.
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ModelRequest } from '../../../src/core/model-request.ts';
import { NO_KEY } from '../../../src/core/provider-keys.ts';
import { createAiSdkTransport, type AiSdkOptions } from '../../../src/model/ai-sdk/create-transport.ts';
import { createModel } from '../../../src/model/create-model.ts';
import type { AskOptions } from '../../../src/model/model.ts';
import { request, results, user } from '../build-request.ts';
import { ofChat, ofGemini, ofResponses, startProviderServer, type ProviderServer } from '../provider-server.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

let server: ProviderServer;
shareAmongTests(async (onEnd) => {
  const started = await startProviderServer();
  onEnd(() => started.close());
  server = started;
});

type Api = AiSdkOptions['api'];

function asker(api: Api, more: Partial<AiSdkOptions> = {}) {
  const options = { provider: 'other', api, apiKey: 'key-of-the-account', baseUrl: `${server.url}/v1`, ...more };
  const model = createModel({ transports: [createAiSdkTransport(options)] });
  const sent: { body: string; sha256: string }[] = [];
  const observers = [
    {
      sent: (body: string | Uint8Array, sha256: string) =>
        void sent.push({ body: Buffer.from(body).toString(), sha256 }),
    },
  ];
  const ask = (
    messages: Parameters<typeof request>[0],
    asked: Partial<ModelRequest> = {},
    options_: Partial<AskOptions> = {},
  ) => {
    server.received.length = 0;
    return model.ask(request(messages, { provider: 'other', model: 'gpt-5', ...asked }), {
      signal: AbortSignal.timeout(20_000),
      headers: { 'x-holdfast-turn': 't1' },
      about: { callId: 'c', sessionKey: 'agent:main:telegram:direct:42', turnId: 't1' },
      observers,
      ...options_,
    });
  };
  return { model, ask, sent };
}

const MADE = {
  openai: ofResponses,
  'openai-chat': ofChat,
  google: ofGemini,
  xai: ofResponses,
  'openai-compatible': ofChat,
};
const apis = Object.keys(MADE) as (keyof typeof MADE)[];

test('calls of one model at the same time have each their own bytes, headers and answer', async () => {
  const { model } = asker('openai-compatible');
  server.received.length = 0;
  server.replies = ['a', 'b', 'c'].map((text) => ofChat({ text }));
  const bodies = new Map<string, string>();
  await Promise.all(
    ['first', 'second', 'third'].map((text) =>
      model.ask(request([text], { provider: 'other', model: 'gpt-5' }), {
        signal: AbortSignal.timeout(20_000),
        headers: { 'x-holdfast-turn': text },
        observers: [{ sent: (body) => void bodies.set(text, Buffer.from(body).toString()) }],
      }),
    ),
  );
  const received = server.received.map(({ headers, text }) => [String(headers['x-holdfast-turn']), text] as const);
  expect(new Map(received)).toEqual(bodies);
  for (const [text, body] of received) expect(body).toContain(text);
});

test.each(apis)('the bytes of a call of the api %s are those that the server receives', async (api) => {
  const { ask, sent } = asker(api, { headers: { 'x-team': 'one' } });
  server.replies = [MADE[api]({ text: 'Hello', call: 'call1' })];
  const answer = await ask(['hi']);
  expect(answer).toMatchObject({
    id: 'answer_1',
    content: [
      { type: 'text', text: 'Hello' },
      { type: 'tool_use', id: 'call1', name: 'read', input: { path: 'a' } },
    ],
    stopReason: 'tool_use',
    usage: { inputTokens: 8_000, cacheReadTokens: 12_000, outputTokens: 20 },
  });
  const [received] = server.received;
  expect(sent).toEqual([{ body: received?.text, sha256: hash('sha256', received?.text ?? '', 'hex') }]);
  expect(received?.headers).toMatchObject({ 'x-team': 'one', 'x-holdfast-turn': 't1' });
  expect(JSON.stringify(received?.headers)).toContain('key-of-the-account');
  // The key of a session may name a person.
  expect(received?.text).not.toContain('telegram');
});

test.each(apis)('the api %s gets back in the next call what it gave', async (api) => {
  const { ask } = asker(api);
  server.replies = [MADE[api]({ thought: 'hm', text: 'Hello', call: 'call1' }), MADE[api]({ text: 'done' })];
  const first = await ask(['hi']);
  const answer = { role: 'assistant' as const, content: first.content };
  expect((await ask([user('hi'), answer, results(first)])).content).toMatchObject([{ text: 'done' }]);
  expect(server.received[0]?.body).toMatchObject(
    {
      openai: {
        store: false,
        prompt_cache_key: expect.stringMatching(/^[0-9a-f]{32}$/),
        include: ['reasoning.encrypted_content'],
      },
      xai: { store: false, prompt_cache_key: expect.any(String) },
      'openai-chat': { store: false, prompt_cache_key: expect.any(String) },
      'openai-compatible': { stream_options: { include_usage: true } },
      google: { systemInstruction: { parts: [{ text: 'You are an agent.' }] } },
    }[api],
  );
  const items = JSON.stringify(server.received[0]?.body);
  const given = {
    openai:
      '{"type":"reasoning","id":"rs_1","encrypted_content":"SEALED","summary":[{"type":"summary_text","text":"hm"}]}',
    xai: '"encrypted_content":"SEALED"',
    'openai-chat': '"tool_call_id":"call1"',
    'openai-compatible': '"reasoning_content":"hm"',
    google: '"thoughtSignature":"U0lH"',
  };
  expect(items).toContain(given[api]);
});

test('the options of the configuration go with each request', async () => {
  server.replies = [ofResponses({ text: 'a' })];
  await asker('openai', { options: { serviceTier: 'flex', store: true } }).ask(['hi']);
  expect(server.received[0]?.body).toMatchObject({ service_tier: 'flex', store: true });
});

const openai = (message: string, code: string) => JSON.stringify({ error: { message, type: code, code, param: null } });

test.each([
  [
    'a refusal',
    {
      status: 429,
      headers: { 'retry-after-ms': '1500', 'x-request-id': 'r1' },
      body: openai('slow', 'rate_limit_exceeded'),
    },
    { status: 429, type: 'rate_limit_error', retryAfterMs: 1500, requestId: 'r1', message: 'slow' },
  ],
  [
    'a wait in words',
    { status: 429, body: openai('Please try again in 2s.', 'rate_limit_exceeded') },
    { retryAfterMs: 2000 },
  ],
  [
    'no money',
    { status: 429, body: openai('quota', 'insufficient_quota') },
    { type: 'billing_error', errorCode: 'insufficient_quota' },
  ],
  [
    'a refusal without JSON',
    { status: 502, body: 'Bad gateway' },
    { status: 502, type: 'api_error', message: 'Bad gateway' },
  ],
  ['another address', { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: 'moved' }, { status: 302 }],
  ['an empty answer', { status: 204, body: '' }, { status: null, type: 'malformed_stream' }],
  [
    'a page',
    { headers: { 'content-type': 'text/html' }, body: '<html>' },
    { type: 'malformed_stream', message: expect.stringContaining('HTML') },
  ],
  [
    'an error inside',
    {
      body: [
        ...(ofResponses({ text: 'a' }).body as object[]).slice(0, 3),
        { type: 'error', sequence_number: 1, code: 'server_error', message: 'boom', param: null },
      ],
    },
    { status: null, type: 'api_error', message: 'boom' },
  ],
  [
    'an error of another form',
    { body: [{ error: { message: 'Provider returned error', code: 429 } }] },
    { type: 'rate_limit_error' },
  ],
  [
    'no JSON inside',
    { body: 'data: {"a\n\n', headers: { 'content-type': 'text/event-stream' } },
    { type: 'malformed_stream' },
  ],
  [
    'an end without a last event',
    { body: (ofResponses({ text: 'a' }).body as object[]).slice(0, 3) },
    { type: 'cut_stream' },
  ],
  [
    'a connection that is cut',
    { body: (ofResponses({ text: 'a' }).body as object[]).slice(0, 3), ending: 'cut' as const },
    { type: 'cut_stream' },
  ],
])('%s is an error of its own', async (_name, reply, fault) => {
  server.replies = [reply];
  await expect(asker('openai').ask(['hi'])).rejects.toMatchObject({ name: 'ModelError', ...fault });
  expect(server.received).toHaveLength(1);
});

test('a server that is not there is an error of the network', async () => {
  const { ask } = asker('openai', { baseUrl: 'http://127.0.0.1:1/v1' });
  await expect(ask(['hi'])).rejects.toMatchObject({ name: 'ModelError', type: 'network', status: null });
});

test('a lease that ends while the connection is made leaves the request unsent (G7)', async () => {
  const stopped = new Error('The lease ran out.');
  const lease = new AbortController();
  let checks = 0;
  const beforeSend = () => {
    checks += 1;
    if (checks < 2) return;
    lease.abort(stopped);
    throw stopped;
  };
  await expect(asker('openai').ask(['hi'], {}, { signal: lease.signal, beforeSend })).rejects.toBe(stopped);
  expect(checks).toBe(2);
  expect(server.received).toEqual([]);
});

test('an answer that is longer than its limit fails (G28)', async () => {
  const events = ofResponses({ text: 'x'.repeat(3 * 1024 * 1024) });
  server.replies = [events];
  await expect(asker('openai').ask(['hi'], { maxTokens: 16 })).rejects.toMatchObject({
    type: 'malformed_stream',
    message: expect.stringContaining('The answer is longer than'),
  });
});

test('a server that drops the front of a prompt fails the call, and runs of spaces are no words', async () => {
  const words = (count: number) => Array.from({ length: count }, (_, at) => `word ${at}`).join(' ');
  const { ask } = asker('openai-compatible');
  server.replies = [ofChat({ text: 'a' })];
  await expect(ask([words(20_000)])).rejects.toMatchObject({
    type: 'model_context_window_exceeded',
    message: expect.stringMatching(/^The server read 20000 tokens of a prompt of about \d{5}: /),
  });
  for (const text of [words(10_000), `${words(10)}${' '.repeat(400_000)}`]) {
    expect((await ask([text])).content).toMatchObject([{ text: 'a' }]);
  }
  server.replies = [ofResponses({ text: 'a' })];
  expect((await asker('openai').ask([words(20_000)])).content).toMatchObject([{ text: 'a' }]);
});

test('an abort ends a call with its reason', async () => {
  const stop = new AbortController();
  const reason = new Error('stopped');
  server.replies = [{ body: (ofResponses({ text: 'a' }).body as object[]).slice(0, 3), ending: 'silence' }];
  const asked = asker('openai').ask(['hi'], {}, { signal: stop.signal, onChunk: () => stop.abort(reason) });
  await expect(asked).rejects.toBe(reason);
});

test('any package of the AI SDK serves models, with the options of the configuration as its settings', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const installed = createRequire(import.meta.url).resolve('@ai-sdk/openai-compatible/package.json');
  const module = join(folder, 'mine.mjs');
  await writeFile(
    module,
    `import { createOpenAICompatible } from ${JSON.stringify(installed.replace('package.json', 'dist/index.js'))};
     export const createMine = ({ region, apiKey = 'key-of-its-own', ...settings }) => createOpenAICompatible({ ...settings, apiKey, headers: { 'x-region': region } });`,
  );
  server.replies = [ofChat({ text: 'from the package' })];
  const { ask } = asker('package', { package: module, options: { region: 'eu' } });
  expect((await ask(['hi'])).content).toEqual([{ type: 'text', text: 'from the package' }]);
  expect(server.received[0]?.headers).toMatchObject({ 'x-region': 'eu', authorization: 'Bearer key-of-the-account' });

  // Without a key, the package uses what it finds itself.
  const keys = { 'key-of-its-own': {}, 'key-of-the-options': { apiKey: 'key-of-the-options' } };
  for (const [key, options] of Object.entries(keys)) {
    server.replies = [ofChat({ text: 'a' })];
    await asker('package', { package: module, apiKey: NO_KEY, options }).ask(['hi']);
    expect(server.received[0]?.headers.authorization).toBe(`Bearer ${key}`);
  }
  const without = asker('package', { package: '@ai-sdk/xai', apiKey: NO_KEY }).ask(['hi']);
  await expect(without).rejects.toMatchObject({
    type: 'authentication_error',
    message: expect.stringContaining('XAI_API_KEY'),
  });

  const odd = join(folder, 'odd.mjs');
  await writeFile(odd, 'export const name = 1;');
  await expect(asker('package', { package: odd }).ask(['hi'])).rejects.toMatchObject({
    type: 'invalid_request_error',
    message: expect.stringContaining('exports no function create'),
  });
  await expect(asker('package', { package: '@ai-sdk/not-installed' }).ask(['hi'])).rejects.toMatchObject({
    type: 'invalid_request_error',
    message: expect.stringContaining('npm install @ai-sdk/not-installed'),
  });
});
