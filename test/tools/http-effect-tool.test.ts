// The test tool itself, loaded as a plugin like in product processes.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLogger } from '../../src/logger.ts';
import { loadPlugins } from '../../src/plugins/load-plugins.ts';
import { createHttpEffectTool } from './http-effect-tool.ts';
import { aToolCall } from './tool-call.ts';

const effects: unknown[] = [];
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    effects.push(JSON.parse(body));
    response.writeHead(request.url === '/broken' ? 500 : 200).end('counted');
  });
});
let url: string;

beforeEach(async () => {
  effects.length = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
});

test('each run is one effect that carries the idempotency key of its call', async () => {
  const tool = createHttpEffectTool({ url, isIdempotent: false });
  const call = aToolCall({ workspaceDir: '/workspace' });
  expect(await tool.run({ key: 'a' }, call)).toEqual({ content: 'counted', isError: false });
  const { idempotencyKey, callId, turnId, sessionKey } = call;
  expect(effects).toEqual([{ key: 'a', idempotencyKey, callId, turnId, sessionKey }]);
});

test('an effect that the server refuses is an error result', async () => {
  const tool = createHttpEffectTool({ url: `${url}/broken`, isIdempotent: false });
  expect((await tool.run({ key: 'a' }, aToolCall({ workspaceDir: '/workspace' }))).isError).toBe(true);
});

test('as a plugin it gives both kinds of the tool', async () => {
  vi.stubEnv('HTTP_EFFECT_URL', url);
  const { tools } = await loadPlugins(
    { modules: ['./http-effect-tool.ts'], entries: {} },
    { logger: createLogger({ level: 'silent', format: 'json', name: 'test' }), cwd: import.meta.dirname },
  );
  expect(tools.map((tool) => [tool.spec.name, tool.isIdempotent])).toEqual([
    ['http_effect', false],
    ['http_effect_idempotent', true],
  ]);
});
