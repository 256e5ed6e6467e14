// Goal: OpenAI's own client, unchanged, holds conversations with an agent. Method: a whole service
// with the scripted model, and the official package as an application uses it; what it gives is
// compared with the rows.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../../scripted-model/scripted-model.ts';
import { runCli } from '../../cli/run-cli.ts';
import { apiKey, openServiceRig, type RunningProcess } from '../../service/rig/service-rig.ts';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { readToolCalls } from '../../rows/calls.ts';
import { readDeliveries } from '../../rows/deliveries.ts';
import { readEntries } from '../../rows/entries.ts';
import { countInputs, readInputsWithTurns } from '../../rows/inputs.ts';
import { readSessions } from '../../rows/sessions.ts';
import { having, like } from '../../rows/table.ts';
import { readTurns } from '../../rows/turns.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

const SOON_MS = 240_000;

type Rig = Awaited<ReturnType<typeof openServiceRig>>;

// They are one name in lower case, or with a hyphen for what a session key cannot contain, or in
// their first 40 characters.
const LONG = 'a'.repeat(40);
const SHOPS = ['Shop-A', 'shop-a', 'shop@a', 'admin', `${LONG}-one`, `${LONG}-two`];
const keyOf = (name: string): string => `hf_key_of_the_shop_${Buffer.from(name).toString('hex')}`;

const holder = {} as { rig: Rig; url: string; process: RunningProcess; gemini: ScriptedModel };
shareAmongTests(async (onEnd) => {
  holder.gemini = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  onEnd(() => holder.gemini.close());
  holder.rig = await openServiceRig({
    queue: 'postgres',
    config: {
      lanes: { main: 8 },
      // Answers of other messages go here.
      channels: { webhook: { url: 'http://127.0.0.1:9/replies' } },
      agents: { list: [{ id: 'main' }, { id: 'helper' }, { id: 'gem', model: 'google/gemini-3.1-pro-preview' }] },
      models: { providers: { google: { baseUrl: `${holder.gemini.url}/v1beta`, apiKey: 'key-of-google' } } },
      api: { keys: SHOPS.map((name) => ({ name, key: keyOf(name) })) },
    },
  });
  onEnd(() => holder.rig.close());
  holder.process = await holder.rig.start('api,worker,scheduler');
  holder.url = holder.process.url;
});

let openai: OpenAI;
beforeAll(() => {
  openai = new OpenAI({ baseURL: `${holder.url}/v1`, apiKey, maxRetries: 0 });
});

const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
};

async function streamed(
  body: Omit<OpenAI.ChatCompletionCreateParamsStreaming, 'stream'>,
  options?: OpenAI.RequestOptions,
) {
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of await openai.chat.completions.create({ ...body, stream: true }, options))
    chunks.push(chunk);
  return chunks;
}

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const textOf = (chunks: readonly OpenAI.ChatCompletionChunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

describe('a chat completion', () => {
  test('is a turn of an agent, whole and streamed with the same text', async () => {
    const messages = [{ role: 'user' as const, content: 'Hello [[reply: Good morning, Ada.]]' }];
    const { data, response } = await openai.chat.completions.create({ model: 'holdfast', messages }).withResponse();
    expect(data.choices).toMatchObject([
      { message: { role: 'assistant', content: 'Good morning, Ada.' }, finish_reason: 'stop' },
    ]);
    expect(data.usage).toMatchObject({ completion_tokens: expect.any(Number), total_tokens: expect.any(Number) });
    const turnId = response.headers.get('x-holdfast-turn-id');
    expect(await readTurns(holder.rig, { id: turnId! }, 'reply')).toEqual([{ reply: 'Good morning, Ada.' }]);

    const chunks = await streamed({ model: 'holdfast', messages, stream_options: { include_usage: true } });
    expect(textOf(chunks)).toBe('Good morning, Ada.');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } });
  });

  test('begins a session of its own with the history that is sent', async () => {
    const { data, response } = await openai.chat.completions
      .create({
        model: 'holdfast',
        messages: [
          { role: 'system', content: 'You are a gardener.' },
          { role: 'user', content: 'My name is Ada.' },
          { role: 'assistant', content: 'Hello Ada.' },
          { role: 'user', content: 'And now? [[reply: Water the trees.]]' },
        ],
      })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe('Water the trees.');
    const key = response.headers.get('x-holdfast-session-key');
    const entries = await readEntries(holder.rig, { sessionKey: key! }, 'kind', 'text', 'provenance');
    expect(entries.slice(0, 2)).toEqual([
      { kind: 'prompt', text: 'My name is Ada.', provenance: { kind: 'client' } },
      { kind: 'answer', text: 'Hello Ada.', provenance: { kind: 'client' } },
    ]);
    expect(entries).toHaveLength(4);
    expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body)).toContain('You are a gardener.');
  });

  test('of a user continues the chat of its history without doubling it, and another history is another chat', async () => {
    const sessions = new Set<string | null>();
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    for (let n = 1; n <= 5; n += 1) {
      messages.push({ role: 'user', content: `Message ${n}. [[reply: Answer ${n}.]]` });
      const { data, response } = await openai.chat.completions
        .create({ model: 'holdfast', messages, user: 'ada' })
        .withResponse();
      expect(response.headers.get('x-holdfast-history-differs')).toBeNull();
      sessions.add(response.headers.get('x-holdfast-session-key'));
      messages.push({ role: 'assistant', content: data.choices[0]?.message.content ?? '' });
    }
    const inputs = { sessionKey: like('agent:main:openai:%'), text: like('Message %') };
    expect(await countInputs(holder.rig, inputs)).toBe(5);
    expect(sessions.size).toBe(1);
    const others: OpenAI.ChatCompletionMessageParam[][] = [
      // A new chat that begins with the same words, a request for a title, an answer that is asked
      // for again, and an edited one.
      [{ role: 'user', content: 'Message 1. [[reply: Answer 1.]]' }],
      [{ role: 'user', content: 'Name this chat. [[reply: Chat.]]' }],
      [...messages.slice(0, 4), { role: 'user', content: 'Again. [[reply: Again.]]' }],
      [
        { role: 'user', content: 'Message 1. [[reply: Answer 1.]]' },
        { role: 'assistant', content: 'Never said' },
        { role: 'user', content: 'x' },
      ],
    ];
    for (const other of others) {
      const { response } = await openai.chat.completions
        .create({ model: 'holdfast', user: 'ada', messages: other })
        .withResponse();
      sessions.add(response.headers.get('x-holdfast-session-key'));
      expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body)).not.toContain('Message 5.');
    }
    expect(sessions.size).toBe(1 + others.length);
    messages.push({ role: 'user', content: 'Message 6. [[reply: Answer 6.]]' });
    const last = await openai.chat.completions.create({ model: 'holdfast', messages, user: 'ada' }).withResponse();
    expect([...sessions][0]).toBe(last.response.headers.get('x-holdfast-session-key'));
  });

  test('of a user belongs to one API key, however similar the names of two keys are (G32)', async () => {
    const sessions = new Set<string | null>();
    for (const key of [apiKey, ...SHOPS.map(keyOf)]) {
      const client = new OpenAI({ baseURL: `${holder.url}/v1`, apiKey: key, maxRetries: 0 });
      const messages = [{ role: 'user' as const, content: `The secret of ${key}. [[reply: Kept.]]` }];
      const { response } = await client.chat.completions
        .create({ model: 'holdfast', messages, user: 'eve' })
        .withResponse();
      sessions.add(response.headers.get('x-holdfast-session-key'));
      expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body).match(/The secret of/g)).toHaveLength(1);
    }
    expect(sessions.size).toBe(SHOPS.length + 1);
  });

  test('is never a command: neither its words nor the history of its session are removed', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: 'My name is Ada.' },
      { role: 'assistant', content: 'Hello Ada.' },
    ];
    for (const text of [
      '/new features in Python 3.13?',
      'high\nwater',
      '/reset',
      '/stop',
      'Is it /think low or not?',
    ]) {
      const content = `${text} [[reply: Yes.]]`;
      const asked = { model: 'holdfast', messages: [...messages, { role: 'user' as const, content }] };
      for (const body of [asked, { ...asked, user: 'commander' }]) {
        await openai.chat.completions.create(body);
        const sent = JSON.stringify(holder.rig.model.requests.at(-1)?.body);
        expect(sent).toContain(JSON.stringify(content).slice(1, -1));
        expect(sent).toContain('My name is Ada.');
      }
      await openai.responses.create({ model: 'holdfast', input: content, conversation: 'commands' });
      expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body)).toContain(JSON.stringify(content).slice(1, -1));
    }
    // Each conversation is still in its first transcript.
    const sessions = await readSessions(holder.rig, { key: like('agent:main:openai:%') }, 'transcriptNo');
    expect(new Set(sessions.map(({ transcriptNo }) => transcriptNo))).toEqual(new Set([1]));
  });

  test('is not delivered to the webhook of the configuration, nor is its failure', async () => {
    for (const content of ['Hi [[reply: Hello.]]', 'Hi [[stop: refusal]] [[reply: ]]']) {
      await openai.chat.completions.create({
        model: 'holdfast',
        user: 'webhook',
        messages: [{ role: 'user', content }],
      });
      await openai.responses.create({ model: 'holdfast', conversation: 'webhook', input: content });
    }
    expect(await readDeliveries(holder.rig, {}, 'payload')).toEqual([]);
  });

  test('calls a tool of the client, and the same turn continues with its result', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      {
        role: 'user',
        content:
          'Weather? [[tool: weather {"city": "Oslo"}]] & [[tool: weather {"city": "Rome"}]] [[reply: Rain and sun.]]',
      },
    ];
    const first = await openai.chat.completions
      .create({ model: 'holdfast', messages, tools: [WEATHER] })
      .withResponse();
    const [choice] = first.data.choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    const calls = choice?.message.tool_calls ?? [];
    expect(calls.map((call) => call.type === 'function' && JSON.parse(call.function.arguments))).toEqual([
      { city: 'Oslo' },
      { city: 'Rome' },
    ]);
    const turnId = first.response.headers.get('x-holdfast-turn-id') ?? '';
    expect(await readTurns(holder.rig, { id: turnId }, 'status', 'parkCode')).toEqual([
      { status: 'parked', parkCode: 'caller' },
    ]);

    if (choice) messages.push(choice.message);
    for (const [at, call] of calls.entries())
      messages.push({ role: 'tool', tool_call_id: call.id, content: at === 0 ? 'rain' : 'sun' });
    const chunks = await streamed({ model: 'holdfast', messages, tools: [WEATHER] });
    expect(textOf(chunks)).toBe('Rain and sun.');
    expect(await readTurns(holder.rig, { id: turnId }, 'status', 'steps')).toEqual([{ status: 'completed', steps: 2 }]);
    // Sent again, it is the same answer, and no other turn.
    const again = await openai.chat.completions
      .create({ model: 'holdfast', messages, tools: [WEATHER] })
      .withResponse();
    expect(again.data.choices[0]?.message.content).toBe('Rain and sun.');
    expect(again.response.headers.get('x-holdfast-turn-id')).toBe(turnId);
  });

  test('of an agent with a model of Google is streamed with a tool of the client, and its signature goes back', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: 'Weather? [[thinking: hm]] [[tool: weather {"city": "Oslo"}]] [[reply: Rain.]]' },
    ];
    const asked = { model: 'holdfast:gem', tools: [WEATHER], stream_options: { include_usage: true } };
    const chunks = await streamed({ ...asked, messages, reasoning_effort: 'high' });
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    const calls = deltas.map(({ id }) => id).filter((id) => id !== undefined);
    const args = deltas.map(({ function: part }) => part?.arguments ?? '').join('');
    expect([calls.length, JSON.parse(args)]).toEqual([1, { city: 'Oslo' }]);
    expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['tool_calls']);

    const call = { id: calls[0] ?? '', type: 'function' as const, function: { name: 'weather', arguments: args } };
    messages.push(
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'rain' },
    );
    const last = await streamed({ ...asked, messages });
    expect(textOf(last)).toBe('Rain.');
    expect(last.at(-1)?.usage?.completion_tokens).toBeGreaterThan(0);
    const sent = JSON.stringify(holder.gemini.requests.at(-1)?.body);
    expect(sent).toMatch(/"thoughtSignature":"[^"]/);
    expect(sent).toContain('rain');
    expect(holder.gemini.requests.map(({ status }) => status)).toEqual([200, 200]);
  });

  test.each(['alone', 'with all that was said'])(
    'after calls without results is answered, and each of the calls gets a result: sent %s',
    async (form) => {
      const create = (messages: OpenAI.ChatCompletionMessageParam[]) =>
        openai.chat.completions
          .create(
            { model: 'holdfast', messages, tools: [WEATHER] },
            { headers: { 'x-holdfast-session-key': `leaves-${form.replaceAll(' ', '-')}` } },
          )
          .withResponse();
      const asked: OpenAI.ChatCompletionMessageParam = {
        role: 'user',
        content:
          'Weather? [[tool: weather {"city": "Oslo"}]] & [[tool: weather {"city": "Rome"}]] [[reply: Rain and sun.]]',
      };
      const first = await create([asked]);
      const turnId = first.response.headers.get('x-holdfast-turn-id');
      const called = first.data.choices[0]?.message;
      const next = { role: 'user' as const, content: 'Never mind. [[reply: All right.]]' };
      const second = await create(form === 'alone' || called === undefined ? [next] : [asked, called, next]);
      expect(second.data.choices[0]?.message.content).toBe('All right.');
      expect(await readTurns(holder.rig, { id: turnId! }, 'code')).toEqual([{ code: 'interrupted' }]);
      const calls = await readToolCalls(holder.rig, { turnId: turnId! }, 'status');
      expect(calls).toEqual([{ status: 'unknown' }, { status: 'unknown' }]);
      // The model sees both calls, each with a result, and then the message.
      const sent = JSON.stringify(holder.rig.model.requests.at(-1)?.body);
      expect(sent.match(/"tool_result"/g)).toHaveLength(2);
      expect(sent.match(/interrupted by a newer message/g)).toHaveLength(2);
    },
    SOON_MS,
  );

  test('in a new session takes a history whose calls were given up', async () => {
    const { choices } = await openai.chat.completions.create({
      model: 'holdfast',
      messages: [
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } }],
        },
        { role: 'user', content: 'Never mind. [[reply: All right.]]' },
      ],
    });
    expect(choices[0]?.message.content).toBe('All right.');
    expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body).match(/"tool_result"/g)).toHaveLength(1);
  });

  test('passes the schema of a tool to the model with every digit of its integers', async () => {
    const parameters = `{"type":"object","properties":{"id":{"type":"integer","maximum":9007199254740993}}}`;
    const tools = `[{"type":"function","function":{"name":"find","parameters":${parameters}}}]`;
    const answer = await fetch(`${holder.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: `{"model":"holdfast","messages":[{"role":"user","content":"look"}],"tools":${tools}}`,
    });
    const turnId = answer.headers.get('x-holdfast-turn-id') ?? '';
    const { stdout } = await runCli(['turns', 'request', turnId, '1', '--json', '--url', holder.url], {
      env: { HOLDFAST_API_KEY: apiKey },
    });
    expect(stdout).toContain(`"input_schema":${parameters}`);
    // The hash of what was sent is that of this body.
    expect(JSON.parse(stdout)).toMatchObject({ matches: true });
  });

  test('drops blank stop sequences, which models refuse, and names them', async () => {
    const messages = [{ role: 'user' as const, content: 'Hi [[reply: Hello.]]' }];
    for (const [stop, sent] of [
      ['\n', undefined],
      [['\n', 'END', '  ', ''], ['END']],
    ] as const) {
      const { data, response } = await openai.chat.completions
        .create({ model: 'holdfast', messages, stop: typeof stop === 'string' ? stop : [...stop] })
        .withResponse();
      expect(data.choices[0]?.message.content).toBe('Hello.');
      expect(response.headers.get('x-holdfast-ignored')).toBe('stop');
      const body = holder.rig.model.requests.at(-1)?.body as { stop_sequences?: string[] } | undefined;
      expect(body?.stop_sequences).toEqual(sent);
    }
  });

  test('that the model refuses without a word ends with content_filter, whole and streamed', async () => {
    const messages = [{ role: 'user' as const, content: 'Hi [[stop: refusal]] [[reply: ]]' }];
    const { choices } = await openai.chat.completions.create({ model: 'holdfast', messages });
    expect(choices).toMatchObject([{ message: { content: '' }, finish_reason: 'content_filter' }]);
    const chunks = await streamed({ model: 'holdfast', messages });
    expect(chunks.at(-1)?.choices).toMatchObject([{ finish_reason: 'content_filter' }]);
  });

  test('takes its own refusals, images of any spelling and empty options as clients send them', async () => {
    for (const url of [PIXEL, PIXEL.replace('png', 'jpg'), PIXEL.replace('image/png;base64', 'IMAGE/PNG;BASE64')]) {
      const body = {
        model: 'holdfast',
        messages: [
          { role: 'user', content: 'Say it.', name: null },
          { role: 'assistant', content: [{ type: 'refusal', refusal: 'I will not.' }], tool_calls: null, audio: null },
          { role: 'user', content: 'Really not?' },
          { role: 'assistant', content: null, refusal: 'Really not.', function_call: null },
          {
            role: 'user',
            content: [
              { type: 'image_url', image_url: { url, detail: null } },
              { type: 'text', text: 'And this? [[reply: A dot.]]' },
            ],
          },
        ],
        stream: null,
        stream_options: { include_usage: null },
        stop: null,
        tools: null,
        response_format: null,
        metadata: null,
        n: null,
      };
      const data = await openai.chat.completions.create(body as never as OpenAI.ChatCompletionCreateParamsNonStreaming);
      expect(data.choices[0]?.message.content).toBe('A dot.');
      const sent = JSON.stringify(holder.rig.model.requests.at(-1)?.body);
      for (const text of ['I will not.', 'Really not.', PIXEL.slice(-40)]) expect(sent).toContain(text);
    }
  });
});

describe('a known session', () => {
  const talk = (text: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content: text }];

  test('says nothing of a history that differs when a request is repeated', async () => {
    const messages = talk('One [[reply: First.]]');
    const create = (key: string) =>
      openai.chat.completions
        .create(
          { model: 'holdfast', user: 'repeats', messages: [...messages] },
          { headers: { 'Idempotency-Key': key } },
        )
        .withResponse();
    const first = await create('a-1');
    messages.push(
      { role: 'assistant', content: first.data.choices[0]?.message.content ?? '' },
      ...talk('Two [[reply: Second.]]'),
    );
    const second = await create('a-2');
    const again = await create('a-2');
    expect(again.data).toEqual(second.data);
    expect(again.response.headers.get('idempotent-replayed')).toBe('true');
    expect(again.response.headers.get('x-holdfast-history-differs')).toBeNull();
    const other = openai.chat.completions.create(
      { model: 'holdfast', messages: talk('x') },
      { headers: { 'Idempotency-Key': 'a-2' } },
    );
    await expect(other).rejects.toMatchObject({ status: 422, code: 'idempotency_mismatch' });
  });

  test('is forked with what the client says instead', async () => {
    const user = 'forks';
    await openai.chat.completions.create({ model: 'holdfast', user, messages: talk('One [[reply: First.]]') });
    const one: OpenAI.ChatCompletionMessageParam[] = [
      ...talk('One [[reply: First.]]'),
      { role: 'assistant', content: 'First.' },
    ];
    await openai.chat.completions.create({
      model: 'holdfast',
      user,
      messages: [...one, ...talk('Two [[reply: Second.]]')],
    });
    const edited: OpenAI.ChatCompletionMessageParam[] = [
      ...one,
      ...talk('Another two'),
      { role: 'assistant', content: 'Another second.' },
      ...talk('Three [[reply: Third.]]'),
    ];
    const headers = { 'x-holdfast-history': 'fork' };
    const forked = await openai.chat.completions
      .create({ model: 'holdfast', user, messages: edited }, { headers })
      .withResponse();
    expect(forked.data.choices[0]?.message.content).toBe('Third.');
    const sent = JSON.stringify(holder.rig.model.requests.at(-1)?.body);
    for (const text of ['First.', 'Another two', 'Another second.'])
      expect([text, sent.includes(text)]).toEqual([text, true]);
    expect(sent.includes('Second.]]')).toBe(false);
    // A session key that is nearly as long as keys may be, of another agent than main, has a fork,
    // too.
    const key = `agent:helper:${'k'.repeat(185)}`;
    const long = await openai.chat.completions
      .create(
        { model: 'holdfast:helper', messages: edited },
        { headers: { ...headers, 'x-holdfast-session-key': key } },
      )
      .withResponse();
    expect(long.data.choices[0]?.message.content).toBe('Third.');
    const changed = [...talk('Begun otherwise'), ...edited.slice(1)];
    const second = openai.chat.completions.create(
      { model: 'holdfast:helper', messages: changed },
      { headers: { ...headers, 'x-holdfast-session-key': key } },
    );
    await expect(second).resolves.toMatchObject({ choices: [{ message: { content: 'Third.' } }] });
  });

  test('gets each of 20 messages once when all are sent each time, and reads the past from the cache', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'You are a gardener. '.repeat(300) },
    ];
    for (let n = 1; n <= 20; n += 1) {
      messages.push(...talk(`Message ${n}. [[reply: Answer ${n}.]]`));
      const { data, response } = await openai.chat.completions
        .create({ model: 'holdfast', messages, user: 'twenty' })
        .withResponse();
      expect(response.headers.get('x-holdfast-history-differs')).toBeNull();
      messages.push({ role: 'assistant', content: data.choices[0]?.message.content ?? '' });
      const { prompt_tokens: tokens = 0, prompt_tokens_details: details } = data.usage ?? {};
      if (n >= 3) expect((details?.cached_tokens ?? 0) / tokens).toBeGreaterThanOrEqual(0.9);
    }
    const sessions = await readSessions(holder.rig, { key: like('agent:main:openai:%'), inboxSeq: 20 }, 'id');
    const asked = having({ caller: { asked: { model: 'holdfast' } } });
    const inputs = { sessionId: sessions.map(({ id }) => id), body: asked, text: like('Message %') };
    expect(await countInputs(holder.rig, inputs)).toBe(20);
  });
});

/** A message whose turn runs until the test lets it continue. */
function heldMessage(name: string): {
  text: string;
  letGo(): Promise<void>;
  rowOf(): Promise<Record<string, unknown>>;
} {
  const file = `go-${name}`;
  const command = JSON.stringify({ command: `until [ -e ${file} ]; do sleep 0.05; done` });
  return {
    text: `held ${name} [[tool: exec ${command}]] [[reply: Here.]]`,
    letGo: () => writeFile(join(holder.rig.dataDir, 'workspace', file), ''),
    async rowOf() {
      const [row] = await readInputsWithTurns(holder.rig, { text: like(`held ${name} %`) });
      return row === undefined ? {} : { status: row.status, settled_at: row.settledAt, turn: row.turn?.status ?? null };
    },
  };
}

describe('a client that leaves', () => {
  async function leave(held: ReturnType<typeof heldMessage>, headers: Record<string, string>): Promise<void> {
    const gone = new AbortController();
    const asked = openai.chat.completions.create(
      { model: 'holdfast', messages: [{ role: 'user', content: held.text }] },
      { headers, signal: gone.signal },
    );
    const ended = expect(asked).rejects.toThrow();
    await waitUntil('the turn runs', SOON_MS, async () => (await held.rowOf())['turn'] === 'running');
    gone.abort();
    await ended;
  }

  test('does not stop its turn, unless it asks for that', async () => {
    const [kept, stopped] = [heldMessage('kept'), heldMessage('stopped')];
    await leave(stopped, { 'x-holdfast-on-disconnect': 'abort' });
    await waitUntil('it is stopped', SOON_MS, async () => (await stopped.rowOf())['settled_at'] !== null);
    expect((await stopped.rowOf())['turn']).toBe('aborted');
    await leave(kept, {});
    await kept.letGo();
    await waitUntil('it is answered', SOON_MS, async () => (await kept.rowOf())['settled_at'] !== null);
    expect((await kept.rowOf())['status']).toBe('answered');
    expect(holder.process.output()).not.toContain('Request failed');
  });
});

test('a hundred repetitions of a request make one turn (G2)', async () => {
  const held = heldMessage('repeated');
  const ask = (n: number) =>
    openai.chat.completions.create(
      { model: 'holdfast', messages: [{ role: 'user', content: held.text }] },
      { headers: { 'x-stainless-retry-count': String(n) } },
    );
  const first = ask(0);
  await waitUntil('the turn runs', SOON_MS, async () => (await held.rowOf())['turn'] === 'running');
  const others = Array.from({ length: 99 }, (_, n) => ask(n + 1));
  await held.letGo();
  const answers = await Promise.all([first, ...others]);
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  expect(new Set(answers.map(({ choices }) => choices[0]?.message.content))).toEqual(new Set(['Here.']));
  expect(await countInputs(holder.rig, { text: like('held repeated %') })).toBe(1);
});

test('an answer of a form is streamed when it is checked, and is read by the client', async () => {
  const schema = { type: 'object', properties: { color: { enum: ['red', 'blue'] } }, required: ['color'] };
  const response_format = { type: 'json_schema' as const, json_schema: { name: 'color', schema } };
  const content = 'Which? [[reply: {"color": "green"}]] [[next]] [[reply: {"color": "red"}]]';
  const body = { model: 'holdfast', messages: [{ role: 'user' as const, content }], response_format };
  const chunks = await streamed(body);
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('{"color": "red"}');
  const { choices } = await openai.chat.completions.parse({ ...body, user: 'shop of colors' });
  expect(choices[0]?.message.content).toBe('{"color": "red"}');
  const cut = await openai.chat.completions.create({
    ...body,
    messages: [{ role: 'user', content: 'Cut. [[stop: max_tokens]] [[reply: {"color"]]' }],
  });
  expect(cut.choices[0]?.finish_reason).toBe('length');
});

test('the models are the agents', async () => {
  const models = await openai.models.list();
  expect(models.data.map(({ id }) => id)).toContain('holdfast:main');
});
