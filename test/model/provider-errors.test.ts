// Goal: an error of a provider is never stored with a secret that it repeats. Method: a provider
// that answers with the key and the headers that it was asked with, in all the ways in which
// gateways do.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { loadConfig } from '../../src/config.ts';
import { classifyFailure } from '../../src/core/failure.ts';
import { createLogger } from '../../src/logger.ts';
import { createConfiguredModel } from '../../src/model/configured-model.ts';
import { ModelError } from '../../src/model/model.ts';
import type { Transport } from '../../src/model/transport.ts';
import { request } from './build-request.ts';

const KEY = 'key/of+the model=12345';
const DATABASE_PASSWORD = 'password-of-the-database';

async function provider(status: number, body: string): Promise<string> {
  const server = http.createServer((incoming, response) => {
    incoming.resume().on('end', () => response.writeHead(status, { 'request-id': KEY }).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function faultOf(baseUrl: string, transports: Transport[] = []): Promise<ModelError> {
  const model = createConfiguredModel({
    config: loadConfig({ env: { DATABASE_URL: `postgres://me:${DATABASE_PASSWORD}@db/x` }, cwd: '/' }),
    clock: systemClock,
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
    endpoint: { apiKey: KEY, baseUrl },
    transports,
  });
  onTestFinished(() => model.close());
  const asked = transports.length === 0 ? request(['x']) : request(['x'], { provider: 'local' });
  const error: unknown = await model.ask(asked, { signal: AbortSignal.timeout(10_000), headers: {} }).then(
    () => expect.unreachable('The call did not fail.'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ModelError);
  // It was looked at above.
  return error as ModelError;
}

function everythingOf(error: ModelError): string {
  const cause = error.cause instanceof Error ? `${error.cause.message} ${JSON.stringify(error.cause)}` : '';
  return [error.message, error.type, error.errorCode, error.requestId, error.stack, cause].join('\n');
}

test.each([
  ['plain', KEY],
  ['in a URL', encodeURIComponent(KEY)],
  ['in base64', Buffer.from(`x-api-key: ${KEY}`).toString('base64')],
  ['in JSON within its text', JSON.stringify({ key: KEY }).replaceAll('/', String.raw`\/`)],
  ['with another secret of the service', `${KEY} ${DATABASE_PASSWORD}`],
])('a refusal that repeats the key %s mentions that it was removed (G31)', async (_form, written) => {
  const refusal = { type: 'authentication_error', message: `invalid: ${written}` };
  const body = JSON.stringify({ type: 'error', error: refusal });
  const error = await faultOf(await provider(401, body));
  expect(error).toMatchObject({ status: 401, type: 'authentication_error', requestId: '[redacted]' });
  expect(error.message).toContain('[redacted]');
  const said = everythingOf(error);
  for (const secret of [
    KEY,
    encodeURIComponent(KEY),
    Buffer.from(KEY).toString('base64').slice(4, -8),
    DATABASE_PASSWORD,
  ])
    expect(said).not.toContain(secret);
});

test('a refusal that is no JSON is treated the same, and a long one is cut', async () => {
  const error = await faultOf(await provider(502, `<html>${'x'.repeat(500_000)}${KEY}</html>`));
  expect(error.message.length).toBeLessThan(20_000);
  expect(everythingOf(error)).not.toContain(KEY);
});

test('an error of a transport of a plugin is treated the same', async () => {
  const transport: Transport = {
    name: 'local',
    provider: 'local',
    send: () =>
      Promise.reject(
        new ModelError({ type: 'network', status: null, retryAfterMs: null, message: `no route for ${KEY}` }),
      ),
  };
  const error = await faultOf('http://127.0.0.1:1', [transport]);
  expect(error.message).toBe('no route for [redacted]');
});

test.each([
  [400, '{"error":"Cannot truncate prompt with n_keep (11378) >= n_ctx (4096)"}', 'overflow', /n_ctx/],
  [413, '<html><head><title>413 Request Entity Too Large</title></head></html>', 'fatal', /413 Request Entity/],
  [400, '', 'fatal', /400/],
  [400, '{"error":{"message":""}}', 'fatal', /./],
  [400, '{"detail":[{"loc":["body","model"],"msg":"Field required"}]}', 'fatal', /Field required/],
])('a server with the API of Anthropic that refuses with %i and %s is understood', async (status, body, kind, text) => {
  const error = await faultOf(await provider(status, body));
  expect(classifyFailure(error).kind).toBe(kind);
  expect(error.message).toMatch(text);
});
