// Goal: a call through a package of the AI SDK keeps what holds for every call: its bytes are
// recorded, nothing is sent after its lease, its answer is bounded, and each failure has its own
// error. Method: a real server of the other API, and real packages.
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ModelRequest } from '../../../src/core/model-request.ts';
import { NO_KEY } from '../../../src/kernel/rules/provider-keys.ts';
import { createAiSdkTransport, type AiSdkOptions } from '../../../src/model/ai-sdk/create-transport.ts';
import { createModel } from '../../../src/model/create-model.ts';
import type { AskOptions } from '../../../src/model/model.ts';
import { assistant, request, results, user } from '../build-request.ts';
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

const READ_TOOL = { name: 'read', description: 'A tool.', input_schema: { type: 'object' as const } };

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
    { type: 'wrong_address', message: expect.stringContaining('HTML') },
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

/** A chat whose usage counts as a server does that has most of the prompt in its cache. */
const countedBy = (usage: object) => ({
  body: [...(ofChat({ text: 'a' }).body as object[]).slice(0, -1), { id: 'answer_1', choices: [], usage }],
});

test('a count without what the cache had is made whole, or believed if it is that of what is new (G43)', async () => {
  const words = (count: number) => Array.from({ length: count }, (_, at) => `word ${at}`).join(' ');
  const later = [user(words(20_000)), assistant('Yes.'), user(words(400))];
  const answered = async (usage: object, more: Partial<AiSdkOptions> = {}, options: Partial<AskOptions> = {}) => {
    server.replies = [countedBy(usage)];
    return await asker('openai-compatible', more).ask(later, {}, options);
  };
  const cached = { prompt_tokens: 900, prompt_tokens_details: { cached_tokens: 60_000 } };
  expect((await answered(cached)).usage).toMatchObject({ inputTokens: 900, cacheReadTokens: 60_000 });
  const less = { prompt_tokens: 30_000, prompt_tokens_details: { cached_tokens: 29_000 } };
  const uncached = { promptTokens: 'uncached' } as const;
  expect((await answered(less, uncached)).usage).toMatchObject({ inputTokens: 30_000, cacheReadTokens: 29_000 });
  // What is new is about 930 tokens.
  for (const count of [600, 900, 1_800])
    expect(await answered({ prompt_tokens: count })).toMatchObject({ id: 'answer_1' });
  const refused = { type: 'model_context_window_exceeded', message: expect.stringContaining('checkPrompt') };
  for (const count of [100, 4_096]) await expect(answered({ prompt_tokens: count })).rejects.toMatchObject(refused);
  // The answers are of another server.
  await expect(answered({ prompt_tokens: 900 }, {}, { newFrom: 0 })).rejects.toMatchObject(refused);
  // The answer before may have had thoughts, so that it is read again.
  const short = [user(words(20_000)), assistant(words(400)), user('On.')];
  server.replies = [countedBy({ prompt_tokens: 1_000 })];
  expect(await asker('openai-compatible').ask(short)).toMatchObject({ id: 'answer_1' });
});

test.each<[string, Partial<AiSdkOptions>]>([
  ['its provider', { checkPrompt: false }],
  ['the model', { models: { 'gpt-5': { checkPrompt: false } } }],
  ['the model, against its provider', { checkPrompt: true, models: { 'gpt-5': { checkPrompt: false } } }],
])('a low count is believed where %s says so', async (_whose, more) => {
  const words = Array.from({ length: 20_000 }, (_, at) => `word ${at}`).join(' ');
  server.replies = [countedBy({ prompt_tokens: 5 })];
  expect(await asker('openai-compatible', more).ask([words])).toMatchObject({ id: 'answer_1' });
  server.replies = [countedBy({ prompt_tokens: 5 })];
  await expect(asker('openai-compatible', { models: { other: { checkPrompt: false } } }).ask([words])).rejects.toThrow(
    'checkPrompt',
  );
});

const said = (...contents: unknown[]) => ({
  body: [
    ...contents.map((content) => ({ choices: [{ index: 0, delta: { content } }] })),
    { choices: [{ delta: {}, finish_reason: 'stop' }] },
  ],
});

test('thoughts in tags at the beginning of an answer are thoughts of its model (G34)', async () => {
  const origin = { provider: 'other', model: 'gpt-5', metadata: {} };
  const { ask } = asker('openai-compatible');
  server.replies = [said('<thi', 'nk>a < b', ' </thi', 'nk>\n', '\n{"a":', ' 1}')];
  const shown: string[] = [];
  const { content } = await ask(['hi'], {}, { onChunk: (text) => void shown.push(text) });
  expect(content).toEqual([
    { type: 'thinking', thinking: 'a < b', signature: '', origin },
    { type: 'text', text: '{"a": 1}' },
  ]);
  expect(shown.join('')).toBe('{"a": 1}');
});

test.each<[string, unknown[]]>([
  ['not closed', ['<think>a', ' b']],
  ['not at the beginning', ['See <think>a</think>', ' b']],
  ['after a blank', [' <think>a</think> b']],
  ['another', ['<thinking>a</thinking> b']],
])('a tag that is %s is text', async (_name, contents) => {
  server.replies = [said(...contents)];
  const { content } = await asker('openai-compatible').ask(['hi']);
  expect(content).toEqual([{ type: 'text', text: contents.join('') }]);
});

test('tags are text where the server sends thoughts in a field, where a model says so, and of other APIs', async () => {
  const text = '<think>a</think> b';
  const field = { choices: [{ index: 0, delta: { reasoning_content: 'hm' } }] };
  server.replies = [{ body: [field, ...said(text).body] }];
  expect((await asker('openai-compatible').ask(['hi'])).content).toMatchObject([{ thinking: 'hm' }, { text }]);
  server.replies = [said(text)];
  const switched = asker('openai-compatible', { models: { 'gpt-5': { thinkTags: false } } });
  expect((await switched.ask(['hi'])).content).toMatchObject([{ text }]);
  server.replies = [ofChat({ text })];
  expect((await asker('openai-chat').ask(['hi'])).content).toMatchObject([{ text }]);
});

const call = (more: object) => ({ choices: [{ index: 0, delta: { tool_calls: [more] }, finish_reason: null }] });
const callsEnd = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
const READ = [{ type: 'tool_use', name: 'read', input: { path: 'a' } }];

test.each<[string, object[], unknown]>([
  [
    'chunks without choices',
    [{ type: 'ping' }, { choices: null }, { id: 7, error: null, usage: null }, ...said('a').body],
    [{ text: 'a' }],
  ],
  [
    'ids that are numbers',
    [
      { id: 7, model: 8, created: '9', choices: [{ index: '0', delta: { content: 'a', role: 'model' }, logprobs: 5 }] },
      ...said().body,
    ],
    [{ text: 'a' }],
  ],
  ['a text in parts', said([{ type: 'text', text: 'a' }, null, { type: 'text', text: 'b' }]).body, [{ text: 'ab' }]],
  [
    'arguments that are an object',
    [call({ index: 0, id: 7, function: { name: 'read', arguments: { path: 'a' } } }), callsEnd],
    READ,
  ],
  [
    'a call without its place',
    [
      call({ id: 'x', function: { name: 'read', arguments: '{"path":' } }),
      call({ function: { arguments: '"a"}' } }),
      callsEnd,
    ],
    READ,
  ],
  [
    'a name after the arguments',
    [
      call({ index: 0, id: 'x', function: { arguments: '{"path":' } }),
      call({ index: 0, function: { name: 'read', arguments: '"a"}' } }),
      callsEnd,
    ],
    READ,
  ],
  [
    'a call that is sent twice',
    [
      ...Array<object>(2).fill(call({ index: 0, id: 'x', function: { name: 'read', arguments: '{"path":"a"}' } })),
      callsEnd,
    ],
    READ,
  ],
  [
    'a reason that is an object',
    [
      ...said('a').body.slice(0, 1),
      { choices: [{ index: 0, delta: {}, finish_reason: { type: 'stop', matched: 2 } }] },
    ],
    [{ text: 'a' }],
  ],
])('%s cost no answer (G43)', async (_name, body, content) => {
  for (const api of ['openai-compatible', 'openai-chat'] as const) {
    server.replies = [{ body }];
    expect((await asker(api).ask(['hi'], { tools: [READ_TOOL] })).content).toMatchObject(content as object);
  }
});

test('an empty reason in each event ends an answer only if the server says that it ended (G12, G43)', async () => {
  const events = ['a', 'b'].map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: '' }] }));
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const headers = { 'content-type': 'text/event-stream' };
  server.replies = [{ body: `${text}data: [DONE]\n\n`, headers }];
  expect((await asker('openai-compatible').ask(['hi'])).content).toMatchObject([{ text: 'ab' }]);
  server.replies = [{ body: text, headers }];
  await expect(asker('openai-compatible').ask(['hi'])).rejects.toMatchObject({ type: 'malformed_stream' });
  const torn = `data: ${JSON.stringify(call({ index: 0, id: 'x', function: { name: 'read', arguments: '{"pa' } }))}\n\n`;
  server.replies = [{ body: `${torn}${text}data: [DONE]\n\n`, headers }];
  await expect(asker('openai-compatible').ask(['hi'])).rejects.toMatchObject({ type: 'cut_stream' });
});

test('a connection that breaks after a complete answer costs nothing, nor does one that stays open', async () => {
  const whole = (ofChat({ text: 'a' }).body as object[]).map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const headers = { 'content-type': 'text/event-stream' };
  for (const ending of ['cut', 'silence'] as const) {
    server.replies = [{ body: `${whole}data: [DONE]\n\n`, headers, ending }];
    expect((await asker('openai-compatible').ask(['hi'])).content).toMatchObject([{ text: 'a' }]);
    server.replies = [{ ...ofResponses({ text: 'a' }), ending }];
    expect((await asker('openai').ask(['hi'])).content).toMatchObject([{ text: 'a' }]);
  }
});

test('an answer that was not streamed is an answer', async () => {
  const message = {
    role: 'assistant',
    content: 'a',
    tool_calls: [{ id: 'x', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } }],
  };
  const content = [{ text: 'a' }, { name: 'read', input: { path: 'a' } }];
  const bodies = {
    'openai-compatible': { id: 'answer_1', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] },
    openai: (ofResponses({ text: 'a', call: 'x' }).body as { response: object }[]).at(-1)?.response,
    google: [
      {
        candidates: [
          {
            content: { parts: [{ text: 'a' }, { functionCall: { name: 'read', args: { path: 'a' } } }] },
            finishReason: 'STOP',
          },
        ],
      },
    ],
  } as const;
  for (const [api, body] of Object.entries(bodies)) {
    server.replies = [{ body: JSON.stringify(body) }];
    expect((await asker(api as Api).ask(['hi'], { tools: [READ_TOOL] })).content).toMatchObject(content);
  }
  server.replies = [{ body: JSON.stringify({ choices: [] }).slice(0, -2) }];
  await expect(asker('openai-compatible').ask(['hi'])).rejects.toMatchObject({ type: 'malformed_stream' });
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
