// Responses of the scripted model, as OpenAI's own client reads them.
import OpenAI, { APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import { readResponses } from '../../scripted-model/wires/read-responses.ts';
import { RESPONSES_WIRE } from '../../scripted-model/wires/responses-wire.ts';
import { refusalOf } from './refusal-of.ts';

type Input = OpenAI.Responses.ResponseInput;
type Request = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>;

let scripted: ScriptedModel;
let client: OpenAI;

beforeAll(async () => {
  scripted = await startScriptedModel({ contextTokens: 20_000 });
  client = clientOf('team.1');
});
afterAll(() => scripted.close());

function clientOf(apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${scripted.url}/v1`, apiKey, maxRetries: 0 });
}

const request = (input: string | Input, more: Partial<Request> = {}): Request => ({
  model: 'scripted-1',
  input,
  store: false,
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'low', summary: 'auto' },
  prompt_cache_key: 'session',
  ...more,
});

/** The response, which the client reads alike from a stream. */
async function ask(input: string | Input, more: Partial<Request> = {}): Promise<OpenAI.Responses.Response> {
  const streamed = await client.responses.stream(request(input, more)).finalResponse();
  const whole = await client.responses.create(request(input, more));
  const plain = (response: OpenAI.Responses.Response) => [
    response.status,
    response.incomplete_details,
    response.output_text,
    response.output.map(({ type }) => type),
  ];
  expect(plain(streamed)).toEqual(plain(whole));
  return whole;
}

async function failure(input: string | Input, more: Partial<Request> = {}, from = client): Promise<APIError> {
  const error: unknown = await from.responses.create(request(input, more)).catch((reason) => reason);
  expect(error).toBeInstanceOf(APIError);
  return error as APIError;
}

const PROMPT = '[[thinking: hm]] [[tool: read {"path":"a"}]] & [[tool: list]] [[thinking: aha]] [[reply: both done]]';
const user = (content: string) => ({ role: 'user' as const, content });
const outputs = (items: Input): Input =>
  items.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'result' }]
      : [],
  );

describe('an answer', () => {
  test('is reasoning and text, with truthful usage', async () => {
    const {
      output,
      output_text: text,
      usage,
    } = await ask(`${'x'.repeat(400)} [[thinking: ${'t'.repeat(40)}]] [[reply: Good morning.]]`);
    expect(text).toBe('Good morning.');
    expect(output).toMatchObject([
      {
        type: 'reasoning',
        id: expect.stringMatching(/^rs_/),
        summary: [{ type: 'summary_text', text: 't'.repeat(40) }],
        encrypted_content: expect.stringMatching(/^gAAAA/),
      },
      { type: 'message', id: expect.stringMatching(/^msg_/), status: 'completed' },
    ]);
    expect(usage).toMatchObject({ output_tokens: 14, output_tokens_details: { reasoning_tokens: 10 } });
    const again = await client.responses.create(request('a'.repeat(800)));
    expect(again.usage?.input_tokens_details.cached_tokens).toBe(0);
    expect((await ask('a'.repeat(800))).usage?.input_tokens_details.cached_tokens).toBe(again.usage?.input_tokens);
    for (const [from, key] of [
      [client, 'other'],
      [clientOf('other.1'), 'session'],
    ] as const) {
      const other = await from.responses.create(request('a'.repeat(800), { prompt_cache_key: key }));
      expect(other.usage?.input_tokens_details.cached_tokens).toBe(0);
    }
  });

  test('has calls, also two at once, whose results go back with the reasoning', async () => {
    const first = (await ask(PROMPT)).output as Input;
    expect(first).toMatchObject([
      { type: 'reasoning' },
      { type: 'function_call', name: 'read', arguments: '{"path":"a"}', call_id: expect.stringMatching(/^call_/) },
      { type: 'function_call', name: 'list', arguments: '{}' },
    ]);
    const second = await ask([user(PROMPT), ...first, ...outputs(first)]);
    expect(second.output_text).toBe('both done');
    const all = [user(PROMPT), ...first, ...outputs(first), ...(second.output as Input), user('thanks')];
    expect((await ask(all)).output_text).toBe('You said: thanks');
  });

  test('shows no summary and no encrypted content that the request does not ask for', async () => {
    const { output } = await client.responses.create({ model: 'm', input: '[[thinking: hm]] [[reply: x]]' });
    expect(output[0]).toEqual({ type: 'reasoning', id: expect.any(String), status: 'completed', summary: [] });
  });

  test.each([
    ['[[reply: half]] [[stop: max_tokens]]', 'incomplete', { reason: 'max_output_tokens' }],
    ['[[reply: I]] [[stop: content_filter]]', 'incomplete', { reason: 'content_filter' }],
    ['[[reply: No.]] [[stop: refusal]]', 'completed', null],
  ])('ends as %s says', async (prompt, status, details) => {
    expect(await ask(prompt)).toMatchObject({ status, incomplete_details: details });
  });

  test('is a refusal', async () => {
    const [item] = (await ask('[[reply: No.]] [[stop: refusal]]')).output;
    expect(item).toMatchObject({ content: [{ type: 'refusal', refusal: 'No.' }] });
  });

  test('fits a schema', async () => {
    const schema = {
      type: 'object',
      properties: { ok: { type: 'boolean' } },
      required: ['ok'],
      additionalProperties: false,
    };
    const text = { format: { type: 'json_schema' as const, name: 'answer', schema, strict: true } };
    expect((await ask('Is it?', { text })).output_text).toBe('{"ok":false}');
    expect((await ask('[[reply: {"ok": true}]]', { text })).output_text).toBe('{"ok": true}');
  });
});

describe('an error', () => {
  test.each([
    ['401', { status: 401, code: 'invalid_api_key', type: 'invalid_request_error' }],
    ['429 code=insufficient_quota', { status: 429, code: 'insufficient_quota', type: 'insufficient_quota' }],
    ['503', { status: 503, type: 'server_error' }],
  ])('%s has the form of OpenAI', async (words, expected) => {
    expect(await failure(`[[error: ${words}]]`)).toMatchObject(expected);
  });

  test('is given for a prompt over the context window', async () => {
    expect(await failure('x'.repeat(90_000))).toMatchObject({ code: 'context_length_exceeded', param: 'input' });
  });

  test.each([
    ['[[error: 429 after=4]] [[reply: x]]', 'Rate limit reached for scripted-1'],
    ['[[cut: after=4]] [[reply: x]]', 'terminated'],
    ['[[malformed: stream]] [[reply: x]]', 'JSON'],
  ])('comes inside a stream: %s', async (prompt, message) => {
    await expect(client.responses.stream(request(prompt)).finalResponse()).rejects.toThrow(message);
  });
});

test('a stream can end without the end of its response', async () => {
  const stream = client.responses.stream(request('[[stop: none]] [[reply: x]]'));
  expect(await stream.finalResponse()).toMatchObject({ status: 'in_progress' });
});

describe('reasoning', () => {
  /** A conversation in the middle of a turn: the user, reasoning, two calls, their outputs. */
  async function conversation(): Promise<Input> {
    const output = (await client.responses.create(request(PROMPT))).output as Input;
    return [user(PROMPT), ...output, ...outputs(output)];
  }
  const changed = (items: Input, index: number, change: object): Input =>
    items.map((item, place) => (place === index ? ({ ...item, ...change } as typeof item) : item));
  const sealed = (items: Input): string => (items[1] as { encrypted_content: string }).encrypted_content;

  test('is accepted without ids, and left out together with the ids that name it', async () => {
    const items = await conversation();
    const bare = items.map((item) => ({ ...item, id: undefined }) as (typeof items)[number]);
    await ask(bare);
    await ask(bare.filter(({ type }) => type !== 'reasoning'));
  });

  test.each<[string, (items: Input, other: Input) => Input, { message: RegExp; status?: number; code: string | null }]>(
    [
      [
        'edited',
        (items) => changed(items, 1, { encrypted_content: `${sealed(items).slice(0, -1)}_` }),
        { message: /could not be decrypted or parsed/, code: 'invalid_encrypted_content' },
      ],
      [
        'of another wire',
        (items) => changed(items, 1, { encrypted_content: 'EqQBCgIYAhIk' }),
        { message: /could not be decrypted or parsed/, code: 'invalid_encrypted_content' },
      ],
      [
        'of another item',
        (items, other) => changed(items, 1, { encrypted_content: sealed(other) }),
        { message: /item_id did not match/, code: 'invalid_encrypted_content' },
      ],
      [
        'without its content',
        (items) => changed(items, 1, { encrypted_content: null }),
        { message: /^404 Item with id 'rs_\w+' not found. Items are not persisted/, status: 404, code: null },
      ],
      [
        'before the item of another answer',
        (items, other) => [items[0]!, other[1]!, ...items.slice(2)],
        { message: /of type 'reasoning' was provided without its required following item/, code: null },
      ],
      [
        'before a message of the user',
        (items) => [items[0]!, items[1]!, user('x')],
        { message: /without its required following item/, code: null },
      ],
      ['at the end', (items) => items.slice(0, 2), { message: /without its required following item/, code: null }],
      [
        'missing before its call',
        (items) => items.filter(({ type }) => type !== 'reasoning'),
        {
          message:
            /^400 Item 'fc_\w+' of type 'function_call' was provided without its required 'reasoning' item: 'rs_\w+'/,
          code: null,
        },
      ],
      ['twice', (items) => [...items, items[1]!], { message: /^400 Duplicate item found with id rs_/, code: null }],
    ],
  )('is refused: %s', async (_, change, { status = 400, ...expected }) => {
    const error = await failure(change(await conversation(), await conversation()));
    expect(error).toMatchObject({ status, code: expected.code });
    expect(error.message).toMatch(expected.message);
  });

  test('is read by its own model and organisation alone', async () => {
    const items = await conversation();
    const code = 'invalid_encrypted_content';
    expect(await failure(items, { model: 'scripted-2' })).toMatchObject({ code });
    expect(await failure(items, {}, clientOf('other.1'))).toMatchObject({
      code,
      message: expect.stringContaining('organization_id did not match'),
    });
    expect((await clientOf('team.2').responses.create(request(items))).output_text).toBe('both done');
  });
});

const call = (id: string, more: object = {}) => ({
  type: 'function_call',
  call_id: id,
  name: 'read',
  arguments: '{}',
  ...more,
});
const output = (id: string, value: unknown = 'ok') => ({ type: 'function_call_output', call_id: id, output: value });
const image = { type: 'input_image', image_url: 'data:image/png;base64,aGk=' };

describe('the request', () => {
  test.each<[string, unknown]>([
    ['a text', 'hello'],
    [
      'a whole conversation',
      [
        { role: 'developer', content: 'be brief' },
        user('hi'),
        { role: 'assistant', content: [{ type: 'output_text', text: 'ho' }] },
        user('go'),
        call('a'),
        call('b'),
        output('b'),
        output('a'),
      ],
    ],
    [
      'images in prompts and results',
      [{ role: 'user', content: [image] }, call('a'), output('a', [{ type: 'input_text', text: 'see' }, image])],
    ],
  ])('with %s is accepted', (_, input) => {
    expect(readResponses({ model: 'm', input, store: false }, { organisation: '' }).messages.length).toBeGreaterThan(0);
  });

  test.each<[string, object, { message: RegExp; param: string | null; code: string | null }]>([
    [
      'no input',
      {},
      { message: /^Missing required parameter: 'input'/, param: 'input', code: 'missing_required_parameter' },
    ],
    [
      'a field of another wire',
      { input: 'x', messages: [] },
      { message: /^Unknown parameter: 'messages'/, param: 'messages', code: 'unknown_parameter' },
    ],
    [
      'a wrong role',
      { input: [{ role: 'tool', content: 'x' }] },
      {
        message: /^Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'/,
        param: 'input[0].role',
        code: 'invalid_value',
      },
    ],
    [
      'an item of another wire',
      { input: [{ type: 'tool_use' }] },
      { message: /^Invalid value: 'tool_use'/, param: 'input[0]', code: 'invalid_value' },
    ],
    [
      'a part of the wrong side',
      { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }] },
      {
        message: /^Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'/,
        param: 'input[0].content[0].type',
        code: 'invalid_value',
      },
    ],
    [
      'a missing output',
      { input: [call('a'), call('b'), output('a')] },
      { message: /^No tool output found for function call b\.$/, param: 'input', code: null },
    ],
    [
      'an output without its call',
      { input: [output('a')] },
      { message: /^No tool call found for function call output with call_id a\.$/, param: 'input', code: null },
    ],
    [
      'swapped ids',
      { input: [call('a'), output('b'), call('b'), output('a')] },
      { message: /^No tool call found for function call output with call_id b/, param: 'input', code: null },
    ],
    [
      'an item id of another wire',
      { input: [call('a', { id: 'toolu_1' }), output('a')] },
      {
        message: /^Invalid 'input\[0\].id': 'toolu_1'. Expected an ID that begins with 'fc'/,
        param: 'input[0].id',
        code: 'invalid_value',
      },
    ],
    [
      'a strange id',
      { input: [call('a', { id: 'fc_1|2' }), output('a')] },
      { message: /contains letters, numbers, underscores, or dashes/, param: 'input[0].id', code: 'invalid_value' },
    ],
    [
      'an id that is too long',
      { input: [call('a'.repeat(65))] },
      {
        message: /maximum length 64, but got a string with length 65/,
        param: 'input[0].call_id',
        code: 'string_above_max_length',
      },
    ],
    [
      'too few output tokens',
      { input: 'x', max_output_tokens: 1 },
      { message: /Expected a value >= 16, but got 1/, param: 'max_output_tokens', code: 'integer_below_min_value' },
    ],
    [
      'an earlier response',
      { input: 'x', previous_response_id: 'resp_1' },
      {
        message: /^Previous response with id 'resp_1' not found/,
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      },
    ],
    [
      'a loose schema with strict: true',
      {
        input: 'x',
        tools: [
          {
            type: 'function',
            name: 'read',
            strict: true,
            parameters: { type: 'object', additionalProperties: false, properties: { a: {} } },
          },
        ],
      },
      { message: /Missing 'a'/, param: 'tools[0].parameters', code: 'invalid_function_parameters' },
    ],
  ])('with %s is refused in the words of OpenAI', (_, body, { message, param, code }) => {
    const error = refusalOf(() => readResponses({ model: 'm', ...body }, { organisation: '' }));
    expect(error.message).toMatch(message);
    expect(JSON.parse(RESPONSES_WIRE.errorBody(error, ''))).toMatchObject({
      error: { type: 'invalid_request_error', param, code },
    });
  });
});
