// The remaining amounts of a provider's rate limits.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { Amounts } from '../../src/core/rate-limit.ts';
import { createAnthropicModel, readRemaining } from '../../src/model/anthropic.ts';

test('headers that are no whole numbers say nothing', () => {
  const headers = new Headers({
    'anthropic-ratelimit-requests-remaining': '12',
    'anthropic-ratelimit-input-tokens-remaining': 'many',
    'anthropic-ratelimit-output-tokens-remaining': '-1',
  });
  expect(readRemaining(headers)).toEqual({ requests: 12 });
});

test('the caller of the model receives the remaining amounts, also with a refusal', async () => {
  const server = http.createServer((request, response) => {
    request.resume();
    response.writeHead(429, {
      'content-type': 'application/json',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-output-tokens-remaining': '800',
    });
    response.end(JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'Too many.' } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const said: Amounts[] = [];
  const asked = createAnthropicModel({ apiKey: 'k', baseUrl }).ask(
    {
      model: 'm',
      maxTokens: 10,
      system: [],
      tools: [],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    },
    { signal: new AbortController().signal, headers: {}, onRemaining: (remaining) => said.push(remaining) },
  );
  await expect(asked).rejects.toMatchObject({ status: 429 });
  expect(said).toEqual([{ requests: 0, outputTokens: 800 }]);
  server.closeAllConnections();
  server.close();
});
