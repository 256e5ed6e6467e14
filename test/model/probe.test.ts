// Goal: a person who probes a provider or a model reads in one sentence what is wrong with it.
// Method: the scripted model, whose keys and models can fail, and servers that are none, through
// the transports that turns use.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';
import { probeModel } from '../../src/features/catalogue/probe.ts';
import { createAiSdkTransport, type AiSdkOptions } from '../../src/model/ai-sdk/create-transport.ts';
import { createAnthropicTransport } from '../../src/model/anthropic.ts';
import { createModel } from '../../src/model/create-model.ts';
import type { Model } from '../../src/model/model.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';

let model: Model;

shareAmongTests(async (onEnd) => {
  const scripted = await startScriptedModel();
  onEnd(() => scripted.close());
  const page = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html><title>Sign in</title></html>');
  });
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
  onEnd(() => void page.close());
  const pageUrl = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
  const { url } = scripted;
  const of = (provider: string, api: AiSdkOptions['api'], baseUrl: string, apiKey = 'key') =>
    createAiSdkTransport({ provider, api, baseUrl, apiKey });
  model = createModel({
    transports: [
      createAnthropicTransport({ apiKey: 'key', baseUrl: url }),
      of('openai', 'openai', `${url}/v1`),
      of('google', 'google', `${url}/v1beta`),
      of('xai', 'xai', `${url}/v1`),
      of('local', 'openai-compatible', `${url}/v1`),
      of('wrong-key', 'openai', `${url}/v1`, 'k[[error: 401 times=always]]'),
      of('poor', 'openai', `${url}/v1`, 'k[[error: 429 code=insufficient_quota times=always model=gpt-5]]'),
      of('slow', 'openai', `${url}/v1`, 'k[[error: 429 code=rate_limit_exceeded times=always model=gpt-5]]'),
      of('down', 'openai', `${url}/v1`, 'k[[error: 500 times=always model=gpt-5]]'),
      of('typo', 'google', `${url}/v1beta`, 'k[[error: 404 times=always model=claude-sonet-5-5]]'),
      of('page', 'openai-compatible', pageUrl),
      of('path', 'openai-compatible', `${url}/other`),
      of('plain', 'openai-compatible', `${url.replace('http:', 'https:')}/v1`),
      of('away', 'openai-compatible', 'http://127.0.0.1:1/v1'),
      createAiSdkTransport({ provider: 'absent', api: 'package', package: '@ai-sdk/absent', apiKey: 'key' }),
    ],
  });
});

const probe = (asked: string) => probeModel(model, asked, AbortSignal.timeout(20_000));

test.each(['anthropic/claude-sonnet-5-5', 'openai/gpt-5', 'google/gemini-3-pro', 'xai/grok-4', 'local/qwen3'])(
  '%s answers, and its provider lists its models',
  async (asked) => {
    const answers = await probe(asked);
    expect(answers).toEqual({ model: asked, code: 'ok', text: `${asked} answers.`, listed: expect.any(Number) });
    const [provider = ''] = asked.split('/');
    expect(await probe(provider)).toMatchObject({
      code: 'ok',
      text: `${provider} takes the key and lists ${answers.listed} models.`,
    });
  },
);

test.each([
  ['opnai/gpt-5', 'not_configured', /^No provider "opnai" is configured; the configured ones are: anthropic, openai, /],
  ['wrong-key', 'key_refused', /^wrong-key refuses the key: Incorrect API key provided/],
  ['wrong-key/gpt-5', 'key_refused', /Check models\.providers\.wrong-key\.apiKey\.$/],
  ['poor/gpt-5', 'quota', /^The account at poor has no credit left: /],
  ['slow/gpt-5', 'limited', /^slow limits the account now: Rate limit reached/],
  ['down/gpt-5', 'failed', /^down fails at the moment \(500\): /],
  ['typo/claude-sonet-5-5', 'model_unknown', /^typo has no model "claude-sonet-5-5"; did you mean claude-sonnet-5-5/],
  ['page', 'wrong_address', /^What answers for page is not its API: [^ ]*\/models answers with a page of HTML/],
  ['page/any', 'wrong_address', /a page of HTML.*Check models\.providers\.page\.baseUrl/],
  ['path', 'wrong_address', /\(404: .*Check models\.providers\.path\.baseUrl/],
  ['path/any', 'wrong_address', /\(404: /],
  [
    'away',
    'unreachable',
    /^away cannot be reached: Connection error at 127\.0\.0\.1:1\/v1\/models: .*ECONNREFUSED.* NODE_USE_ENV_PROXY/,
  ],
  ['away/any', 'unreachable', /^away cannot be reached: /],
  ['plain/any', 'tls', /^There is no secure connection to plain: .* NODE_EXTRA_CA_CERTS/],
  ['absent/any', 'package_missing', /npm install @ai-sdk\/absent/],
  ['absent', 'ok', /^absent has no list of models that is known; name a model: absent\/<model>\.$/],
])('%s is reported as %s in one sentence', async (asked, code, sentence) => {
  const found = await probe(asked);
  expect(found).toMatchObject({ model: asked, code, text: expect.stringMatching(sentence) });
  expect(JSON.stringify(found)).not.toContain('[[error');
});
