// Goal: OpenAI's own client, unchanged, holds conversations with an agent. Method: a whole service with the scripted model, and the official
// package as an application uses it; what it gives is compared with the rows.
import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { apiKey, openServiceRig } from '../service/rig/service-rig.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';

type Rig = Awaited<ReturnType<typeof openServiceRig>>;

const holder = {} as { rig: Rig; url: string };
shareAmongTests(async (onEnd) => {
  holder.rig = await openServiceRig({ queue: 'postgres', config: { lanes: { main: 8 } } });
  onEnd(() => holder.rig.close());
  holder.url = (await holder.rig.start('api,worker,scheduler')).url;
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
    expect(await holder.rig.rows('select reply from holdfast.turns where id = $1', [turnId])).toEqual([
      { reply: 'Good morning, Ada.' },
    ]);

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
    const entries = await holder.rig.rows(
      `select e.kind, e.content -> 0 ->> 'text' as text, e.provenance from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
      where s.key = $1 order by e.seq`,
      [key],
    );
    expect(entries.slice(0, 2)).toEqual([
      { kind: 'prompt', text: 'My name is Ada.', provenance: { kind: 'client' } },
      { kind: 'answer', text: 'Hello Ada.', provenance: { kind: 'client' } },
    ]);
    expect(entries).toHaveLength(4);
    expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body)).toContain('You are a gardener.');
  });

  test('of a user continues one session, and never doubles its history', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    for (let n = 1; n <= 5; n += 1) {
      messages.push({ role: 'user', content: `Message ${n}. [[reply: Answer ${n}.]]` });
      const { data, response } = await openai.chat.completions
        .create({ model: 'holdfast', messages, user: 'ada' })
        .withResponse();
      expect(response.headers.get('x-holdfast-history-differs')).toBeNull();
      messages.push({ role: 'assistant', content: data.choices[0]?.message.content ?? '' });
    }
    const rows = await holder.rig.rows(
      `select count(*)::int as inputs from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id where s.key like 'agent:main:openai:%' and i.body ->> 'text' like 'Message %'`,
    );
    expect(rows).toEqual([{ inputs: 5 }]);
    const last = await openai.chat.completions
      .create({
        model: 'holdfast',
        user: 'ada',
        messages: [
          { role: 'user', content: 'Something else' },
          { role: 'assistant', content: 'Never said' },
          { role: 'user', content: 'x' },
        ],
      })
      .withResponse();
    expect(last.response.headers.get('x-holdfast-history-differs')).toBe('true');
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
    expect(await holder.rig.rows('select status, park_code from holdfast.turns where id = $1', [turnId])).toEqual([
      { status: 'parked', park_code: 'caller' },
    ]);

    if (choice) messages.push(choice.message);
    for (const [at, call] of calls.entries())
      messages.push({ role: 'tool', tool_call_id: call.id, content: at === 0 ? 'rain' : 'sun' });
    const chunks = await streamed({ model: 'holdfast', messages, tools: [WEATHER] });
    expect(textOf(chunks)).toBe('Rain and sun.');
    expect(await holder.rig.rows('select status, steps from holdfast.turns where id = $1', [turnId])).toEqual([
      { status: 'completed', steps: 2 },
    ]);
    // Sent again, it is the same answer, and no other turn.
    const again = await openai.chat.completions
      .create({ model: 'holdfast', messages, tools: [WEATHER] })
      .withResponse();
    expect(again.data.choices[0]?.message.content).toBe('Rain and sun.');
    expect(again.response.headers.get('x-holdfast-turn-id')).toBe(turnId);
  });

  test('with a mistake is refused with the name of the parameter', async () => {
    const refused = (body: object) =>
      openai.chat.completions.create(body as never).then(
        () => null,
        (error: unknown) => error,
      );
    expect(await refused({ model: 'gpt-9', messages: [{ role: 'user', content: 'x' }] })).toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
    });
    expect(await refused({ model: 'holdfast', messages: [{ role: 'user', content: 'x' }], n: 2 })).toMatchObject({
      status: 400,
      param: 'n',
    });
    expect(await refused({ model: 'holdfast', messages: [{ role: 'user', content: 'x' }], bogus: 1 })).toMatchObject({
      status: 400,
      param: 'bogus',
    });
  });
});

test('the models are the agents', async () => {
  const models = await openai.models.list();
  expect(models.data.map(({ id }) => id)).toContain('holdfast:main');
});
