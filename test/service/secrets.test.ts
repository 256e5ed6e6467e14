// Goal: no secret that the service was given is in anything that it writes or answers (G31).
// Method: a canary in every place where a secret can be configured; a service of separate processes
// with all its logs on goes through success and failures; then everything that it printed, stored,
// answered and sent is searched.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readDeadLetters } from '../rows/dead-letters.ts';
import { readDeliveries } from '../rows/deliveries.ts';
import { readEvents } from '../rows/events.ts';
import { not } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { startCollector, type Collector } from '../features/traces/collector.ts';
import { openServiceApi, type ServiceApi } from './rig/service-api.ts';
import { openServiceRig, queues, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';
import { startReceiver, type WebhookReceiver } from './rig/webhook-receiver.ts';

const soonMs = 150_000;

function canary(): string {
  return `canary${randomBytes(12).toString('hex')}`;
}

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  const webhookKey = randomBytes(24).toString('base64');
  const secrets = {
    adminKey: canary(),
    otherKey: canary(),
    modelKey: canary(),
    modelHeader: canary(),
    webhookSecret: `whsec_${webhookKey}`,
    databasePassword: canary(),
    displaySecret: canary(),
    environment: canary(),
    collectorKey: canary(),
  };
  /** The operator's own receiver requires it: it may be stored in deliveries, which need it. */
  const receiverPassword = canary();
  const guardedUrl = ({ url }: WebhookReceiver): string => url.replace('http://', `http://user:${receiverPassword}@`);
  let rig: ServiceRig;
  let receiver: WebhookReceiver;
  let collector: Collector;
  let front: RunningProcess;
  let api: ServiceApi;
  const answers: string[] = [];
  let living: Promise<void> | undefined;
  let misusing: Promise<void> | undefined;

  shareAmongTests(async (onEnd) => {
    const testDatabase = await withTestDatabase();
    onEnd(() => testDatabase.drop());
    const databaseUrl = new URL(testDatabase.url);
    databaseUrl.password = secrets.databasePassword;
    const started = await startReceiver();
    onEnd(() => started.close());
    const collecting = await startCollector();
    onEnd(() => collecting.close());
    const opened = await openServiceRig({
      queue,
      databaseUrl: databaseUrl.toString(),
      config: {
        models: { providers: { anthropic: { headers: { 'x-gateway-key': secrets.modelHeader }, maxRetries: 1 } } },
        channels: { webhook: { url: guardedUrl(started), secret: secrets.webhookSecret, timeoutMs: 1_000 } },
        api: { keys: [{ name: 'other', key: secrets.otherKey }] },
        owner: { display: 'hash', displaySecret: secrets.displaySecret },
        telemetry: { content: true },
      },
      env: {
        HOLDFAST_LOG_LEVEL: 'trace',
        HOLDFAST_API_KEY: secrets.adminKey,
        ANTHROPIC_API_KEY: secrets.modelKey,
        SOME_SERVICE_TOKEN: secrets.environment,
        OTEL_EXPORTER_OTLP_ENDPOINT: collecting.url,
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secrets.collectorKey}`,
      },
    });
    onEnd(() => opened.close());
    [rig, receiver, collector, living, misusing] = [opened, started, collecting, undefined, undefined];
    answers.length = 0;
    [front] = await Promise.all([rig.start('api'), rig.start('worker'), rig.start('scheduler')]);
    const asked = openServiceApi(front.url, secrets.adminKey);
    api = {
      ...asked,
      async ask(...of) {
        const answer = await asked.ask(...of);
        answers.push(JSON.stringify([...answer.headers]) + JSON.stringify(answer.body));
        return answer;
      },
    };
  });

  /** Sends a message and reads everything that the API returns about it. */
  async function talk(session: string, text: string, fields: object = {}): Promise<void> {
    const { id } = (await api.ask('POST', `/v1/sessions/${session}/messages`, { text, ...fields })).body.message;
    const { turnId } = await waitUntil(`message ${id} is settled`, soonMs, async () => {
      const { body } = await api.ask('GET', `/v1/messages/${id}`);
      return body.settledAt !== null && body;
    });
    for (const path of [
      `/v1/sessions/${session}`,
      `/v1/sessions/${session}/transcript?state=all`,
      `/v1/turns/${turnId}`,
      `/v1/turns/${turnId}/requests/1`,
      `/v1/turns/${turnId}/events`,
    ])
      expect((await api.ask('GET', path)).status).toBe(200);
  }

  async function live(): Promise<void> {
    const exec = (command: string): string => `[[tool: exec ${JSON.stringify({ command })}]]`;
    await talk(
      'good',
      `${exec('env; set; export -p; cat /proc/self/environ /proc/$PPID/environ /proc/$PPID/cmdline | tr "\\\\0" "\\\\n"')} [[reply: That is all.]]`,
      {
        deliver: { url: receiver.url },
      },
    );
    await talk(
      'curious',
      '[[tool: read {"path": "../holdfast.json"}]] [[tool: glob {"pattern": "../*"}]] [[reply: No.]]',
    );
    await talk('refused', '[[error: 401 message="invalid x-api-key"]]');
    await talk('unlucky', '[[cut: after=2 times=always]]');
    await talk('nowhere', '[[reply: Hello?]]', { deliver: { url: 'http://127.0.0.1:1/' } });
    await talk('guarded', '[[reply: Knock.]]');
    const deliver = { url: guardedUrl(receiver) };
    const refused = await api.ask('POST', '/v1/sessions/guarded/messages', { text: 'x', deliver });
    expect(refused.status).toBe(400);
    answers.push(JSON.stringify(refused.body));
    await waitUntil('every delivery was tried', soonMs, async () => {
      const { items } = (await api.ask('GET', '/v1/deliveries')).body;
      return items.length === 6 && items.every((item: { attempts: number }) => item.attempts > 0);
    });
    await rig.rows(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'holdfast%'`);
    await talk('after', '[[reply: Still here.]]');
  }

  async function misuse(): Promise<void> {
    const stranger = openServiceApi(front.url, `${secrets.adminKey}x`);
    const strange = await stranger.ask('GET', '/v1/sessions');
    expect(strange.status).toBe(401);
    answers.push(JSON.stringify(strange.body));
    expect((await api.ask('GET', `/v1/turns?key=${secrets.adminKey}`)).status).toBe(400);
    expect((await api.ask('GET', `/v1/events?after=${secrets.otherKey}`)).status).toBe(400);
    const body = { text: 'x', authorization: secrets.adminKey };
    expect((await api.ask('POST', '/v1/sessions/wrong/messages', body)).status).toBe(400);
    const headers = { 'idempotency-key': 'a b', 'x-api-key': secrets.adminKey };
    expect((await api.ask('POST', '/v1/sessions/wrong/messages', { text: 'x' }, headers)).status).toBe(400);
    for (const path of ['/readyz', '/metrics', '/openapi.json', '/', '/v1/stats', '/v1/dead-letters', '/v1/deliveries'])
      expect((await api.ask('GET', path)).status).toBe(200);
  }

  // Each runs once, for the first test that needs it.
  const lived = (): Promise<void> => (living ??= live());
  const misused = (): Promise<void> => (misusing ??= misuse());

  test('a service that has good and bad days', () => lived());

  test('shows none to commands through the environment or the arguments of a process (G31)', async () => {
    const shown = await Promise.all(
      ['environ', 'cmdline'].map((file) => readFile(`/proc/${front.child.pid}/${file}`, 'utf8')),
    );
    expect(shown.join()).toContain('bin.mjs');
    expect(Object.entries(secrets).filter(([, secret]) => shown.join().includes(secret))).toEqual([]);
  });

  test('and clients with mistakes', () => misused());

  /** The traces of all turns have arrived: they are exported after the turns have ended. */
  async function traces(): Promise<string[]> {
    const turns = await readTurns(rig, { endedAt: not(null) }, 'id');
    const traced = (): unknown[] =>
      [...collector.spans.values()].map(({ attributes }) => attributes['holdfast.turn.id']);
    await waitUntil('every turn has a trace', soonMs, () => turns.every(({ id }) => traced().includes(id)));
    return [...collector.spans.values()].map((span) => JSON.stringify(span));
  }

  test('write no secret into a log, a row, an answer, a request, a trace or a webhook (G31)', async () => {
    await lived();
    await misused();
    const tables = await rig.rows<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('holdfast', 'bullmq')`,
    );
    const rows: string[] = [];
    for (const { name } of tables) {
      const found = await rig.rows<{ row: string }>(`select to_json(t)::text as row from ${name} t`);
      rows.push(...found.map(({ row }) => `${name} ${row}`));
    }
    const places = {
      logs: rig.logs,
      rows,
      answers,
      requests: rig.model.requests.map((request) => JSON.stringify(request)),
      traces: await traces(),
      webhooks: receiver.received.map((webhook) => JSON.stringify(webhook)),
    };
    for (const lines of Object.values(places)) expect(lines.length).toBeGreaterThan(0);
    // The command did print its environment, and the log did report the lost connections.
    expect(rows.some((row) => row.includes('HOLDFAST_IDEMPOTENCY_KEY'))).toBe(true);
    expect(rig.logs.some((line) => line.includes('The database is unavailable'))).toBe(true);
    const forms = Object.entries({ ...secrets, webhookKey }).flatMap(([name, secret]) =>
      [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').replace(/=+$/, '')].map(
        (form) => [name, form] as const,
      ),
    );
    const leaks = Object.entries(places).flatMap(([place, lines]) =>
      forms.flatMap(([name, form]) =>
        lines.filter((line) => line.includes(form)).map((line) => `${name} in ${place}: ${line.slice(0, 300)}`),
      ),
    );
    expect(leaks).toEqual([]);
  });

  test('never show the password in the address of a receiver (G31)', async () => {
    await lived();
    await misused();
    const stored = [await readDeliveries(rig, {}, 'lastError'), await readDeadLetters(rig), await readEvents(rig)];
    const shown = [...rig.logs, ...answers, ...stored.flat().map((row) => JSON.stringify(row))];
    expect(shown.filter((line) => line.includes(receiverPassword))).toEqual([]);
    const [webhook] = receiver.received.filter(({ body }) => body.text === 'Knock.');
    const credentials = Buffer.from(`user:${receiverPassword}`).toString('base64');
    expect(webhook?.headers.authorization).toBe(`Basic ${credentials}`);
  });
});
