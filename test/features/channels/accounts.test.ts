// The accounts of bots as an operator sees them: over the API, on the command line, in the
// readiness, the metrics and the doctor.
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { testAccount, findAccount } from '../../../src/features/channels/accounts.ts';
import { channelChecks } from '../../../src/features/channels/doctor-checks.ts';
import { messageBody } from '../../../src/features/channels/message-body.ts';
import { runCli } from '../../cli/run-cli.ts';
import { ADMIN_KEY, createApiRig, type ApiRig } from '../../api/api-rig.ts';
import { addChannelAccounts, changeChannelAccounts } from '../../rows/channel-accounts.ts';
import { ahead, now } from '../../rows/table.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

const PLAIN = fileURLToPath(new URL('plain-platform.ts', import.meta.url));

const holder = {} as { rig: ApiRig };
let problems: string[] = [];

shareAmongTests(async (onEnd) => {
  const server = createServer(({ url, headers }, answer) => {
    if (headers.authorization !== 'right') return void answer.writeHead(401).end();
    answer.end(JSON.stringify(url === '/me' ? { id: '99', name: 'plain_bot' } : problems));
  }).listen(0, '127.0.0.1');
  onEnd(() => void server.close());
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const accounts = {
    main: { token: 'right', baseUrl },
    wrong: { token: 'wrong', baseUrl },
    off: { token: 'right', baseUrl, enabled: false },
  };
  holder.rig = await createApiRig(database.url, {
    file: { channels: { plain: { adapter: PLAIN, mode: 'webhook', accounts }, noted: { label: 'Another program' } } },
  });
  onEnd(() => holder.rig.close());
});

const account = (name: string) => ({ channel: 'plain', account: name });
const statesOf = async () => (await holder.rig.get('/v1/channels')).body.items[0].accounts;

test('the enabled accounts of channels with an adapter are listed, with what is known of them', async () => {
  const { rig } = holder;
  expect((await rig.get('/v1/channels')).body.items).toMatchObject([
    {
      name: 'plain',
      mode: 'webhook',
      accounts: [
        { accountId: 'main', state: 'waiting', botId: null, lastReceivedAt: null, lastError: null, waitingParts: 0 },
        { accountId: 'wrong', state: 'waiting' },
      ],
    },
  ]);
  await addChannelAccounts(rig, { ...account('main'), botId: '99', connectedAt: now });
  await addChannelAccounts(rig, { ...account('wrong'), lastError: 'the token is not valid' });
  expect(await statesOf()).toMatchObject([
    { state: 'connected', botId: '99', connectedAt: expect.any(String) },
    { state: 'lost', lastError: 'the token is not valid' },
  ]);
});

test('an account that is lost is a note of the readiness, and keeps the service ready', async () => {
  const { rig } = holder;
  const { status, body } = await rig.get('/readyz');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    status: 'ready',
    notes: expect.arrayContaining(['the platform of plain/wrong is not reached; GET /v1/channels says why']),
  });
  await changeChannelAccounts(rig, { account: 'wrong' }, { leaseExpiresAt: ahead('1 minute') });
  const { items } = (await rig.get('/v1/attention')).body;
  expect(items).toContainEqual(
    expect.objectContaining({
      kind: 'channel_lost',
      text: 'The platform of the bot plain/wrong is not reached: the token is not valid',
    }),
  );
  const metrics = (await rig.get('/metrics')).body as string;
  expect(metrics).toContain('holdfast_channel_accounts{channel="plain",state="lost"} 1');
});

test('an account is paused and resumed, each once per key', async () => {
  const { rig } = holder;
  const paused = await rig.post('/v1/channels/plain/main/pause', {}, { 'idempotency-key': 'pause-1' });
  expect(paused).toMatchObject({ status: 200, body: { channel: 'plain', accountId: 'main', paused: true } });
  expect((await statesOf())[0].state).toBe('paused');
  expect((await rig.post('/v1/channels/plain/main/resume', {})).body.paused).toBe(false);
  expect((await rig.post('/v1/channels/plain/main/pause', {}, { 'idempotency-key': 'pause-1' })).body).toEqual(
    paused.body,
  );
  expect((await statesOf())[0].state).not.toBe('paused');
  for (const path of ['plain/off', 'plain/none', 'noted/main'])
    expect((await rig.post(`/v1/channels/${path}/pause`, {})).status).toBe(404);
});

test.each([
  [{}, false, 'an adapter that does not say whose words they are'],
  [{ isOwnText: false }, false, 'another person'],
  [{ isOwnText: true }, true, 'the sender'],
  [{ isOwnText: true }, false, 'a bot'],
])(
  'a text is the own one of its sender only where the adapter says so, and never of a bot: %j, %s, %s',
  (facts, isOwn, of) => {
    const message = {
      kind: 'message' as const,
      place: { chatId: '1', chatType: 'direct' as const },
      sender: { id: '1', isBot: of === 'a bot' },
      at: 1,
      messageId: '1',
      text: '/stop',
      isForBot: true,
      files: [],
      ...facts,
    };
    const body = messageBody(findAccount(holder.rig.config, 'plain', 'main')!, message, {
      media: [],
      notes: [],
      history: [],
    });
    expect(body).toHaveProperty('text', '/stop');
    expect(body.isOwnText).toBe(isOwn ? undefined : false);
  },
);

test('a test asks the platform who the bot is and what is wrong, and the doctor does the same', async () => {
  const { rig } = holder;
  const ask = async (name: string) => (await rig.post(`/v1/channels/plain/${name}/test`, {})).body;
  expect(await ask('main')).toEqual({ botId: '99', botName: 'plain_bot', error: null, problems: [] });
  problems = ['it cannot read groups: switch its privacy mode off'];
  expect((await ask('main')).problems).toEqual(problems);
  expect(await ask('wrong')).toMatchObject({ botId: null, error: 'the token is not valid' });
  const findings = await Promise.all(channelChecks(rig.config).map((check) => check.run()));
  expect(findings).toEqual([
    { status: 'warning', reason: 'plain_bot (99): 1 problems', fix: problems[0] },
    expect.objectContaining({ status: 'error', reason: 'the token is not valid' }),
  ]);
  const main = findAccount(rig.config, 'plain', 'main')!;
  const unset = {
    ...main,
    account: 'unset',
    settings: { ...main.settings, token: undefined, tokenEnv: 'NOT_SET_ANYWHERE' },
  };
  expect((await testAccount(rig.config, unset as unknown as typeof main)).error).toContain(
    'NOT_SET_ANYWHERE, which is not set',
  );
  problems = [];
});

test('the command line lists, tests, pauses and resumes accounts', async () => {
  const env = { HOLDFAST_URL: await holder.rig.listen(), HOLDFAST_API_KEY: ADMIN_KEY };
  const run = (...args: string[]) => runCli(['channels', ...args], { env });
  const [listed, tested, failed, paused, resumed] = [
    await run('list'),
    await run('test', 'plain'),
    await run('test', 'plain', 'wrong'),
    await run('pause', 'plain'),
    await run('resume', 'plain', 'main'),
  ];
  expect(listed.stdout).toContain('plain/main');
  expect(tested.stdout).toBe('plain/main is plain_bot (99)\n');
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('the token is not valid') });
  expect(paused.stdout).toBe('plain/main is paused\n');
  expect(resumed.stdout).toBe('plain/main reads and sends\n');
});
