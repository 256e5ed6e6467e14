// Goal: an agent is answered by models of other providers as by Anthropic's: with tools, with what
// each needs back, and with failures that a turn knows what to do about. Method: turns against
// servers of the other APIs, through the packages that a service uses.
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { viewTurn } from '../../src/kernel/views/turns.ts';
import { readModelCalls } from '../rows/calls.ts';
import { readEntries } from '../rows/entries.ts';
import { readTurns } from '../rows/turns.ts';
import { ofChat, ofGemini, ofResponses, startProviderServer, type ProviderServer } from '../model/provider-server.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { longText } from './seed-history.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let server: ProviderServer;
let rig: TurnRig;
const reads: unknown[] = [];

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  server = await startProviderServer();
  onEnd(() => server.close());
  const read = {
    spec: { name: 'read', description: 'Reads a file.', input_schema: { type: 'object' as const } },
    summary: 'reads',
    isIdempotent: true,
    run: async (input: unknown) => {
      reads.push(input);
      return { content: 'the content', isError: false };
    },
  };
  const catalogue = { 'local/small': { maxOutputTokens: 6_000, thinking: ['off', 'low'] } };
  const baseUrl = `${server.url}/v1`;
  const providers = {
    openai: { baseUrl, apiKey: 'key-of-openai' },
    google: { baseUrl, apiKey: 'key-of-google' },
    local: { api: 'openai-compatible', baseUrl, maxRetries: 0 },
    chat: { api: 'openai-chat', baseUrl, apiKey: 'key-of-chat' },
  };
  rig = await createTurnRig(database.url, { tools: [read], settings: { models: { providers, catalogue } } });
  const made = rig;
  onEnd(() => made.close());
});

async function play(session: string, text: string, model: string) {
  server.received.length = 0;
  const worker = rig.worker();
  await rig.send(session, text, { model });
  await worker.run(session);
  worker.stop();
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(session) })).at(-1);
  return turn as { id: string; status: string; reply: string | null; error: { code: string; message: string } | null };
}

function derive(turnId: string, callNo: number) {
  const worker = rig.worker();
  worker.stop();
  const { writeBody } = worker.context.models.client;
  return deriveRequest(rig.database, { turnId, callNo, defaultThinking: () => 'off', writeBody });
}

const refusal = (status: number, code: string, message: string) => ({
  status,
  body: JSON.stringify({ error: { code, message, type: code } }),
});

test.each([
  ['openai/gpt-5', ofResponses, '/v1/responses'],
  ['google/gemini-3-pro', ofGemini, '/v1/models/gemini-3-pro:streamGenerateContent?alt=sse'],
  ['local/qwen', ofChat, '/v1/chat/completions'],
  ['chat/gpt-4o', ofChat, '/v1/chat/completions'],
])(
  'the model %s answers with a tool in between, and the bytes of its calls are recorded and can be made again',
  async (model, made, path) => {
    const session = model.replace('/', '-');
    server.replies = [made({ thought: 'hm', text: 'One moment.', call: 'call1' }), made({ text: 'It is out.' })];
    reads.length = 0;
    const { id, reply, status } = await play(session, 'Is order 42 out?', model);
    expect([status, reply, reads]).toEqual(['completed', 'It is out.', [{ path: 'a' }]]);
    expect(server.received.map((one) => one.path)).toEqual([path, path]);
    expect(server.received[1]?.text).toContain('the content');
    const provider = model.slice(0, model.indexOf('/'));
    expect(await viewTurn(rig.database.views, id)).toMatchObject({ provider, model: model.slice(provider.length + 1) });
    const calls = await readModelCalls(rig, { turnId: id });
    expect(calls).toMatchObject(
      server.received.map(({ text }) => ({
        model,
        status: 'ok',
        requestSha256: hash('sha256', text, 'hex'),
        inputTokens: 8_000,
        cacheReadTokens: 12_000,
        outputTokens: 20,
      })),
    );
    const { received } = server;
    expect(await Promise.all([1, 2].map((callNo) => derive(id, callNo)))).toMatchObject(
      received.map(({ text }) => ({ matches: true, body: text })),
    );
    // Nothing was sent for it.
    expect(received).toHaveLength(2);
  },
);

test('a server that counts only what is new answers from the second message on, and after another server as before (G43)', async () => {
  const counted = (text: string, prompt_tokens: number) => ({
    body: [...(ofChat({ text }).body as object[]).slice(0, -1), { choices: [], usage: { prompt_tokens } }],
  });
  server.replies = [counted('First.', 9_000)];
  await play('counting', longText(8_000, 'Remember this.'), 'local/qwen');
  server.replies = [counted('Second.', 15)];
  expect(await play('counting', 'And now?', 'local/qwen')).toMatchObject({ status: 'completed', reply: 'Second.' });
  expect(server.received).toHaveLength(1);
  server.replies = [ofResponses({ text: 'Third.' })];
  expect(await play('counting', 'And now?', 'openai/gpt-5')).toMatchObject({ reply: 'Third.' });
  // It has never read this conversation.
  server.replies = [counted('Fourth.', 15)];
  await play('counting', 'And now?', 'local/other');
  const turnId = (await readTurns(rig, { sessionId: await rig.sessionOf('counting') })).at(-1)?.id ?? '';
  const [first] = await readModelCalls(rig, { turnId });
  expect(first).toMatchObject({ status: 'failed', error: { code: 'model_context_overflow' } });
});

test('the facts of the configuration bound what is asked of a model', async () => {
  server.replies = [ofChat({ text: 'Yes.' }), ofChat({ text: 'Yes.' })];
  for (const model of ['local/small', 'local/other']) {
    await rig.send('bounded', 'Well?', { model, thinking: 'high' });
    const worker = rig.worker();
    await worker.run('bounded');
    worker.stop();
  }
  const asked = server.received.slice(-2).map(({ text }) => JSON.parse(text) as Record<string, unknown>);
  expect(asked.map((body) => [body['max_tokens'], body['reasoning_effort']])).toEqual([
    [6_000, 'low'],
    [32_768, 'high'],
  ]);
});

test('a session that changes its model shows each what it wrote itself, and no other what it needs back (G34)', async () => {
  server.replies = [
    ofResponses({ thought: 'sealed thought', text: 'From OpenAI.', call: 'call1' }),
    ofResponses({ text: 'Yes.' }),
  ];
  await play('changing', 'first', 'openai/gpt-5');
  expect(server.received[1]?.text).toContain('SEALED');

  server.replies = [ofGemini({ text: 'From Google.', call: 'call2' }), ofGemini({ text: 'Also.' })];
  await play('changing', 'second', 'google/gemini-3-pro');
  for (const { text } of server.received) expect(text).not.toMatch(/SEALED|rs_1|origin/);
  expect(server.received[0]?.text).toContain('From OpenAI.');
  expect(server.received[1]?.text).toContain('"thoughtSignature":"U0lH"');

  await play('changing', 'third [[reply: From Anthropic.]]', 'anthropic/claude-sonnet-5-5');
  const toAnthropic = JSON.stringify(rig.scripted.requests.at(-1));
  expect(toAnthropic).toContain('From Google.');
  expect(toAnthropic).not.toMatch(/SEALED|rs_1|U0lH|origin|sealed thought/);

  server.replies = [ofResponses({ text: 'Back.' })];
  expect(await play('changing', 'fourth', 'openai/gpt-5')).toMatchObject({ reply: 'Back.' });
  expect(server.received[0]?.text).toContain('SEALED');
  expect(server.received[0]?.text).toMatch(/From Anthropic\..*fourth/);
  expect(server.received[0]?.text).not.toContain('U0lH');
});

test.each([
  [
    'openai/gpt-5',
    ofResponses,
    refusal(400, 'invalid_encrypted_content', 'The encrypted content could not be verified.'),
    'SEALED',
  ],
  [
    'google/gemini-3-pro',
    ofGemini,
    {
      status: 400,
      body: JSON.stringify({
        error: { code: 400, status: 'INVALID_ARGUMENT', message: 'Thought signature is not valid.' },
      }),
    },
    'U0lH',
  ],
])(
  'what %s refuses to take back is left out from then on, and the turn goes through (G34)',
  async (model, made, refused, given) => {
    const session = `refused-${model}`.replaceAll(/[^a-z0-9]/g, '-');
    server.replies = [made({ thought: 'hm', call: 'call1' }), made({ text: 'First.' })];
    await play(session, 'first', model);
    server.replies = [refused, made({ text: 'Second.', call: 'call2' }), made({ text: 'Third.' })];
    const second = await play(session, 'second', model);
    expect(second).toMatchObject({ status: 'completed', reply: 'Third.' });
    expect(await Promise.all([1, 2, 3].map((callNo) => derive(second.id, callNo)))).toMatchObject(
      Array.from({ length: 3 }, () => ({ matches: true })),
    );
    const [before, after] = server.received.map(({ text }) => text);
    expect(server.received).toHaveLength(3);
    expect(before).toContain(given);
    expect(after).not.toContain(given);
    server.replies = [made({ text: 'Fourth.' })];
    await play(session, 'third', model);
    const [later] = server.received.map(({ text }) => text);
    expect(later).toContain('First.');
    // What was written since comes back.
    expect(later?.split(given).length).toBe(model.startsWith('google') ? 2 : 1);
  },
);

test('a prompt that a server finds too long, in its own words, is compacted by that server and sent again, which is no retry (G16)', async () => {
  expect(rig.config.models.providers['local']?.maxRetries).toBe(0);
  const long = longText(1_000, 'The key is under the mat.');
  for (const turn of [1, 2, 3]) {
    server.replies = [ofChat({ text: longText(1_000, `Answer ${turn}.`) })];
    await play('overflow', `Question ${turn}. ${long}`, 'local/qwen');
  }
  const said = 'the request exceeds the available context size, try increasing it';
  const tooLong = refusal(400, 'exceed_context_size_error', said);
  server.replies = [
    ofChat({ thought: 'hm', call: 'call1' }),
    tooLong,
    tooLong,
    ofChat({ text: '## Decisions\nThe key is under the mat.' }),
    ofChat({ text: 'Under the mat.' }),
  ];
  reads.length = 0;
  const { id, status, reply } = await play('overflow', 'Where is the key?', 'local/qwen');
  expect([status, reply, reads.length]).toEqual(['completed', 'Under the mat.', 1]);
  const calls = await readModelCalls(rig, { turnId: id });
  expect(calls.map(({ purpose, status: end, model }) => [purpose, end, model])).toEqual([
    ['answer', 'ok', 'local/qwen'],
    ['answer', 'failed', 'local/qwen'],
    ['compaction', 'failed', 'local/qwen'],
    ['compaction', 'ok', 'local/qwen'],
    ['answer', 'ok', 'local/qwen'],
  ]);
  const [, refused = '', tried = '', summary = '', last = ''] = server.received.map(({ text }) => text);
  expect(summary).toContain('Compaction request');
  expect(summary.length).toBeLessThan(tried.length);
  expect(last.length).toBeLessThan(refused.length);
  for (const kept of ['under the mat', 'Where is the key?', 'the content']) expect(last).toContain(kept);
});

test('the transcript keeps its language: blocks of the Messages API, with the origin beside them', async () => {
  server.replies = [ofResponses({ thought: 'hm', text: 'Hello.' })];
  await play('stored', 'hi', 'openai/gpt-5');
  const entries = await readEntries(rig, { sessionId: await rig.sessionOf('stored') });
  const origin = { provider: 'openai', model: 'gpt-5' };
  expect(entries.at(-1)?.['content']).toMatchObject([
    {
      type: 'thinking',
      thinking: 'hm',
      signature: '',
      origin: { ...origin, metadata: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'SEALED' } } },
    },
    { type: 'text', text: 'Hello.', origin },
  ]);
});

test.each([
  ['insufficient_quota', 429, 'model_billing'],
  ['model_not_found', 404, 'model_not_found'],
  ['invalid_api_key', 401, 'model_unauthorized'],
  ['content_filter', 400, 'model_stopped_sensitive'],
])('the refusal %s ends the turn with its own code after one call', async (code, status, expected) => {
  server.replies = [refusal(status, code, 'In the words of the server.')];
  const { error } = await play(`refused-${code}`, 'hi', 'local/qwen');
  expect(error).toMatchObject({ code: expected, message: 'In the words of the server.' });
  expect(server.received).toHaveLength(1);
});
