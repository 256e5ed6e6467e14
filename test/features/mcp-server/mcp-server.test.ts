// Holdfast as an MCP server, as real clients of the protocol's libraries use it.
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { connect } from './connect.ts';

const VIEWER_KEY = 'hf_viewer_key_of_the_tests';
const holder = useApiRig({
  isOneProcess: true,
  keys: [{ name: 'watch', key: VIEWER_KEY, role: 'viewer' }],
});

const open = async (kind: Parameters<typeof connect>[0], key = ADMIN_KEY) =>
  connect(kind, `${await holder.rig.listen()}/mcp`, key);

let count = 0;
const newSession = (): string => `mcp-${(count += 1)}`;

const ALL = [
  'send_message',
  'read_session',
  'spawn_subagent',
  'list_crons',
  'create_cron',
  'submit_batch',
  'batch_status',
];

describe.each(['2026', '2025', 'sdk'] as const)('a client of the kind %s', (kind) => {
  test('lists the tools, sends a message once however often it calls, waits for the reply, and reads the session (G2)', async () => {
    const client = await open(kind);
    if (kind !== 'sdk') expect(client.protocol()).toBe(kind === '2026' ? '2026-07-28' : '2025-11-25');
    expect((await client.listTools()).map(({ name }) => name)).toEqual(ALL);

    const sessionKey = newSession();
    const message = { sessionKey, text: 'Is it out? [[reply: Yes.]]', idempotencyKey: randomUUID() };
    const stored = await client.call('send_message', message);
    expect(stored.structuredContent).toMatchObject({ disposition: 'queued', message: { status: 'waiting' } });
    expect(JSON.parse(stored.content[0]!.text)).toEqual(stored.structuredContent);

    const answering = client.call('send_message', { ...message, waitSeconds: 20 });
    await holder.rig.work(sessionKey);
    const answered = await answering;
    expect(answered).toMatchObject({ _meta: { 'holdfast/idempotentReplayed': true } });
    expect(answered.structuredContent).toMatchObject({
      reply: 'Yes.',
      message: { id: stored.structuredContent.message.id, status: 'answered' },
    });

    const read = await client.call('read_session', { sessionKey });
    expect(read.structuredContent).toMatchObject({
      session: { key: `agent:main:${sessionKey}`, status: 'idle' },
      items: [{ kind: 'answer' }, { kind: 'prompt' }],
    });
  });
});

test('each tool that changes something does it once for its key, in the input or in _meta (G2)', async () => {
  const client = await open('2026');
  const sessionKey = newSession();
  await client.call('send_message', { sessionKey, text: 'hello' });
  const calls = {
    send_message: { sessionKey, text: 'again' },
    spawn_subagent: { sessionKey, task: 'Count to three.' },
    create_cron: {
      name: 'report',
      schedule: { kind: 'cron', expr: '0 9 * * 1-5', tz: 'Europe/Berlin' },
      payload: { kind: 'agentTurn', message: 'Write the report.' },
    },
    submit_batch: { name: 'two', items: [{ text: 'one' }, { text: 'two' }] },
  };
  const idOf = ({ message, runId, id }: { message?: { id: string }; runId?: string; id?: string }) =>
    message?.id ?? runId ?? id;
  for (const [name, input] of Object.entries(calls)) {
    const key = randomUUID();
    const first = await client.call(name, { ...input, idempotencyKey: key });
    const again = await client.call(name, input, { 'holdfast/idempotencyKey': key });
    const other = await client.call(name, input, { 'holdfast/idempotencyKey': randomUUID() });
    expect([first, again, other].map(({ isError }) => isError ?? false)).toEqual([false, false, false]);
    expect(idOf(first.structuredContent)).toBe(idOf(again.structuredContent));
    expect(again._meta).toMatchObject({ 'holdfast/idempotentReplayed': true });
    expect(idOf(other.structuredContent)).not.toBe(idOf(first.structuredContent));
    const changed = await client.call(name, { ...input, tags: { a: 'b' }, idempotencyKey: key });
    expect(changed).toMatchObject({ isError: true, structuredContent: { code: 'idempotency_mismatch', status: 422 } });
  }
  const crons = await client.call('list_crons', { limit: 1 });
  expect(crons.structuredContent).toMatchObject({ items: [{ name: 'report' }], nextCursor: expect.any(String) });
  const batch = await client.call('submit_batch', calls.submit_batch);
  const status = await client.call('batch_status', { batchId: batch.structuredContent.id });
  expect(status.structuredContent).toMatchObject({ name: 'two', counts: { total: 2 } });
});

test('a call and the request of the same route share keys, answers and the audit log', async () => {
  const client = await open('sdk');
  const sessionKey = newSession();
  const key = randomUUID();
  const called = await client.call('send_message', { sessionKey, text: 'hello', idempotencyKey: key });
  const sent = await holder.rig.post(
    `/v1/sessions/${sessionKey}/messages`,
    { text: 'hello' },
    { 'idempotency-key': key },
  );
  expect(sent.headers['idempotent-replayed']).toBe('true');
  expect(sent.body).toEqual(called.structuredContent);
  const cron = {
    name: newSession(),
    schedule: { kind: 'every', everyMs: 3_600_000 },
    payload: { kind: 'systemEvent', text: 'x' },
  };
  const { structuredContent: made } = await client.call('create_cron', cron);
  const { body: audit } = await holder.rig.get('/v1/audit?limit=1');
  expect(audit.items).toMatchObject([{ action: 'createCron', target: `/v1/crons/${made.id}` }]);
});

test('what the API refuses is a result with the words of the API', async () => {
  const client = await open('2026');
  const refused = async (name: string, input: object) => {
    const { isError, content, structuredContent } = await client.call(name, input);
    expect(isError).toBe(true);
    return `${structuredContent.status} ${content[0]!.text}`;
  };
  expect(await refused('send_message', { sessionKey: 'a b', text: 'x' })).toMatch(
    /^400 .*session key.*\(invalid_session_key\)/s,
  );
  expect(await refused('send_message', { text: 'x' })).toBe(
    '400 sessionKey: expected a text that is not empty. (invalid_body)',
  );
  expect(await refused('send_message', { sessionKey: 'a', txt: 'x' })).toMatch(/txt: unknown field/);
  expect(await refused('send_message', { sessionKey: 'a', text: 'x', idempotencyKey: 7 })).toMatch(
    /Idempotency-Key: 1 to 200/,
  );
  expect(await refused('send_message', { sessionKey: 'a', text: 'x', waitSeconds: -1 })).toMatch(/^400 waitSeconds/);
  expect(await refused('read_session', { sessionKey: 'never' })).toMatch(/^404 There is no session agent:main:never/);
  expect(await refused('list_crons', { idempotencyKey: 'x' })).toMatch(/idempotencyKey: unknown field/);
  expect(await refused('batch_status', { batchId: 'x' })).toMatch(/^404/);
  await expect(client.call('remove_everything')).rejects.toThrow(/There is no tool "remove_everything"/);
});

test('a key with the role viewer reads, and can send nothing', async () => {
  const client = await open('2026', VIEWER_KEY);
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['read_session', 'list_crons', 'batch_status']);
  expect(await client.call('list_crons')).not.toHaveProperty('isError', true);
  const sessionKey = newSession();
  expect(await client.call('send_message', { sessionKey, text: 'x' })).toMatchObject({
    isError: true,
    structuredContent: { code: 'forbidden', detail: expect.stringContaining('has the role viewer') },
  });
  expect((await holder.rig.get(`/v1/sessions/${sessionKey}`)).status).toBe(404);
  await expect(open('2026', 'wrong')).rejects.toThrow(/401|key/i);
});

test('the head and the body of a message are held to the rules of every request', async () => {
  const { rig } = holder;
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const headers = { accept: 'application/json, text/event-stream' };
  expect((await rig.post('/mcp', ping, headers)).status).toBe(200);
  expect((await rig.post('/mcp', ping, { ...headers, host: 'evil.example' })).status).toBe(421);
  expect((await rig.post('/mcp', ping, { ...headers, origin: 'http://evil.example' })).body).toMatchObject({
    code: 'forbidden',
  });
  expect((await rig.post('/mcp', [ping], headers)).body).toMatchObject({ code: 'invalid_body' });
  expect((await rig.post('/mcp', { ...ping, params: { text: 'x'.repeat(2_000_000) } }, headers)).status).toBe(413);
  expect((await rig.get('/mcp')).status).toBe(405);
  expect((await rig.ask('DELETE', '/mcp')).status).toBe(405);
});

test('a client that leaves while it waits holds nothing in the service, and its message stays', async () => {
  const { rig } = holder;
  const waiting = async (): Promise<string | undefined> =>
    /^holdfast_waiting_requests (\d+)$/m.exec(String((await rig.get('/metrics')).body))?.[1];
  const sessionKey = newSession();
  const version = '2026-07-28';
  const modern = {
    headers: { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': 'send_message' },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  };
  for (const { headers, _meta } of [modern, { headers: {}, _meta: {} }]) {
    const leaving = new AbortController();
    const params = { name: 'send_message', arguments: { sessionKey, text: 'x', waitSeconds: 60 }, _meta };
    const sent = fetch(`${await rig.listen()}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${ADMIN_KEY}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      signal: leaving.signal,
    }).then(async (response) => await response.text());
    await expect.poll(waiting).toBe('1');
    leaving.abort();
    await expect(sent).rejects.toThrow();
    await expect.poll(waiting).toBe('0');
  }
  expect((await rig.get(`/v1/messages?session=${sessionKey}`)).body.items).toHaveLength(2);
});
