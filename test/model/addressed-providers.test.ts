// Providers of the configuration that have an address: each is asked there, with its own key,
// beside the built-in one.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/logger.ts';
import { createConfiguredModel } from '../../src/model/configured-model.ts';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';
import { request } from './build-request.ts';

const KEY = 'key-of-the-backup';

test('a provider with an address is asked there, with its key and its headers', async () => {
  const scripted = await startScriptedModel();
  onTestFinished(() => scripted.close());
  const asked: http.IncomingHttpHeaders[] = [];
  const gateway = http.createServer((incoming, response) => {
    asked.push(incoming.headers);
    const { method, headers, url = '/' } = incoming;
    incoming.pipe(
      http.request(new URL(url, scripted.url), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      }),
    );
  });
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    gateway.close();
    gateway.closeAllConnections();
  });
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-providers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const baseUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  const providers = { backup: { baseUrl, apiKey: KEY, headers: { 'x-team': 'one' } } };
  await writeFile(join(folder, 'holdfast.json'), JSON.stringify({ models: { providers } }));

  const model = createConfiguredModel({
    config: loadConfig({ env: {}, cwd: folder }),
    clock: systemClock,
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
    endpoint: { apiKey: 'key-of-the-built-in', baseUrl: scripted.url },
  });
  onTestFinished(() => model.close());
  const ask = (provider: string) =>
    model.ask(request(['[[reply: ok]]'], { provider }), { signal: AbortSignal.timeout(10_000), headers: {} });
  for (const provider of ['anthropic', 'backup']) {
    expect((await ask(provider)).content).toEqual([{ type: 'text', text: 'ok' }]);
  }
  expect(asked).toMatchObject([{ authorization: `Bearer ${KEY}`, 'x-team': 'one' }]);
  expect(model.providers).toEqual(['anthropic', 'backup']);
  // Batches go to Anthropic only.
  expect(model.batchParams(request(['x'], { provider: 'backup' }))).toBeNull();
});
