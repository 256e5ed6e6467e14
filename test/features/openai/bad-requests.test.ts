// Goal: a request that cannot be answered is refused with the status, the type and the parameter
// that OpenAI's clients expect, and stores nothing. Method: some of them against the API, and the
// rows before and after.
import { expect, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { countEntries } from '../../rows/entries.ts';
import { countInputs } from '../../rows/inputs.ts';

const holder = useApiRig();

const user = { role: 'user', content: 'Hello' };
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const call = (id: string) => ({ id, type: 'function', function: { name: 'weather', arguments: '{}' } });
const answer = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(call) });
const calledWith = (json: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ ...call('a'), function: { name: 'x', arguments: json } }],
});
const part = (content: object) => ({ messages: [{ role: 'user', content: [content] }] });
const tool = (more: object) => ({ type: 'function', function: { name: 'weather', ...more } });

interface BadRequest {
  name: string;
  /** On top of a model and a message. */
  body?: object;
  raw?: string;
  headers?: Record<string, string>;
  path?: string;
  status?: number;
  code?: string;
  param?: string | null;
  message?: string;
}

const deep = `${'['.repeat(70)}${']'.repeat(70)}`;
const big = 'x'.repeat(1_100_000);

const CASES: BadRequest[] = [
  { name: 'no JSON', raw: '{', code: 'invalid_json', param: null },
  {
    name: 'a body over 1 MiB',
    raw: JSON.stringify({ model: 'holdfast', messages: [{ role: 'user', content: big }] }),
    status: 413,
    param: null,
  },
  { name: 'no messages', body: { messages: undefined }, param: 'messages' },
  { name: 'empty messages', body: { messages: [] }, param: 'messages' },
  {
    name: 'an empty system message alone',
    body: { messages: [{ role: 'system', content: ' ' }] },
    param: 'messages[0]',
  },
  { name: 'the assistant last', body: { messages: [user, { role: 'assistant', content: 'x' }] }, param: 'messages[1]' },
  {
    name: 'a message between a call and its result',
    body: { messages: [user, answer('a'), user, { role: 'tool', tool_call_id: 'a', content: 'x' }] },
    param: 'messages[3].tool_call_id',
  },
  { name: 'an unknown role', body: { messages: [{ role: 'robot', content: 'x' }] }, param: 'messages[0].role' },
  { name: 'null as content', body: { messages: [{ role: 'user', content: null }] }, param: 'messages[0].content' },
  { name: 'an empty text', body: { messages: [{ role: 'user', content: '' }] }, param: 'messages[0]' },
  { name: 'an unknown part', body: part({ type: 'video' }), param: 'messages[0].content[0].type' },
  {
    name: 'the address of an image',
    body: part({ type: 'image_url', image_url: { url: 'http://example.com/a.png' } }),
    param: 'messages[0].content[0].image_url',
  },
  {
    name: 'a malformed data URL',
    body: part({ type: 'image_url', image_url: { url: 'data:image/png;base64,***' } }),
    param: 'messages[0].content[0].image_url',
  },
  {
    name: 'an image of another kind',
    body: part({ type: 'image_url', image_url: { url: PIXEL.replace('png', 'tiff') } }),
    param: 'messages[0].content[0].image_url',
  },
  {
    name: 'audio',
    body: part({ type: 'input_audio', input_audio: { data: '', format: 'wav' } }),
    param: 'messages[0].content[0].type',
  },
  { name: 'a file', body: part({ type: 'file', file: { file_id: 'x' } }), param: 'messages[0].content[0].type' },
  {
    name: 'a result without a call',
    body: { messages: [user, { role: 'tool', tool_call_id: 'a', content: 'x' }] },
    param: 'messages[1].tool_call_id',
  },
  {
    name: 'missing results',
    body: { messages: [user, answer('a', 'b'), { role: 'tool', tool_call_id: 'a', content: 'x' }] },
    param: 'messages',
  },
  {
    name: 'results of an unknown call',
    body: { messages: [user, answer('a'), { role: 'tool', tool_call_id: 'a', content: 'x' }] },
    param: 'tool_call_id',
  },
  {
    name: 'two calls with one id',
    body: { messages: [user, answer('a', 'a'), { role: 'tool', tool_call_id: 'a', content: 'x' }] },
    param: 'messages[1].tool_calls',
  },
  {
    name: 'a schema that is none',
    body: { tools: [tool({ parameters: { type: 'string' } })] },
    param: 'tools[0].function.parameters.type',
  },
  { name: 'a name with a dot', body: { tools: [tool({ name: 'docs.find' })] }, param: 'tools[0].function.name' },
  { name: 'two functions of one name', body: { tools: [tool({}), tool({})] }, param: 'tools[1].function' },
  {
    name: 'the choice of an unknown tool',
    body: { tools: [tool({})], tool_choice: { type: 'function', function: { name: 'other' } } },
    param: 'tool_choice.function.name',
  },
  {
    name: 'an integer beyond 2^53 in an item of a response',
    path: '/v1/responses',
    raw: '{"model":"holdfast","input":[{"type":"function_call","call_id":"a","name":12345678901234567890,"arguments":"{}"}]}',
    param: 'input[0].name',
    message: 'input[0].name: is 12345678901234567890; allowed: a text',
  },
  {
    name: 'an integer beyond 2^53 as the properties of a schema',
    raw: `{"model":"holdfast","messages":[${JSON.stringify(user)}],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":12345678901234567890}}}]}`,
    param: 'tools[0].function.parameters.properties',
  },
  {
    name: 'a call whose arguments are nested too deeply',
    body: { messages: [user, calledWith(`{"a":${deep}}`)] },
    param: 'messages[1].tool_calls[0].function.arguments',
    message: expect.stringContaining('nested too deeply'),
  },
  {
    name: 'a call whose arguments have a field twice',
    body: { messages: [user, calledWith('{"a":1,"a":2}')] },
    param: 'messages[1].tool_calls[0].function.arguments',
    message: expect.stringContaining('named twice at a'),
  },
  {
    name: 'a call of a response whose arguments have a NUL character',
    path: '/v1/responses',
    raw: JSON.stringify({
      model: 'holdfast',
      input: [{ type: 'function_call', call_id: 'a', name: 'x', arguments: '{"a":"\\u0000"}' }],
    }),
    param: 'input[0].arguments',
    message: expect.stringContaining('holds a NUL character at a'),
  },
  {
    name: 'an integer beyond 2^53 as the arguments of a call',
    body: {
      messages: [
        user,
        {
          role: 'assistant',
          tool_calls: [{ ...call('a'), function: { name: 'x', arguments: '12345678901234567890' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
    },
    param: 'messages[1].tool_calls[0].function.arguments',
  },
  { name: 'stream as a text', body: { stream: 'true' }, param: 'stream' },
  { name: 'a temperature out of range', body: { temperature: 3 }, param: 'temperature' },
  { name: 'a huge max_tokens', body: { max_tokens: 10_000_000 }, param: 'max_tokens' },
  { name: 'an unknown parameter', body: { bogus: 1 }, param: 'bogus' },
  { name: 'several answers', body: { n: 2 }, param: 'n' },
  { name: 'logprobs', body: { logprobs: true }, param: 'logprobs' },
  { name: 'audio as an answer', body: { modalities: ['text', 'audio'] }, param: 'modalities[1]' },
  { name: 'a prediction', body: { prediction: { type: 'content', content: 'x' } }, param: 'prediction' },
  { name: 'functions', body: { functions: [] }, param: 'functions' },
  { name: 'web_search_options', body: { web_search_options: {} }, param: 'web_search_options' },
  {
    name: 'a JSON schema of a list',
    body: { response_format: { type: 'json_schema', json_schema: { name: 'list', schema: { type: 'array' } } } },
    param: 'response_format.json_schema.schema.type',
  },
  { name: 'another format', body: { response_format: { type: 'grammar' } }, param: 'response_format.type' },
  { name: 'an unknown model', body: { model: 'gpt-9' }, status: 404, code: 'model_not_found', param: 'model' },
  {
    name: 'a wrong key',
    headers: { authorization: 'Bearer wrong' },
    status: 401,
    code: 'invalid_api_key',
    param: null,
  },
  {
    name: 'an unknown previous response',
    path: '/v1/responses',
    raw: '{"model":"holdfast","input":"x","previous_response_id":"resp_1"}',
    status: 404,
    param: 'previous_response_id',
  },
  {
    name: 'a file in a response',
    path: '/v1/responses',
    raw: '{"model":"holdfast","input":[{"role":"user","content":[{"type":"input_file"}]}]}',
    param: 'input[0].content[0].type',
  },
  {
    name: 'an invalid session key',
    headers: { 'x-holdfast-session-key': 'no spaces please' },
    param: 'x-holdfast-session-key',
  },
  { name: 'an unknown way with histories', headers: { 'x-holdfast-history': 'mine' }, param: 'x-holdfast-history' },
  {
    name: 'an unknown wish for a disconnect',
    headers: { 'x-holdfast-on-disconnect': 'stop' },
    param: 'x-holdfast-on-disconnect',
  },
];

test.each(CASES)(
  '$name is refused',
  async ({ body, raw, headers, path = '/v1/chat/completions', status = 400, code, param, message }) => {
    const { rig } = holder;
    const rows = async () => [await countInputs(rig), await countEntries(rig)];
    const before = await rows();
    const answered = await rig.app.inject({
      method: 'POST',
      url: path,
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', ...headers },
      payload: raw ?? JSON.stringify({ model: 'holdfast', messages: [user], ...body }),
    });
    const { error } = answered.json<{ error: { message: string; type: string; param: string | null; code: string } }>();
    expect({ status: answered.statusCode, ...(code === undefined ? {} : { code: error.code }) }).toEqual({
      status,
      ...(code === undefined ? {} : { code }),
    });
    if (param !== '') expect(error.param).toBe(param);
    expect(error.type).toBe('invalid_request_error');
    expect(error.message).toEqual(message ?? expect.stringMatching(/./));
    expect(answered.headers['x-should-retry']).toBe('false');
    expect(answered.headers['x-request-id']).toEqual(expect.any(String));
    expect(await rows()).toEqual(before);
  },
);
