// Gemini's API of the scripted model, as Google's own client reads it.
import {
  ApiError,
  FinishReason,
  GoogleGenAI,
  type Content,
  type GenerateContentConfig,
  type GenerateContentResponse,
} from '@google/genai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import { GEMINI_WIRE } from '../../scripted-model/wires/gemini-wire.ts';
import { readGemini } from '../../scripted-model/wires/read-gemini.ts';
import { refusalOf } from './refusal-of.ts';

let scripted: ScriptedModel;
let client: GoogleGenAI;

beforeAll(async () => {
  scripted = await startScriptedModel({ contextTokens: 20_000 });
  client = clientOf('team.1');
});
afterAll(() => scripted.close());

function clientOf(apiKey: string): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: scripted.url } });
}

const request = (contents: string | Content[], more: GenerateContentConfig = {}, model = 'gemini-3-pro') => ({
  model,
  contents,
  config: { thinkingConfig: { includeThoughts: true }, ...more },
});

/** The response, which the client reads alike from a stream. */
async function ask(contents: string | Content[], more: GenerateContentConfig = {}): Promise<GenerateContentResponse> {
  const chunks = await Array.fromAsync(await client.models.generateContentStream(request(contents, more)));
  const whole = await client.models.generateContent(request(contents, more));
  expect(chunks.map(({ text }) => text ?? '').join('')).toBe(whole.text ?? '');
  expect(chunks.flatMap(({ functionCalls }) => functionCalls ?? []).map(({ name, args }) => ({ name, args }))).toEqual(
    (whole.functionCalls ?? []).map(({ name, args }) => ({ name, args })),
  );
  expect(chunks.at(-1)?.candidates?.[0]?.finishReason).toBe(whole.candidates?.[0]?.finishReason);
  return whole;
}

/** The error of a request: its status and body. */
async function failure(contents: string | Content[], from = client, model?: string) {
  const error: unknown = await from.models.generateContent(request(contents, {}, model)).catch((reason) => reason);
  if (!(error instanceof ApiError)) throw new Error('The request was accepted.');
  const { error: body } = JSON.parse(error.message) as { error: Record<string, unknown> };
  return body;
}

const PROMPT =
  '[[thinking: hm]] [[tool: read {"path":"a","lines":[1,2]}]] & [[tool: list]] [[thinking: aha]] [[reply: both done]]';
const user = (text: string): Content => ({ role: 'user', parts: [{ text }] });
const answerOf = ({ candidates }: GenerateContentResponse): Content => candidates?.[0]?.content ?? {};
const responses = ({ parts = [] }: Content): Content => ({
  role: 'user',
  parts: parts.flatMap(({ functionCall: call }) =>
    call ? [{ functionResponse: { id: call.id!, name: call.name!, response: { output: 'result' } } }] : [],
  ),
});

describe('an answer', () => {
  test('is thoughts and text, with truthful usage', async () => {
    const prompt = `${'x'.repeat(400)} [[thinking: ${'t'.repeat(40)}]] [[reply: Good morning.]]`;
    const answer = await ask(prompt);
    expect(answer.text).toBe('Good morning.');
    expect(answerOf(answer).parts).toEqual([
      { text: 't'.repeat(40), thought: true },
      { text: 'Good morning.', thoughtSignature: expect.any(String) },
    ]);
    // The stream came first, so the whole prompt is in the cache.
    const tokens = answer.usageMetadata?.promptTokenCount ?? 0;
    expect(answer.usageMetadata).toMatchObject({
      cachedContentTokenCount: tokens,
      candidatesTokenCount: 4,
      thoughtsTokenCount: 10,
      totalTokenCount: tokens + 14,
    });
    const hidden = await client.models.generateContent(request(prompt, { thinkingConfig: {} }));
    expect(answerOf(hidden).parts).toHaveLength(1);
  });

  test('has calls, also two at once, whose results go back with the signature', async () => {
    const first = await ask(PROMPT);
    const content = answerOf(first);
    expect(first.candidates?.[0]?.finishReason).toBe(FinishReason.STOP);
    expect(content.parts?.slice(1)).toMatchObject([
      { functionCall: { name: 'read', args: { path: 'a', lines: [1, 2] } }, thoughtSignature: expect.any(String) },
      { functionCall: { name: 'list', args: {} } },
    ]);
    expect(content.parts?.[2]).not.toHaveProperty('thoughtSignature');
    const second = await ask([user(PROMPT), content, responses(content)]);
    expect(second.text).toBe('both done');
    const all = [user(PROMPT), content, responses(content), answerOf(second), user('thanks')];
    expect((await ask(all)).text).toBe('You said: thanks');
  });

  test.each([
    ['[[reply: half]] [[stop: max_tokens]]', 'MAX_TOKENS'],
    ['[[reply: I]] [[stop: content_filter]]', 'SAFETY'],
    ['[[reply: I]] [[stop: RECITATION]]', 'RECITATION'],
    ['[[malformed]] [[tool: read]]', 'MALFORMED_FUNCTION_CALL'],
    ['[[stop: none]] [[reply: x]]', undefined],
  ])('ends as %s says', async (prompt, reason) => {
    expect((await ask(prompt)).candidates?.[0]?.finishReason).toBe(reason);
  });

  test('is missing for a blocked prompt', async () => {
    const answer = await ask('[[stop: blocked]]');
    expect([answer.candidates, answer.promptFeedback?.blockReason]).toEqual([undefined, 'PROHIBITED_CONTENT']);
  });

  test('fits a schema', async () => {
    const responseJsonSchema = { type: 'object', properties: { label: { enum: ['bug'] } }, required: ['label'] };
    const json = { responseMimeType: 'application/json', responseJsonSchema };
    expect((await ask('Classify this.', json)).text).toBe('{"label":"bug"}');
    expect((await ask('[[reply: {"label": "x"}]]', json)).text).toBe('{"label": "x"}');
  });
});

describe('an error', () => {
  test.each([
    ['400 code=API_KEY_INVALID', { code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] }],
    ['404', { code: 404, status: 'NOT_FOUND', message: expect.stringMatching(/^models\/gemini-3-pro is not found/) }],
    [
      '429 code=insufficient_quota',
      { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ links: expect.anything() }] },
    ],
    ['503', { code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded. Please try again later.' }],
    ['400 type=FAILED_PRECONDITION', { code: 400, status: 'FAILED_PRECONDITION' }],
  ])('%s has the form of Google', async (words, expected) => {
    expect(await failure(`[[error: ${words}]]`)).toMatchObject(expected);
  });

  test('says when to try again', async () => {
    const { message, details } = await failure('[[error: 429 retry-after=34.07]]');
    expect(message).toContain('Please retry in 34.07s.');
    expect(details).toContainEqual({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' });
  });

  test('is given for a prompt over the context window', async () => {
    expect((await failure('x'.repeat(90_000)))['message']).toMatch(
      /^The input token count \(22500\) exceeds the maximum/,
    );
  });

  test.each([
    ['[[error: 503 after=1]] [[fill: 90]]', 'overloaded'],
    ['[[cut: after=1]] [[fill: 90]]', 'terminated'],
    ['[[malformed: stream]] [[fill: 90]]', 'JSON'],
  ])('comes inside a stream: %s', async (prompt, message) => {
    const stream = await client.models.generateContentStream(request(prompt));
    await expect(Array.fromAsync(stream)).rejects.toThrow(message);
  });
});

test('the models are listed', async () => {
  const models = await Array.fromAsync(await client.models.list());
  expect(models.map(({ name }) => name)).toContain('models/scripted-1');
});

describe('a signature', () => {
  /** A prompt, two calls and their responses. */
  async function conversation(prompt = PROMPT): Promise<Content[]> {
    const content = answerOf(await client.models.generateContent(request(prompt, { thinkingConfig: {} })));
    return [user(prompt), content, responses(content)];
  }
  /** A conversation whose first call was changed. */
  const changed = ([prompt, content, results]: Content[], change: object): Content[] => [
    prompt!,
    { ...content, parts: content!.parts!.map((part, index) => (index === 0 ? { ...part, ...change } : part)) },
    results!,
  ];
  const signature = ([, content]: Content[]): string => content?.parts?.[0]?.thoughtSignature ?? '';
  const MISSING =
    /^Function call is missing a thought_signature in functionCall parts\..* function call `default_api:read` , position 2\./;

  test('may miss before the latest prompt, or be the one that skips the check', async () => {
    const items = await conversation();
    const content = { role: 'model', parts: [{ text: 'both done' }] };
    await ask([...changed(items, { thoughtSignature: undefined }), content, user('thanks')]);
    await ask(changed(items, { thoughtSignature: 'skip_thought_signature_validator' }));
    // The order of fields is no content.
    await ask(changed(items, { functionCall: { name: 'read', args: { lines: [1, 2], path: 'a' } } }));
  });

  test.each<[string, (items: Content[], other: Content[]) => Content[], RegExp]>([
    ['missing', (items) => changed(items, { thoughtSignature: undefined }), MISSING],
    [
      'edited',
      (items) => changed(items, { thoughtSignature: `A${signature(items)}` }),
      /^Corrupted thought signature\.$/,
    ],
    [
      'of another wire',
      (items) => changed(items, { thoughtSignature: 'EqQBCgIYAhIk' }),
      /^Corrupted thought signature\.$/,
    ],
    [
      'of another call',
      (items, other) => changed(items, { thoughtSignature: signature(other) }),
      /^Thought signature is not valid\.$/,
    ],
    [
      'of other arguments',
      (items) => changed(items, { functionCall: { name: 'read', args: { path: 'b' } } }),
      /^Thought signature is not valid\.$/,
    ],
  ])('is refused: %s', async (_, change, message) => {
    const error = await failure(change(await conversation(), await conversation('[[tool: write]] & [[tool: list]]')));
    expect(error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT', message: expect.stringMatching(message) });
  });

  test('of a text is refused before another text', async () => {
    const [, content] = await conversation('[[reply: Good morning.]]');
    const texts = content?.parts?.map((part) => ({ ...part, text: 'Good night.' })) ?? [];
    const error = await failure([user('x'), { role: 'model', parts: texts }, user('y')]);
    expect(error['message']).toBe('Thought signature is not valid.');
  });

  test('is valid for its own model and organisation alone', async () => {
    const items = await conversation();
    const message = 'Thought signature is not valid.';
    expect(await failure(items, client, 'gemini-3-flash')).toMatchObject({ message });
    expect(await failure(items, clientOf('other.1'))).toMatchObject({ message });
    expect((await clientOf('team.2').models.generateContent(request(items))).text).toBe('both done');
  });
});

const part = (name: string, id?: string) => ({
  functionCall: { name, id, args: {} },
  thoughtSignature: 'skip_thought_signature_validator',
});
const calls = (...parts: unknown[]) => ({ role: 'model', parts });
const result = (name: string, id?: string, response: unknown = { output: 1 }) => ({
  functionResponse: { name, id, response },
});
const results = (...parts: unknown[]) => ({ role: 'user', parts });
const model = (text: string) => ({ role: 'model', parts: [{ text }] });
const image = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
const declares = (...functionDeclarations: object[]) => ({ contents: [user('x')], tools: [{ functionDeclarations }] });
const EQUAL = /^Please ensure that the number of function response parts is equal to the number of function call parts/;

describe('the request', () => {
  test.each<[string, object]>([
    [
      'a whole conversation',
      {
        contents: [
          user('a'),
          model('b'),
          user('c'),
          calls(part('f', '1'), part('f', '2')),
          results(result('f', '2'), result('f', '1')),
          user('d'),
        ],
        systemInstruction: { parts: [{ text: 'be brief' }] },
      },
    ],
    [
      'images in prompts and results',
      {
        contents: [
          results(image),
          calls(part('f')),
          results({ functionResponse: { name: 'f', response: {}, parts: [image] } }),
        ],
      },
    ],
    [
      'any schema as JSON schema',
      declares({ name: 'f', parametersJsonSchema: { type: 'object', $defs: {}, additionalProperties: false } }),
    ],
  ])('with %s is accepted', (_, body) => {
    expect(readGemini(body, { body, organisation: '' }).messages.length).toBeGreaterThan(0);
  });

  test.each<[string, object, RegExp]>([
    ['no contents', {}, /contents is not specified/],
    [
      'a field of another wire',
      { contents: [user('x')], messages: [] },
      /^Invalid JSON payload received. Unknown name "messages": Cannot find field\.$/,
    ],
    ['a wrong role', { contents: [{ ...user('x'), role: 'assistant' }] }, /^Please use a valid role: user, model\.$/],
    ['no parts', { contents: [{ role: 'user', parts: [] }] }, /contents\[0\].parts: contents.parts must not be empty/],
    [
      'a part without content',
      { contents: [results({ thought: true })] },
      /contents\[0\].parts\[0\].data: required oneof field 'data'/,
    ],
    [
      'an answer first',
      { contents: [model('x'), user('y')] },
      /^Please ensure that multiturn requests alternate between user and model\.$/,
    ],
    [
      'two answers in a row',
      { contents: [user('x'), model('a'), model('b'), user('y')] },
      /^Please ensure that multiturn requests alternate/,
    ],
    [
      'an answer at the end',
      { contents: [user('x'), model('y')] },
      /^Please ensure that multiturn requests ends with a user role or a function response\.$/,
    ],
    [
      'a call first',
      { contents: [calls(part('f')), results(result('f'))] },
      /^Please ensure that function call turn comes immediately after a user turn/,
    ],
    [
      'a response without its call',
      { contents: [user('x'), model('y'), results(result('f'))] },
      /^Please ensure that function response turn comes immediately after a function call turn\.$/,
    ],
    ['a missing response', { contents: [user('x'), calls(part('f'), part('g')), results(result('f'))] }, EQUAL],
    [
      'responses over two turns',
      { contents: [user('x'), calls(part('f'), part('g')), results(result('f')), results(result('g'))] },
      EQUAL,
    ],
    ['a prompt in place of a response', { contents: [user('x'), calls(part('f')), user('y')] }, EQUAL],
    [
      'swapped ids',
      { contents: [user('x'), calls(part('f', '1'), part('g', '2')), results(result('f', '2'), result('g', '1'))] },
      EQUAL,
    ],
    [
      'a response that is a text',
      { contents: [user('x'), calls(part('f')), results(result('f', undefined, 'ok'))] },
      /\(type.googleapis.com\/google.protobuf.Struct\), "ok"$/,
    ],
    [
      'an image of a strange type',
      { contents: [results({ inlineData: { mimeType: 'x', data: 'aGk=' } })] },
      /^Unsupported MIME type: x$/,
    ],
    [
      'a name with a blank',
      declares({ name: 'a b' }),
      /Invalid function name. Must start with a letter or an underscore/,
    ],
    ['two functions of a name', declares({ name: 'f' }, { name: 'f' }), /^Duplicate function declaration found: f$/],
    [
      'a JSON schema in parameters',
      declares({ name: 'f', parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', const: 1 } } } }),
      /^Invalid JSON payload received. Unknown name "const" at 'tools\[0\].function_declarations\[0\].parameters.properties\[0\].value': Cannot find field\.$/,
    ],
    [
      'budget and level',
      { contents: [user('x')], generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: 'LOW' } } },
      /^You can only set only one of thinking budget and thinking level\.$/,
    ],
  ])('with %s is refused in the words of Google', (_, body, message) => {
    const error = refusalOf(() => readGemini(body, { body, organisation: '' }));
    expect(error.message).toMatch(message);
    expect(JSON.parse(GEMINI_WIRE.errorBody(error, ''))).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT' },
    });
  });
});
