// Goal: responses of OpenAI's own client are durable turns: streamed, whole, continued, in the
// background, and read again after any event. Method: a whole service with the scripted model, and
// the official package as an application uses it.
import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { apiKey, openServiceRig } from '../../service/rig/service-rig.ts';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

const SOON_MS = 240_000;
const OTHER_KEY = 'hf_another_key_0123456789';
const holder = {} as { rig: Awaited<ReturnType<typeof openServiceRig>>; url: string };
shareAmongTests(async (onEnd) => {
  holder.rig = await openServiceRig({
    queue: 'postgres',
    config: { lanes: { main: 8 }, api: { keys: [{ name: 'other', key: OTHER_KEY }] } },
  });
  onEnd(() => holder.rig.close());
  holder.url = (await holder.rig.start('api,worker,scheduler')).url;
});

let openai: OpenAI;
beforeAll(() => {
  openai = new OpenAI({ baseURL: `${holder.url}/openai/v1`, apiKey, maxRetries: 0 });
});

type Event = OpenAI.Responses.ResponseStreamEvent;

async function all(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const TOOL = {
  type: 'function' as const,
  name: 'weather',
  description: 'Weather',
  strict: false,
  parameters: { type: 'object', properties: {} },
};

describe('a response', () => {
  test('of a form has the JSON as its text, and repeats the form', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const format = { type: 'json_schema' as const, name: 'count', schema };
    const asked = { model: 'holdfast', input: 'How many? [[reply: {"n": 3}]]', text: { format } };
    expect(await openai.responses.create(asked)).toMatchObject({ output_text: '{"n": 3}', text: { format } });
    const object = { ...asked, text: { format: { type: 'json_object' as const } } };
    const tool = 'How many? [[tool: structured_output {"n": 4}]]';
    expect(await openai.responses.create({ ...object, input: tool })).toMatchObject({ output_text: '{"n":4}' });
  });

  test('is answered whole, and continued by its id', async () => {
    const first = await openai.responses.create({
      model: 'holdfast',
      input: 'Hi [[reply: Hello.]]',
      instructions: 'Be kind.',
    });
    expect(first).toMatchObject({
      object: 'response',
      status: 'completed',
      output_text: 'Hello.',
      instructions: 'Be kind.',
    });
    const second = await openai.responses.create({
      model: 'holdfast',
      input: 'More [[reply: Sure.]]',
      previous_response_id: first.id,
    });
    expect(second.output_text).toBe('Sure.');
    expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body)).toContain('[[reply: Hello.]]');
    // From the first one again: that is another conversation.
    const third = await openai.responses.create({
      model: 'holdfast',
      input: 'Other [[reply: Fine.]]',
      previous_response_id: first.id,
    });
    expect(third.output_text).toBe('Fine.');
    expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body)).not.toContain('[[reply: Sure.]]');
    expect(await openai.responses.retrieve(second.id)).toMatchObject({ status: 'completed', output_text: 'Sure.' });
  });

  test('of a conversation continues it, and another API key has another conversation of this name (G32)', async () => {
    const other = new OpenAI({ baseURL: `${holder.url}/openai/v1`, apiKey: OTHER_KEY, maxRetries: 0 });
    const body = { model: 'holdfast', input: 'A secret. [[reply: Kept.]]', conversation: 'weekly' };
    const sessionOf = async (client: OpenAI) => {
      const { response } = await client.responses.create(body).withResponse();
      return response.headers.get('x-holdfast-session-key');
    };
    const first = await sessionOf(openai);
    expect(await sessionOf(openai)).toBe(first);
    expect(await sessionOf(other)).not.toBe(first);
    expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body).match(/A secret/g)).toHaveLength(1);
  });

  test('is streamed with numbered events, and read again after any of them', async () => {
    const events = await all(
      await openai.responses.create({
        model: 'holdfast',
        input: 'Hi [[slow: 20]] [[reply: One two three four five.]]',
        stream: true,
      }),
    );
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, n) => n));
    const completed = events.at(-1);
    if (completed?.type !== 'response.completed') throw new Error(`the last event is ${completed?.type}`);
    expect(completed.response.output).toMatchObject([
      { type: 'message', content: [{ text: 'One two three four five.' }] },
    ]);
    const { id } = completed.response;
    for (const after of [0, 3, events.length - 2]) {
      const rest = await all(await openai.responses.retrieve(id, { stream: true, starting_after: after }));
      expect(rest).toEqual(events.slice(after + 1));
    }
  });

  test('runs in the background, and can be cancelled', async () => {
    const begun = await openai.responses.create({
      model: 'holdfast',
      input: '[[delay: 600000]] [[reply: late]]',
      background: true,
    });
    expect(['queued', 'in_progress']).toContain(begun.status);
    await waitUntil(
      'the turn runs',
      SOON_MS,
      async () => (await openai.responses.retrieve(begun.id)).status === 'in_progress',
    );
    expect(await openai.responses.cancel(begun.id)).toMatchObject({ status: 'cancelled' });
    await openai.responses.delete(begun.id);
    expect(
      await openai.responses.retrieve(begun.id).then(
        () => null,
        (error: unknown) => error,
      ),
    ).toMatchObject({ status: 404 });
  });

  test('calls tools of the client over two rounds', async () => {
    const first = await openai.responses.create({
      model: 'holdfast',
      input: 'Go [[tool: weather {"n": 1}]] [[tool: weather {"n": 2}]] [[reply: Done.]]',
      tools: [TOOL],
    });
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('no call');
    const second = await openai.responses.create({
      model: 'holdfast',
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'one' }],
    });
    const [next] = second.output;
    if (next?.type !== 'function_call') throw new Error('no second call');
    expect(JSON.parse(next.arguments)).toEqual({ n: 2 });
    const last = await openai.responses.create({
      model: 'holdfast',
      previous_response_id: second.id,
      input: [{ type: 'function_call_output', call_id: next.call_id, output: 'two' }],
    });
    expect(last.output_text).toBe('Done.');
    expect(await openai.responses.retrieve(first.id)).toMatchObject({
      output: [{ type: 'function_call', call_id: call.call_id }],
    });
  });

  test('that the model refuses without a word is incomplete by its content filter', async () => {
    const refused = await openai.responses.create({ model: 'holdfast', input: 'Hi [[stop: refusal]] [[reply: ]]' });
    expect(refused).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      error: null,
      output: [],
    });
  });

  test('takes its own refusals and empty options as clients send them', async () => {
    const body = {
      model: 'holdfast',
      input: [
        { type: null, role: 'user', content: 'Say it.' },
        { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'I will not.' }] },
        { role: 'user', content: 'Really not? [[reply: No.]]', type: 'message' },
      ],
      text: { format: null },
      reasoning: { effort: null },
      conversation: null,
      tools: null,
    };
    const answer = await openai.responses.create(body as never as OpenAI.Responses.ResponseCreateParamsNonStreaming);
    expect(answer).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(holder.rig.model.requests.at(-1)?.body)).toContain('I will not.');
  });
});
