// Chat Completions of the scripted model, as OpenAI's own client reads it.
import OpenAI, { APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import { CHAT_WIRE } from '../../scripted-model/wires/chat-wire.ts';
import { readChat } from '../../scripted-model/wires/read-chat.ts';
import { refusalOf } from './refusal-of.ts';

type Message = OpenAI.Chat.ChatCompletionMessageParam;

let scripted: ScriptedModel;
let client: OpenAI;

beforeAll(async () => {
  scripted = await startScriptedModel({ contextTokens: 20_000 });
  client = new OpenAI({ baseURL: `${scripted.url}/v1`, apiKey: 'any', maxRetries: 0 });
});
afterAll(() => scripted.close());

const request = (messages: string | Message[]) => ({
  model: 'scripted-1',
  messages: typeof messages === 'string' ? [{ role: 'user' as const, content: messages }] : messages,
});

/** The answer of a stream, as the client puts it together; it equals the one without a stream. */
async function ask(messages: string | Message[], more: Partial<OpenAI.Chat.ChatCompletionCreateParams> = {}) {
  const body = { ...request(messages), ...more, stream: false as const };
  const stream = client.chat.completions.stream({ ...body, stream: true, stream_options: { include_usage: true } });
  const [choice] = (await stream.finalChatCompletion()).choices;
  const whole = await client.chat.completions.create(body);
  expect(choice?.finish_reason).toBe(whole.choices[0]?.finish_reason);
  expect(choice?.message.content ?? '').toBe(whole.choices[0]?.message.content ?? '');
  return whole;
}

async function failure(prompt: string, more: object = {}): Promise<APIError> {
  const error: unknown = await client.chat.completions
    .create({ ...request(prompt), ...more })
    .catch((reason) => reason);
  expect(error).toBeInstanceOf(APIError);
  return error as APIError;
}

describe('an answer', () => {
  test('is text, with a reason and truthful usage', async () => {
    const { choices, usage } = await ask(`${'x'.repeat(400)} [[thinking: ${'t'.repeat(40)}]] [[reply: Good morning.]]`);
    expect(choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'Good morning.', reasoning_content: 't'.repeat(40), refusal: null },
    });
    // The stream came first, so the whole prompt is in the cache.
    expect(usage).toMatchObject({ completion_tokens: 14, completion_tokens_details: { reasoning_tokens: 10 } });
    expect(usage?.prompt_tokens_details?.cached_tokens).toBe(usage?.prompt_tokens);
  });

  test('has calls, also two at once, whose results go back', async () => {
    const prompt = '[[reply: looking]] [[tool: read {"path":"a"}]] & [[tool: list]] [[reply: both done]]';
    const first = await ask(prompt);
    const message = first.choices[0]?.message;
    expect(first.choices[0]?.finish_reason).toBe('tool_calls');
    expect(message?.tool_calls).toMatchObject([
      { id: expect.stringMatching(/^call_/), function: { name: 'read', arguments: '{"path":"a"}' } },
      { function: { name: 'list', arguments: '{}' } },
    ]);
    const results = (message?.tool_calls ?? []).map(({ id }): Message => ({
      role: 'tool',
      tool_call_id: id,
      content: 'result',
    }));
    const second = await ask([{ role: 'user', content: prompt }, message as Message, ...results]);
    expect(second.choices[0]?.message.content).toBe('both done');
    expect(second.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(first.usage?.prompt_tokens ?? 0);
  });

  test.each([
    ['[[reply: half]] [[stop: max_tokens]]', { finish_reason: 'length', message: { content: 'half' } }],
    ['[[reply: I]] [[stop: content_filter]]', { finish_reason: 'content_filter' }],
    ['[[reply: No.]] [[stop: refusal]]', { finish_reason: 'stop', message: { content: null, refusal: 'No.' } }],
  ])('ends as %s says', async (prompt, choice) => {
    const { choices } = await client.chat.completions.create(request(prompt));
    expect(choices).toMatchObject([choice]);
    const deltas = client.chat.completions.stream({ ...request(prompt), stream: true });
    let reason: string | null = null;
    for await (const chunk of deltas) reason = chunk.choices[0]?.finish_reason ?? reason;
    expect(reason).toBe(choice.finish_reason);
  });

  test('fits a schema: JSON of the script as it is, else the smallest value', async () => {
    const schema = {
      type: 'object',
      properties: {
        label: { enum: ['bug', 'wish'] },
        score: { type: 'number', minimum: 2 },
        tags: { $ref: '#/$defs/t' },
      },
      required: ['label', 'score', 'tags'],
      $defs: { t: { type: 'array', minItems: 1, items: { type: ['string', 'null'], minLength: 1 } } },
    };
    const json = { response_format: { type: 'json_schema' as const, json_schema: { name: 'ticket', schema } } };
    const content = async (prompt: string) => (await ask(prompt, json)).choices[0]?.message.content ?? '';
    expect(JSON.parse(await content('Classify this.'))).toEqual({ label: 'bug', score: 2, tags: ['x'] });
    expect(await content('[[reply: {"label": "other"}]]')).toBe('{"label": "other"}');
    expect((await ask('[[tool: look]]', json)).choices[0]?.finish_reason).toBe('tool_calls');
  });
});

describe('an error', () => {
  test.each([
    ['401', { status: 401, code: 'invalid_api_key', type: 'invalid_request_error' }],
    ['404', { status: 404, code: 'model_not_found' }],
    ['429 retry-after=7', { status: 429, code: 'rate_limit_exceeded', type: 'tokens' }],
    ['429 code=insufficient_quota', { status: 429, code: 'insufficient_quota', type: 'insufficient_quota' }],
    ['500', { status: 500, type: 'server_error' }],
    ['400 code=content_policy_violation message="no"', { status: 400, code: 'content_policy_violation' }],
  ])('%s has the form of OpenAI', async (words, expected) => {
    expect(await failure(`[[error: ${words}]]`)).toMatchObject(expected);
  });

  test('says when to try again', async () => {
    const { headers, message, requestID } = await failure('[[error: 429 retry-after=7 retry-after-ms=6500]]');
    expect([headers?.get('retry-after'), headers?.get('retry-after-ms')]).toEqual(['7', '6500']);
    expect(requestID).toMatch(/^req_/);
    expect(message).toContain('Please try again in 7s.');
  });

  test('is given for a prompt over the context window', async () => {
    expect(await failure('x'.repeat(90_000))).toMatchObject({ code: 'context_length_exceeded', param: 'messages' });
  });

  test.each([
    ['[[error: 500 after=2]] [[reply: x]]', 'The server had an error'],
    ['[[cut: after=2]] [[reply: x]]', 'terminated'],
    ['[[malformed: stream]] [[reply: x]]', 'JSON'],
    ['[[stop: none]] [[reply: x]]', 'missing finish_reason'],
  ])('comes inside a stream: %s', async (prompt, message) => {
    const stream = client.chat.completions.stream({ ...request(prompt), stream: true });
    await expect(stream.finalChatCompletion()).rejects.toThrow(message);
  });
});

describe('a key', () => {
  const keyed = (apiKey: string) => new OpenAI({ baseURL: `${scripted.url}/v1`, apiKey, maxRetries: 0 });
  const call = (from: OpenAI, model: string, text = 'hello') =>
    from.chat.completions.create({ model, messages: [{ role: 'user', content: text }] }).then(
      ({ choices }) => choices[0]?.message.content,
      ({ status }: APIError) => status,
    );

  test('has errors of its own, for one model or for all', async () => {
    const limited = keyed('team.1[[error: 429 times=2 model=busy]]');
    const called = ['busy', 'other', 'busy', 'busy'].map((model) => () => call(limited, model));
    const answers = [];
    for (const ask of called) answers.push(await ask());
    expect(answers).toEqual([429, 'You said: hello', 429, 'You said: hello']);
    const refused = keyed('team.2[[error: 401 times=always]]');
    expect(await call(refused, 'other')).toBe(401);
    await expect(Array.fromAsync(refused.models.list())).rejects.toMatchObject({ code: 'invalid_api_key' });
    const ids = scripted.requests.slice(-5).map(({ keyId }) => keyId);
    expect(new Set(ids).size).toBe(2);
    expect(JSON.stringify(scripted.requests)).not.toContain('team.');
  });

  test('is not what a fault of a prompt for one model depends on', async () => {
    const text = '[[error: 503 times=always model=first]] [[error: 500 model=second]] [[reply: done]]';
    const answers = [];
    for (const model of ['first', 'second', 'second']) answers.push(await call(client, model, text));
    expect(answers).toEqual([503, 500, 'done']);
  });
});

test('the models are listed', async () => {
  const models = await Array.fromAsync(client.models.list());
  expect(models.map(({ id }) => id)).toContain('scripted-1');
});

const user: Message = { role: 'user', content: 'hello' };
const call = (id: string) => ({ id, type: 'function', function: { name: 'read', arguments: '{}' } });
const calls = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(call) });
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' });
const tool = (parameters: unknown, more: object = {}) => ({
  messages: [user],
  tools: [{ type: 'function', function: { name: 'read', parameters, ...more } }],
});

describe('the request', () => {
  test.each<[string, object]>([
    ['a whole conversation', { messages: [user, calls('a', 'b'), result('b'), result('a'), user] }],
    [
      'a developer, images and a name',
      {
        messages: [
          { role: 'developer', content: 'be brief' },
          {
            role: 'user',
            name: 'ann',
            content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } }],
          },
        ],
      },
    ],
    [
      'reasoning that a compatible server has shown',
      { messages: [user, { role: 'assistant', content: 'x', reasoning_content: 'y' }] },
    ],
    ['a loose schema with strict: false', tool({ type: 'object', properties: { a: {} } }, { strict: false })],
    [
      'what OpenAI takes besides',
      { messages: [user], store: false, prompt_cache_key: 'k', max_completion_tokens: 5, reasoning_effort: 'low' },
    ],
  ])('with %s is accepted', (_, body) => {
    expect(readChat({ model: 'm', ...body }).messages.length).toBeGreaterThan(0);
  });

  test.each<[string, object, { message: RegExp; param: string | null; code: string | null }]>([
    [
      'no messages',
      {},
      { message: /^Missing required parameter: 'messages'/, param: 'messages', code: 'missing_required_parameter' },
    ],
    ['an empty list', { messages: [] }, { message: /empty array/, param: 'messages', code: 'empty_array' }],
    [
      'no model',
      { model: undefined, messages: [user] },
      { message: /you must provide a model/, param: null, code: null },
    ],
    [
      'a field of another wire',
      { messages: [user], system: 'x' },
      { message: /^Unknown parameter: 'system'/, param: 'system', code: 'unknown_parameter' },
    ],
    [
      'a wrong role',
      { messages: [{ role: 'model', content: 'x' }] },
      {
        message: /^Invalid value: 'model'. Supported values are: 'system'/,
        param: 'messages[0].role',
        code: 'invalid_value',
      },
    ],
    [
      'a block of another wire',
      { messages: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }] },
      { message: /^Invalid value: 'input_text'/, param: 'messages[0].content[0].type', code: 'invalid_value' },
    ],
    [
      'content that is null',
      { messages: [{ role: 'user', content: null }] },
      { message: /expected a string, got null/, param: 'messages.[0].content', code: null },
    ],
    [
      'a missing result',
      { messages: [user, calls('a', 'b'), result('a'), user] },
      { message: /did not have response messages: b$/, param: 'messages.[2].role', code: null },
    ],
    [
      'no result at the end',
      { messages: [user, calls('a')] },
      { message: /did not have response messages: a$/, param: 'messages.[2].role', code: null },
    ],
    [
      'a result without its call',
      { messages: [user, result('a')] },
      { message: /must be a response to a preceeding message/, param: 'messages.[1].role', code: null },
    ],
    [
      'a second result',
      { messages: [user, calls('a'), result('a'), result('a')] },
      { message: /must be a response to a preceeding message/, param: 'messages.[3].role', code: null },
    ],
    [
      'an id that is too long',
      { messages: [user, calls('a'.repeat(41)), result('a'.repeat(41))] },
      {
        message: /maximum length 40, but got a string with length 41/,
        param: 'messages[1].tool_calls[0].id',
        code: 'string_above_max_length',
      },
    ],
    [
      'arguments that are no text',
      { messages: [user, { ...calls(), tool_calls: [{ ...call('a'), function: { name: 'r', arguments: {} } }] }] },
      {
        message: /expected a string, but got an object/,
        param: 'messages[1].tool_calls[0].function.arguments',
        code: 'invalid_type',
      },
    ],
    [
      'an image in a result',
      {
        messages: [
          user,
          calls('a'),
          { ...result('a'), content: [{ type: 'image_url', image_url: { url: 'https://a' } }] },
        ],
      },
      { message: /^Invalid 'messages\[2\]'. Image URLs are only allowed/, param: 'messages[2]', code: 'invalid_value' },
    ],
    [
      'a schema that is no object',
      tool({ type: 'string' }),
      {
        message: /^Invalid schema for function 'read': schema must be/,
        param: 'tools[0].function.parameters',
        code: 'invalid_function_parameters',
      },
    ],
    [
      'a list without items',
      tool({ type: 'object', properties: { a: { type: 'array' } } }),
      {
        message: /In context=\('properties', 'a'\), array schema missing items/,
        param: 'tools[0].function.parameters',
        code: 'invalid_function_parameters',
      },
    ],
    [
      'a loose schema with strict: true',
      tool({ type: 'object' }, { strict: true }),
      {
        message: /'additionalProperties' is required to be supplied and to be false/,
        param: 'tools[0].function.parameters',
        code: 'invalid_function_parameters',
      },
    ],
  ])('with %s is refused in the words of OpenAI', (_, body, { message, param, code }) => {
    const error = refusalOf(() => readChat({ model: 'm', ...body }));
    expect(error.message).toMatch(message);
    expect(JSON.parse(CHAT_WIRE.errorBody(error, ''))).toMatchObject({
      error: { type: 'invalid_request_error', param, code },
    });
  });
});
