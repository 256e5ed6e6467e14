// Goal: a wrong address is distinguished from a model that the provider does not
// have, whichever API is spoken, and the fault names host, path, cause and the next step. Method:
// servers on loopback that answer as web servers, frameworks, proxies and providers do.
import { expect, test } from 'vitest';
import { classifyFailure, classifyOutage } from '../../src/core/failure.ts';
import { createAiSdkTransport } from '../../src/model/ai-sdk/create-transport.ts';
import { createAnthropicTransport } from '../../src/model/anthropic.ts';
import { createModel } from '../../src/model/create-model.ts';
import { ModelError } from '../../src/model/model.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { request } from './build-request.ts';
import { ofChat, ofGemini, ofResponses, startProviderServer, type ProviderServer } from './provider-server.ts';

let server: ProviderServer;

shareAmongTests(async (onEnd) => {
  server = await startProviderServer();
  onEnd(() => server.close());
});

const WIRES = {
  messages: '/v1/messages',
  whole: '/v1/messages',
  openai: '/v1/responses',
  'openai-chat': '/v1/chat/completions',
  'openai-compatible': '/v1/chat/completions',
  google: '/v1/models/m:streamGenerateContent',
} as const;
type Wire = keyof typeof WIRES;

function modelOn(wire: Wire, url: string) {
  const common = { provider: 'other', apiKey: 'key' };
  const isMessages = wire === 'messages' || wire === 'whole';
  const transport = isMessages
    ? createAnthropicTransport({ ...common, baseUrl: url, isStreaming: wire === 'messages' })
    : createAiSdkTransport({ ...common, api: wire, baseUrl: `${url}/v1` });
  return createModel({ transports: [transport] });
}

async function faultOf(wire: Wire, url = server.url): Promise<ModelError> {
  const asked = request(['hi'], { provider: 'other', model: 'm' });
  const error: unknown = await modelOn(wire, url)
    .ask(asked, { signal: AbortSignal.timeout(10_000), headers: {} })
    .catch((fault: unknown) => fault);
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

const HTML = { 'content-type': 'text/html' };
const STRANGERS = {
  'a page': { status: 404, body: '<html><title>Not Here</title></html>', headers: HTML },
  nothing: { status: 404, body: '' },
  FastAPI: { status: 404, body: '{"detail":"Not Found"}' },
  Spring: { status: 404, body: '{"status":404,"error":"Not Found","path":"/chat/completions"}' },
  'a repeated path': { status: 404, body: '{"status":404,"path":"/v1/models/m:streamGenerateContent"}' },
  'a path in a text': { status: 404, body: String.raw`{"message":"Not Found: \/v1\/models\/m"}` },
  'a problem of Spring': {
    status: 404,
    body: '{"title":"Not Found","status":404,"detail":"No static resource v1/models/m.","instance":"/v1/models/m"}',
  },
  'a path of llama.cpp': {
    status: 404,
    body: '{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}',
  },
  'an error without a name': { status: 404, body: '{"error":{"code":"404","message":"Resource not found"}}' },
  'a path of OpenAI': {
    status: 404,
    body: '{"error":{"message":"Invalid URL (POST /chat/completions)","type":"invalid_request_error","code":null}}',
  },
  'another method': { status: 405, body: 'Method Not Allowed' },
  'a page of a login': { status: 200, body: '<html>Sign in</html>', headers: HTML },
  'a redirect': { status: 308, body: '', headers: { location: 'https://127.0.0.1/' } },
};
const wires = Object.keys(WIRES) as Wire[];

test.each(wires.flatMap((wire) => Object.entries(STRANGERS).map(([name, reply]) => ({ wire, name, reply }))))(
  '$name at the address of $wire is a wrong address, for which turns wait',
  async ({ wire, reply }) => {
    server.replies = [reply];
    const fault = await faultOf(wire);
    expect(classifyFailure(fault)).toMatchObject({ kind: 'retry', code: 'model_wrong_address' });
    expect(classifyOutage(fault)).toBe('model_wrong_address');
    expect(fault.message).toContain(`${new URL(server.url).host}${WIRES[wire]}`);
    expect(fault.message).toMatch(/(?:404|405|308|HTML).*Correct the address \(baseUrl\)/);
  },
);

const MESSAGE = {
  id: 'a',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'here' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
};
const ANSWERS: Record<Wire, object[] | string> = {
  messages: JSON.stringify(MESSAGE),
  whole: JSON.stringify(MESSAGE),
  openai: ofResponses({ text: 'here' }).body,
  'openai-chat': ofChat({ text: 'here' }).body,
  'openai-compatible': ofChat({ text: 'here' }).body,
  google: ofGemini({ text: 'here' }).body,
};

test.each(wires)('an answer of %s that is called HTML is an answer', async (wire) => {
  server.replies = [{ body: ANSWERS[wire], headers: { 'content-type': 'Text/HTML; charset=utf-8' } }];
  const asked = request(['hi'], { provider: 'other', model: 'm' });
  const { content } = await modelOn(wire, server.url).ask(asked, { signal: AbortSignal.timeout(10_000), headers: {} });
  expect(content).toMatchObject([{ text: 'here' }]);
});

test.each([
  ['messages', '{"type":"error","error":{"type":"not_found_error","message":"model: m"}}'],
  ['whole', '{"type":"error","error":{"type":"not_found_error","message":"Not found"}}'],
  ['openai', '{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}'],
  ['openai-compatible', '{"object":"error","message":"The model `m` does not exist.","code":404}'],
  ['openai-compatible', `{"status":404,"title":"Not Found","detail":"Function 'f0': Not found for account 'a0'"}`],
  ['openai-compatible', '{"error":{"message":"No endpoints found for org/m.","code":404}}'],
  ['openai-compatible', '{"error":{"message":"Nothing here","code":"DeploymentNotFound"}}'],
  ['openai-chat', '{"error":"model \'m\' not found"}'],
  ['google', '[{"error":{"code":404,"message":"models/m is not found","status":"NOT_FOUND"}}]'],
] as const)('a model that %s does not have ends its turn after one call (G16)', async (wire, body) => {
  server.replies = [{ status: 404, body }];
  expect(classifyFailure(await faultOf(wire))).toEqual({ kind: 'fatal', code: 'model_not_found' });
});

test.each([
  ['http://127.0.0.1:1', /^Connection error at 127\.0\.0\.1:1\/v1\/.*ECONNREFUSED.* start the server/],
  ['http://nowhere.invalid', /^Connection error at nowhere\.invalid\/v1\/.*(?:ENOTFOUND|EAI_AGAIN).* correct its name/],
  ['https', /^Connection error at 127\.0\.0\.1:\d+\/v1\/.*SSL.* has http in its address/],
])('a call to %s says what is not reached, why, and what to do', async (address, message) => {
  const url = address === 'https' ? server.url.replace('http:', 'https:') : address;
  const faults = await Promise.all([faultOf('messages', url), faultOf('openai', url), faultOf('google', url)]);
  for (const fault of faults) {
    expect(fault.message).toMatch(message);
    expect(classifyOutage(fault)).toBe('model_away');
  }
});
