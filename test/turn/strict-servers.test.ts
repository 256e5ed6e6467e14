// Goal: a turn goes through with a model server that takes less than others do: it refuses forced
// tools, answers without reasoning, ids of its own in another form, long prompts and large
// requests, each in its own words. Method: turns against a server that judges what it receives.
import { expect, test } from 'vitest';
import type { InboundMessage } from '../../src/core/inbound.ts';
import type { ImageBlock } from '../../src/core/content.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { unblockModels } from '../../src/kernel/processes/unblock-models.ts';
import { readCompactions, readEntries } from '../rows/entries.ts';
import { readModelCalls, readToolCalls } from '../rows/calls.ts';
import { removeModelBlocks } from '../rows/pauses.ts';
import { readTurns } from '../rows/turns.ts';
import {
  ofChat,
  startProviderServer,
  type ProviderServer,
  type Received,
  type Reply,
} from '../model/provider-server.ts';
import { png } from '../requests/rig/png.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { seedHistory } from './seed-history.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let server: ProviderServer;
let rig: TurnRig;
const WINDOW = 8_192;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  server = await startProviderServer();
  onEnd(() => server.close());
  const look = (name: string, content: () => string | ImageBlock[]) => ({
    spec: { name, description: 'Looks.', input_schema: { type: 'object' as const } },
    summary: 'looks',
    isIdempotent: true,
    run: async () => ({ content: content(), isError: false }),
  });
  const image = (): ImageBlock[] => [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png(8, 8, 9).toString('base64') } },
  ];
  const baseUrl = `${server.url}/v1`;
  const providers = {
    local: { api: 'openai-compatible', baseUrl, maxRetries: 0 },
    other: { api: 'openai-compatible', baseUrl, maxRetries: 0 },
    short: { api: 'openai-compatible', baseUrl, family: 'mistral' },
    gateway: { api: 'anthropic', baseUrl: server.url, apiKey: 'key-of-gateway' },
  };
  const catalogue = { 'local/narrow': { contextTokens: WINDOW } };
  rig = await createTurnRig(database.url, {
    tools: [look('read', () => 'the content'), look('photo', image)],
    settings: { models: { providers, catalogue } },
  });
  const made = rig;
  onEnd(() => made.close());
});

/**
 * A server that answers with what its judgement of a request says; 40 requests in a turn are an
 * endless loop.
 */
function judge(of: (body: Received['body'], count: number) => Reply): void {
  server.received.length = 0;
  server.answer = (body) =>
    server.received.length > 40 ? ofChat({ text: 'Stop.' }) : of(body, server.received.length);
}

async function play(session: string, text: string, more: Partial<InboundMessage> = {}) {
  const from = server.received.length;
  const worker = rig.worker();
  await rig.send(session, text, { model: 'local/qwen', ...more });
  await worker.run(session);
  worker.stop();
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(session) })).at(-1);
  const { id, status, reply, error } = turn as {
    id: string;
    status: string;
    reply: string | null;
    error: { code: string; message: string } | null;
  };
  return { id, status, reply, error, bodies: server.received.slice(from).map(({ body }) => body) };
}

/** Whether each call of a turn is written again as it was sent. */
async function derived(turnId: string): Promise<(boolean | null | undefined)[]> {
  const worker = rig.worker();
  worker.stop();
  const { writeBody } = worker.context.models.client;
  const calls = await readModelCalls(rig, { turnId }, 'callNo');
  const wanted = calls.map(({ callNo }) => ({ turnId, callNo: Number(callNo), defaultThinking: () => 'off' as const }));
  const requests = await Promise.all(wanted.map((one) => deriveRequest(rig.database, { ...one, writeBody })));
  return requests.map((request) => request?.matches);
}

const refusal = (status: number, body: unknown): Reply => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const openai = (message: string) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } });
const FORMAT = {
  type: 'json_schema' as const,
  schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
};
const STRUCTURED = { options: { responseFormat: FORMAT } };
const FITS = '{"n":4}';

interface WireMessage {
  role: string;
  content: unknown;
  reasoning_content?: string;
  tool_call_id?: string;
  tool_calls?: { id: string }[];
}
const messagesOf = (body: Received['body'] | undefined): WireMessage[] => (body?.['messages'] ?? []) as WireMessage[];
const answersOf = (body: Received['body'] | undefined) => messagesOf(body).filter(({ role }) => role === 'assistant');
const idsOf = (body: Received['body'] | undefined) =>
  messagesOf(body).flatMap(({ tool_call_id: id, tool_calls: calls = [] }) => [
    ...calls.map((call) => call.id),
    ...(id === undefined ? [] : [id]),
  ]);
const sizeOf = (body: Received['body']): number => JSON.stringify(body).length;

test.each([
  ['DeepSeek', openai('Thinking mode does not support this tool_choice')],
  [
    'Qwen',
    openai(
      '<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode',
    ),
  ],
  ['Kimi', openai('tool_choice specified is incompatible with thinking enabled')],
  ['Claude through a gateway', openai('Thinking may not be enabled when tool_choice forces tool use.')],
])(
  'a model of %s that cannot be forced is asked once more, unforced, and by all workers from then on (G16)',
  async (name, words) => {
    const model = `local/${name.split(' ')[0]?.toLowerCase()}`;
    judge(({ tool_choice: choice }) => (choice === undefined ? ofChat({ text: FITS }) : refusal(400, words)));
    const first = await play(`forced-${name.replaceAll(' ', '-')}`, 'Count.', { model, ...STRUCTURED });
    expect(first).toMatchObject({ status: 'completed', reply: FITS });
    expect(first.bodies.map((body) => body['tool_choice'])).toEqual(['required', undefined]);
    expect(JSON.stringify(first.bodies[1]?.['tools'])).toContain('structured_output');
    expect(await derived(first.id)).toEqual([true, true]);
    const later = await play(`later-${name.replaceAll(' ', '-')}`, 'Count.', { model, ...STRUCTURED });
    expect(later.bodies.map((body) => body['tool_choice'])).toEqual([undefined]);
    expect(await derived(later.id)).toEqual([true]);
  },
);

test('what a refusal says of one model says nothing of another, and is deleted when its blocks are lifted', async () => {
  judge(({ tool_choice: choice }) =>
    choice === undefined
      ? ofChat({ text: FITS })
      : refusal(400, openai('Thinking mode does not support this tool_choice')),
  );
  await play('lifted', 'Count.', { model: 'local/lifted', ...STRUCTURED });
  expect((await play('not-lifted', 'Count.', { model: 'local/not-lifted', ...STRUCTURED })).bodies).toHaveLength(2);
  expect((await unblockModels(rig.database, 'local/lifted', null)).lifted).toEqual([]);
  expect((await play('lifted', 'Count.', { model: 'local/lifted', ...STRUCTURED })).bodies).toHaveLength(2);
});

test('a server that refuses the unforced request, too, is asked no third time, and nothing is remembered (G16)', async () => {
  judge(() => refusal(400, openai('thinking is not available in your region')));
  for (const session of ['region-1', 'region-2']) {
    const turn = await play(session, 'Count.', { model: 'local/region', ...STRUCTURED });
    expect(turn.error).toMatchObject({
      code: 'model_invalid_request',
      message: 'thinking is not available in your region',
    });
    expect(turn.bodies.map((body) => body['tool_choice'])).toEqual(['required', undefined]);
  }
  const plain = await play('region-3', 'Hi.', { model: 'local/region' });
  expect(plain.bodies).toHaveLength(1);
});

test.each([
  [
    'DeepSeek',
    'Missing `reasoning_content` field in the assistant message at message index 2. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls',
  ],
  ['DeepSeek-V4', 'The `reasoning_content` in the thinking mode must be passed back to the API.'],
  ['Kimi', 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2'],
])('a history without reasoning goes to %s with an empty one, and to other servers without', async (name, words) => {
  const model = `local/${name.toLowerCase()}`;
  const session = `bare-${name}`.toLowerCase();
  judge((_body, count) => (count === 1 ? ofChat({ call: 'call1' }) : ofChat({ text: 'First.' })));
  await play(session, 'One.', { model: 'other/plain' });
  judge((body, count) => {
    if (answersOf(body).some((answer) => answer.reasoning_content === undefined)) return refusal(400, openai(words));
    return count === 2 ? ofChat({ call: 'call2', thought: 'hm' }) : ofChat({ text: 'Second.' });
  });
  const turn = await play(session, 'Two.', { model });
  expect(turn).toMatchObject({ status: 'completed', reply: 'Second.' });
  expect(answersOf(turn.bodies[0]).map((answer) => 'reasoning_content' in answer)).toEqual([false, false]);
  expect(answersOf(turn.bodies.at(-1)).map((answer) => answer.reasoning_content)).toEqual(['', '', 'hm']);
  expect(await derived(turn.id)).toEqual([true, true, true]);
  const later = await play(session, 'Three.', { model });
  expect(later.bodies).toHaveLength(1);
  judge(() => ofChat({ text: 'Third.' }));
  const plain = await play(session, 'Four.', { model: 'other/plain' });
  expect(JSON.stringify(plain.bodies)).not.toContain('reasoning_content');
});

/** As LiteLLM gives it: a signature of Gemini's is in it. */
const SIGNED = `call_1a2b__thought__${Buffer.from('x'.repeat(3_000)).toString('base64')}==`;

test('the id that a provider gives a call comes back to the same model letter for letter, and no other sees it (G34)', async () => {
  const session = 'signed-ids';
  judge((_body, count) => (count === 1 ? ofChat({ call: SIGNED }) : ofChat({ text: 'First.' })));
  const turn = await play(session, 'One.');
  expect(idsOf(turn.bodies[1])).toEqual([SIGNED, SIGNED]);
  expect(await derived(turn.id)).toEqual([true, true]);
  const [call] = await readToolCalls(rig, { turnId: turn.id }, 'callId');
  expect(String(call?.callId)).toMatch(/^[\w-]{1,200}$/);
  expect(idsOf((await play(session, 'Two.')).bodies[0])).toEqual([SIGNED, SIGNED]);
  for (const model of ['local/else', 'other/qwen', 'short/small']) {
    const other = idsOf((await play(session, 'Three.', { model })).bodies[0]);
    expect(other).toEqual([other[0], other[0]]);
    expect(other[0]).toMatch(model.startsWith('short') ? /^[a-zA-Z0-9]{9}$/ : /^[\w-]{1,40}$/);
  }
  await play(session, 'Four. [[reply: Yes.]]', { model: 'anthropic/claude-sonnet-5-5' });
  expect(JSON.stringify(rig.scripted.requests.at(-1)?.body)).not.toMatch(/"origin"|=="/);
  expect(idsOf((await play(session, 'Five.')).bodies[0])).toEqual([SIGNED, SIGNED]);
});

test('an id that every call of a server has, or one that is too long, is sent once or not at all (G12)', async () => {
  const given = ['functions.read:0', 'functions.read:0', `${'x'.repeat(8_193)}`];
  judge((_body, count) => ofChat(count <= given.length ? { call: given[count - 1]! } : { text: 'Done.' }));
  const turn = await play('same-ids', 'Go.');
  expect(turn).toMatchObject({ status: 'completed', reply: 'Done.' });
  const ids = idsOf(turn.bodies.at(-1));
  expect(ids[0]).toBe('functions.read:0');
  expect(new Set(ids).size).toBe(3);
  expect(ids.filter((id) => id.length > 40)).toEqual([]);
  expect(await derived(turn.id)).toEqual([true, true, true, true]);
});

/** An answer of the Messages API. */
function ofMessages({ text = '', call }: { text?: string; call?: string }): Reply {
  const block = call === undefined ? { type: 'text', text } : { type: 'tool_use', id: call, name: 'read', input: {} };
  return {
    body: [
      { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 9, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: call === undefined ? 'end_turn' : 'tool_use' },
        usage: { output_tokens: 5 },
      },
      { type: 'message_stop' },
    ],
  };
}

test('a server with the API of Anthropic is asked unforced and with its own ids, too (G34)', async () => {
  const model = 'gateway/deepseek';
  judge(({ tool_choice: choice }, count) => {
    if (choice !== undefined)
      return refusal(400, openai('Thinking may not be enabled when tool_choice forces tool use.'));
    return ofMessages(count === 2 ? { call: SIGNED } : { text: FITS });
  });
  const turn = await play('gateway', 'Count.', { model, ...STRUCTURED });
  expect(turn).toMatchObject({ status: 'completed', reply: FITS });
  expect(turn.bodies.map((body) => 'tool_choice' in body)).toEqual([true, false, false]);
  const sent = JSON.stringify(turn.bodies[2]?.['messages']);
  expect(sent.split(JSON.stringify(SIGNED))).toHaveLength(3);
  expect(sent).not.toContain('"origin"');
  expect(await derived(turn.id)).toEqual([true, true, true]);
  expect((await play('gateway-later', 'Count.', { model, ...STRUCTURED })).bodies).toHaveLength(1);
});

const NGINX = `<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n`;

test.each([
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 9001 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
    },
    'blocked',
  ],
  [
    'TabbyAPI',
    503,
    { detail: { error: { message: 'Prompt length 9001 is greater than max_seq_len 4096' } } },
    'blocked',
  ],
  [
    'OpenRouter',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: JSON.stringify(openai("This model's maximum context length is 4096 tokens.")),
          provider_name: 'X',
        },
      },
    },
    'blocked',
  ],
  [
    'FastAPI',
    422,
    { detail: "The input (9001 tokens) is longer than the model's context length (4096 tokens)." },
    'blocked',
  ],
  ['nginx', 413, NGINX, 'model_request_too_large'],
])(
  'the words of %s for a request that is too long lead to one compaction, then to the error (G16)',
  async (name, status, body, code) => {
    const session = `always-${name.toLowerCase().replace(' ', '-')}`;
    await seedHistory(rig, session, { turns: 8, tokens: 24_000 });
    judge(({ messages }) =>
      JSON.stringify(messages).includes('Compaction request')
        ? ofChat({ text: '## Decisions\n- none' })
        : refusal(status, body),
    );
    const turn = await play(session, 'Go on.', { model: `local/${session}` });
    expect(turn.error).toMatchObject({ code });
    expect(turn.error?.message).toContain(name === 'nginx' ? '413 Request Entity Too Large' : '4096');
    expect(turn.bodies.map((one) => JSON.stringify(one).includes('Compaction request'))).toEqual([false, true, false]);
    expect(await readCompactions(rig, { sessionId: await rig.sessionOf(session) })).toMatchObject([
      { reason: 'overflow', status: 'completed' },
    ]);
    expect(await derived(turn.id)).toEqual([true, true, true]);
  },
);

test('a server whose limit is one of bytes gets a compacted request, which it answers', async () => {
  await seedHistory(rig, 'bytes', { turns: 8, tokens: 24_000 });
  judge((body) => {
    if (sizeOf(body) > 60_000) return refusal(413, NGINX);
    return ofChat({ text: JSON.stringify(body).includes('Compaction request') ? '## Decisions\n- none' : 'Done.' });
  });
  expect(await play('bytes', 'Go on.')).toMatchObject({ status: 'completed', reply: 'Done.' });
});

test('of a request with images that is too large the images are left out first, also in later turns', async () => {
  const session = 'images';
  judge((body, count) => {
    if (JSON.stringify(body).includes('image_url'))
      return count > 2 ? refusal(413, NGINX) : ofChat({ text: 'I see it.' });
    return count === 1 ? ofChat({ text: 'Hello.' }) : ofChat({ text: 'Without it.' });
  });
  const data = png(8, 8, 100).toString('base64');
  const images: ImageBlock[] = [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }];
  await play(session, 'One.');
  expect(await play(session, 'See this.', { caller: { images } })).toMatchObject({ reply: 'I see it.' });
  const turn = await play(session, 'And this.', { caller: { images } });
  expect(turn).toMatchObject({ status: 'completed', reply: 'Without it.' });
  expect(turn.bodies).toHaveLength(2);
  expect(JSON.stringify(turn.bodies[1])).toContain(
    'omitted image payload: the server of the model takes no request of this size',
  );
  expect(await derived(turn.id)).toEqual([true, true]);
  expect(await readCompactions(rig, { sessionId: await rig.sessionOf(session) })).toEqual([]);
  const later = await play(session, 'Well?');
  expect(later.bodies).toHaveLength(1);
  expect(await derived(later.id)).toEqual([true]);
});

test('images in results are left out in the same way, in the turn that has them', async () => {
  judge((body, count) => {
    if (JSON.stringify(body).includes('image_url')) return refusal(413, NGINX);
    return count === 1 ? callOf('photo') : ofChat({ text: 'Without it.' });
  });
  const turn = await play('photos', 'Take one.');
  expect(turn).toMatchObject({ status: 'completed', reply: 'Without it.' });
  expect(turn.bodies).toHaveLength(3);
  expect(await derived(turn.id)).toEqual([true, true, true]);
});

function callOf(name: string): Reply {
  const reply = ofChat({ call: 'call1' });
  return { body: JSON.parse(JSON.stringify(reply.body).replaceAll('"read"', `"${name}"`)) as object[] };
}

/** As vLLM counts: the prompt and the longest answer have to fit. */
const strictWindow =
  (windowTokens: number) =>
  ({ max_tokens: wanted, ...body }: Received['body']): Reply => {
    const maxTokens = Number(wanted);
    const promptTokens = Math.ceil(sizeOf(body) / 4);
    if (promptTokens + maxTokens <= windowTokens) return ofChat({ text: 'Done.', usage: promptTokens });
    return refusal(400, {
      object: 'error',
      message: `'max_tokens' or 'max_completion_tokens' is too large: ${maxTokens}. This model's maximum context length is ${windowTokens} tokens and your request has ${promptTokens} input tokens (${maxTokens} > ${windowTokens} - ${promptTokens}).`,
      type: 'BadRequestError',
      code: 400,
    });
  };

test('the longest answer fits into the window that is known of a model', async () => {
  judge(strictWindow(WINDOW));
  const turn = await play('fits', 'Hi.', { model: 'local/narrow', thinking: 'high' });
  expect(turn).toMatchObject({ status: 'completed', reply: 'Done.' });
  expect(turn.bodies).toHaveLength(1);
  expect(await derived(turn.id)).toEqual([true]);
});

test('the summary of a compaction fits into the window that is known, also of a server that names none', async () => {
  await seedHistory(rig, 'narrow-summary', { turns: 8, tokens: 24_000 });
  judge((body) => {
    const reply = strictWindow(WINDOW)(body);
    if (reply.status !== undefined) return refusal(400, openai('context_length_exceeded'));
    return JSON.stringify(body).includes('Compaction request') ? ofChat({ text: '## Decisions\n- none' }) : reply;
  });
  const turn = await play('narrow-summary', 'Go on.', { model: 'local/narrow' });
  expect(turn).toMatchObject({ status: 'completed', reply: 'Done.' });
  expect(turn.bodies.map((body) => JSON.stringify(body).includes('Compaction request'))).toEqual([false, true, false]);
});

test('a window that a server names shortens the longest answer, for all workers, and never makes it longer', async () => {
  judge(strictWindow(WINDOW));
  const turn = await play('named', 'Hi.', { model: 'local/named' });
  expect(turn).toMatchObject({ status: 'completed', reply: 'Done.' });
  expect(turn.bodies.map((body) => body['max_tokens'])).toEqual([16_384, expect.any(Number)]);
  expect(await derived(turn.id)).toEqual([true, true]);
  expect((await play('named-again', 'Hi.', { model: 'local/named' })).bodies).toHaveLength(1);
  judge((body, count) =>
    count === 1
      ? refusal(400, openai("This model's maximum context length is 900000 tokens."))
      : strictWindow(WINDOW)(body),
  );
  const raised = await play('raised', 'Hi.', { model: 'local/narrow' });
  expect(raised.bodies.every((body) => Number(body['max_tokens']) < WINDOW)).toBe(true);
});

test.each<[string, number, string, RegExp]>([
  ['nothing', 400, '', /status 400/],
  ['blanks', 400, ' \n ', /status 400/],
  ['null', 400, 'null', /status 400/],
  ['an empty object', 400, '{}', /status 400/],
  ['an error that is null', 400, '{"error":null}', /error/],
  ['an empty message', 400, '{"error":{"message":"","code":"bad_thing"}}', /bad_thing/],
  ['a message that is an object', 400, '{"error":{"message":{"text":"Boom"}}}', /Boom/],
  ['a list of errors', 400, '{"errors":[{"message":"First"},{"message":"Second"}]}', /First; Second/],
  ['a text', 400, '"Boom"', /Boom/],
  ['a number', 400, '42', /42/],
  ['a page', 400, '<html><head><title> Not Here </title></head><body>x</body></html>', /^Not Here$/],
  [
    'a list of FastAPI',
    422,
    '{"detail":[{"type":"missing","loc":["body","messages",0,"content"],"msg":"Field required","input":{"insufficient_quota":1}}]}',
    /^body\.messages\.0\.content: Field required$/,
  ],
])('a refusal whose body is %s has a text for people', async (name, status, body, expected) => {
  judge(() => refusal(status, body));
  const { error } = await play(`body-${name.replaceAll(' ', '-')}`, 'Hi.');
  expect(error?.message).toMatch(expected);
  expect(['model_invalid_request', 'model_not_found']).toContain(error?.code);
});

test('an entry has the id of its provider beside ours', async () => {
  const entries = await readEntries(rig, { sessionId: await rig.sessionOf('signed-ids') });
  const origins = entries.flatMap(({ content }) =>
    (content as { origin?: object }[]).flatMap(({ origin }) => origin ?? []),
  );
  expect(origins).toEqual([{ provider: 'local', model: 'qwen', metadata: {}, callId: SIGNED }]);
  await removeModelBlocks(rig);
});
