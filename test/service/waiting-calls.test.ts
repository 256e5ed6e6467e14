// Calls that wait for a person and for another program, in a running service: a subagent's request
// is shown with its family, `approvals watch` prints requests as they come, and a program that
// receives a signed call sends its result (G36).
import type { ChildProcess } from 'node:child_process';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { apiKey, openServiceRig, type RunningProcess } from './rig/service-rig.ts';
import { startReceiver, type WebhookReceiver } from './rig/webhook-receiver.ts';

const SOON_MS = 150_000;
const secret = `whsec_${Buffer.from('a secret of the tests of waiting').toString('base64')}`;

let front: RunningProcess;
let api: ServiceApi;
let receiver: WebhookReceiver;

shareAmongTests(async (onEnd) => {
  receiver = await startReceiver();
  onEnd(() => receiver.close());
  const opened = await openServiceRig({
    queue: 'postgres',
    config: {
      agents: { defaults: { subagents: { announceDebounce: 0 } } },
      tools: {
        approvals: { rules: [{ tools: ['glob'] }] },
        external: [{ name: 'refund', description: 'Refunds an order.', inputSchema: { type: 'object' } }],
        externalWebhook: receiver.url,
      },
      channels: { webhook: { secret } },
    },
  });
  onEnd(() => opened.close());
  front = await opened.start('api,worker,scheduler');
  api = opened.apiOf(front);
});

test("a subagent's request is shown with the session at the top of its family, and printed by a watch that is running (G36)", async () => {
  const env = { HOLDFAST_API_KEY: apiKey, HOLDFAST_URL: front.url };
  let watch: ChildProcess | undefined;
  let printed = '';
  const watching = runCli(['approvals', 'watch'], {
    env,
    onSpawn(child) {
      watch = child;
      child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    },
  });
  const task = '[[tool: glob {"pattern": "*.md"}]] [[reply: found]]';
  const spawn = `[[tool: sessions_spawn ${JSON.stringify({ task, label: 'searcher' })}]]`;
  await api.send('family', { text: `${spawn} [[tool: sessions_yield {}]] [[reply: never]]` });
  const request = await waitUntil('the subagent asks', SOON_MS, async () => {
    const { body } = await api.ask('GET', '/v1/approvals?status=open');
    return body.items[0] ?? false;
  });
  expect(request).toMatchObject({ tool: 'glob', rootSessionKey: 'agent:main:family' });
  expect(request.sessionKey).toContain('subagent');
  await waitUntil('the watch prints it', SOON_MS, () => printed.includes('"pattern": "*.md"'));
  await runCli(['approvals', 'approve', request.id], { env });
  await waitUntil('the parent receives the end', SOON_MS, async () => {
    const { body } = await api.ask('GET', '/v1/sessions/family/transcript');
    return JSON.stringify(body).includes('searcher');
  });
  watch?.kill('SIGINT');
  const { stderr } = await watching;
  expect(stderr).toContain(`${request.id} open for agent:main:family`);
  expect((await api.ask('GET', `/v1/approvals/${request.id}`)).body.status).toBe('approved');
});

test('a program that receives a signed call sends the result, and the turn ends with it', async () => {
  const message = await api.send('shop', { text: '[[tool: refund {"order": "42"}]] [[reply: refunded]]' });
  const call = await waitUntil('the call arrives', SOON_MS, () => receiver.received.at(0) ?? false);
  const headers = call.headers as Record<string, string>;
  const said = new Webhook(secret).verify(call.rawBody, headers) as { type: string; toolCall: { id: string } };
  expect(said).toMatchObject({ type: 'tool.requested', toolCall: { input: { order: '42' }, status: 'waiting' } });
  const path = `/v1/tool-calls/${said.toolCall.id}/result`;
  expect(await api.ask('POST', path, { content: '19.90 EUR' })).toMatchObject({ status: 200 });
  expect(await api.settled(message)).toMatchObject({ status: 'answered', reply: 'refunded' });
  const { body } = await api.ask('GET', '/v1/sessions/shop/transcript');
  expect(JSON.stringify(body)).toContain('19.90 EUR');
  expect(receiver.received).toHaveLength(1);
});
