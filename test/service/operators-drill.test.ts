// Goal: an operator sees a fault within 10 s, in the overview, the page of a session, `why`, the
// doctor, the readiness, the metrics and the log. Method: a service of real processes on its own
// server, with one fault after the other; each time, every place where an operator looks is
// checked. A full disk: test/service/full-disk.test.ts.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { expect, test } from 'vitest';
import { countingServer } from '../features/mcp/mcp-rig.ts';
import { runCli } from '../cli/run-cli.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { namedMetrics } from '../docs/metric-names.ts';
import { codeBlocks, readPage } from '../docs/read-page.ts';
import { startTestPostgres } from '../servers/postgres.ts';
import { isRedisWanted, startTestRedis } from '../servers/redis.ts';
import { isFullForm } from '../servers/test-form.ts';
import { startReceiver } from './rig/webhook-receiver.ts';
import { apiKey, busyMachineMs, openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';

const SEEN_MS_MAX = 10_000;
const CRON = {
  name: 'later',
  schedule: { kind: 'at', at: '2099-01-01T00:00:00Z' },
  payload: { kind: 'systemEvent', text: 'x' },
};

async function scrape(url: string, headers: Record<string, string> = {}): Promise<string> {
  return await (await fetch(url, { headers })).text();
}

/** Where a process without the API serves its metrics. */
function metricsOf(process: RunningProcess): string {
  const url = /^metrics +(http\S+)$/m.exec(process.output())?.[1];
  if (url === undefined) throw new Error(`no metrics: ${process.output()}`);
  return url;
}

/** The value of a series in a scrape; null: there is none. */
function valueOf(text: string, series: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
}

/** The statements of the runbook, with a process id for that of the example. */
async function runSqlOfRunbook(rig: ServiceRig, pid: number): Promise<void> {
  const blocks = codeBlocks(readPage('docs/runbooks.md')).filter(({ language }) => language === 'sql');
  const statements = blocks.flatMap(({ code }) => code.replace('1234', String(pid)).split(/;\n/));
  expect(statements.length).toBeGreaterThan(2);
  for (const statement of statements) await rig.rows(statement);
}

async function openDrill(rig: ServiceRig) {
  const env = { HOLDFAST_METRICS_PORT: '0' };
  const [serving, worker, scheduler] = await Promise.all([
    rig.start('api'),
    rig.start('worker', { env }),
    rig.start('scheduler', { env }),
  ]);
  const api = rig.apiOf(serving);
  const places = {
    scrape: () => scrape(`${serving.url}/metrics`, { authorization: `Bearer ${apiKey}` }),
    metric: async (series: string) => valueOf(await places.scrape(), series),
    readiness: async () => (await api.ask('GET', '/readyz')).body,
    async doctor(code: string): Promise<{ status: string; reason: string }> {
      const { stdout } = await runCli(['doctor', '--json'], {
        cwd: rig.dataDir,
        env: { HOLDFAST_PORT: '0', DATABASE_URL: rig.databaseUrl },
      });
      const { checks } = JSON.parse(stdout) as { checks: { code: string; status: string; reason: string }[] };
      return checks.find((check) => check.code === code) ?? { status: 'absent', reason: stdout };
    },
    logged: (trouble: string) =>
      rig.logs.some((line) => line.includes('"Service is impaired"') && line.includes(`"trouble":"${trouble}"`)),
  };
  /** The page of a session and `why` say what it waits for. */
  async function expectWaits(session: string, code: string): Promise<void> {
    await waitUntil(`the session ${session} waits: ${code}`, busyMachineMs, async () => {
      const { body } = await api.ask('GET', `/v1/sessions/${session}`);
      return body.why?.code === code;
    });
    const why = await runCli(['why', session], {
      cwd: rig.dataDir,
      env: { HOLDFAST_URL: serving.url, HOLDFAST_API_KEY: apiKey },
    });
    expect(why.stdout).toContain(`(${code})`);
  }

  /**
   * Every place where an operator looks names the fault. `note`: the service works, and the
   * readiness says so beside it.
   */
  async function expectSeen(
    kind: string,
    check: string,
    { severity = 'error', note }: { severity?: string; note?: string } = {},
  ): Promise<string> {
    const brokenAt = performance.now();
    await waitUntil(`the readiness names ${kind}`, busyMachineMs, async () => {
      const { troubles, notes } = await places.readiness();
      return note === undefined ? troubles.includes(kind) : notes.some((one: string) => one.startsWith(note));
    });
    await waitUntil(`the log names ${kind}`, busyMachineMs, async () => places.logged(kind));
    // An answer may be a second old.
    await waitUntil(`the list for operators names ${kind}`, busyMachineMs, async () => {
      const { items } = (await api.ask('GET', '/v1/attention')).body as { items: { kind: string }[] };
      return items.some((item) => item.kind === kind);
    });
    const seenMs = performance.now() - brokenAt;
    if (isFullForm()) expect(seenMs).toBeLessThan(SEEN_MS_MAX);
    expect(await places.metric(`holdfast_troubles{kind="${kind}"}`)).toBeGreaterThan(0);
    expect((await places.readiness()).status).toBe(note === undefined ? 'degraded' : 'ready');
    const { status, reason } = await places.doctor(check);
    expect(status).toBe(severity);
    return reason;
  }
  /** A command of an operator, as it prints. */
  async function run(...args: string[]): Promise<string> {
    const env = { HOLDFAST_URL: serving.url, HOLDFAST_API_KEY: apiKey };
    return (await runCli(args, { cwd: rig.dataDir, env })).stdout;
  }
  return { api, look: places, expectSeen, expectWaits, run, worker, scheduler };
}

test('an operator sees within 10 s that a worker, the scheduler or the model is down, that a lane is paused, that a webhook fails, or that a transaction holds back events', async ({
  onTestFinished,
}) => {
  const postgres = await startTestPostgres();
  onTestFinished(() => postgres.stop());
  const rig = await openServiceRig({ queue: 'postgres', databaseUrl: await postgres.createDatabase('drill') });
  onTestFinished(() => rig.close());
  const { api, look: places, expectSeen, expectWaits, worker, scheduler } = await openDrill(rig);
  const first = await api.send('main', { text: '[[tool: http_effect {"key":"1"}]] [[reply: hello]]' });
  expect(await api.settled(first)).toMatchObject({ status: 'answered' });

  // Measured before any fault, in a process without an API. It counts a turn after the turn's end
  // is stored.
  const healthy = await waitUntil('the worker has counted the turn', busyMachineMs, async () => {
    const text = await scrape(metricsOf(worker));
    const ended = 'holdfast_turns_ended_total{status="completed",kind="message",lane="main",code=""}';
    return valueOf(text, ended) === 1 && text;
  });
  expect(valueOf(healthy, 'holdfast_tool_calls_total{tool="http_effect",status="done"}')).toBe(1);
  expect(healthy).toMatch(/^holdfast_model_calls_total\{model="[^"]+",tier="standard",status="ok"\} 2$/m);
  expect(healthy).toMatch(/^holdfast_statement_duration_seconds_count\{name="claim"\} [1-9]/m);
  expect(healthy).not.toContain('agent:main:main');
  const scrapes = [healthy, await scrape(metricsOf(scheduler)), await places.scrape()].join('\n');
  for (const file of ['docs/alerts.yml', 'docs/grafana/holdfast.json'])
    expect(
      namedMetrics(readPage(file)).filter((name) => !scrapes.includes(`# TYPE ${name} `)),
      file,
    ).toEqual([]);
  expect(await scrape(metricsOf(scheduler).replace('/metrics', '/healthz'))).toBe('{"status":"ok"}');
  await waitUntil('all is well', busyMachineMs, async () => (await places.readiness()).status === 'ready');
  expect((await places.readiness()).troubles).toEqual([]);

  // An abandoned transaction, in another database of the server.
  const client = new pg.Client({
    connectionString: postgres.url,
    application_name: 'abandoned',
  });
  // The runbook's statement ends it.
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  await client.query('select pg_current_xact_id()');
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  expect(await expectSeen('events_held', 'transactions')).toContain(
    `session ${rows[0]!.pid} in the database postgres (abandoned)`,
  );
  const series = 'holdfast_oldest_transaction_seconds{database="postgres",application="abandoned"}';
  expect(await places.metric(series)).toBeGreaterThan(0);
  await runSqlOfRunbook(rig, rows[0]!.pid);
  await waitUntil('all is well again', busyMachineMs, async () => (await places.readiness()).status === 'ready');

  // A lane that is paused.
  expect((await api.ask('POST', '/v1/pause', { lane: 'main', reason: 'a drill' })).status).toBe(200);
  const paused = await api.send('paused', { text: '[[reply: later]]' });
  expect(await expectSeen('paused', 'pauses', { severity: 'warning' })).toContain(
    'The lane main is paused by an operator',
  );
  await expectWaits('paused', 'paused');
  expect((await api.ask('POST', '/v1/resume', { lane: 'main' })).status).toBe(200);
  expect(await api.settled(paused)).toMatchObject({ status: 'answered' });
  await waitUntil('all is well once more', busyMachineMs, async () => (await places.readiness()).status === 'ready');

  // A receiver of webhooks.
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  receiver.answer(500);
  const reply = await api.send('unheard', { text: '[[reply: hello]]', deliver: { url: receiver.url } });
  const host = new URL(receiver.url).host;
  expect(await expectSeen('deliveries_failing', 'deliveries', { severity: 'warning' })).toContain(
    `1 delivery to webhook ${host} has failed`,
  );
  await expectWaits('unheard', 'delivery_retried');
  const { body: unheard } = await api.ask('GET', '/v1/sessions/unheard');
  expect(unheard.why).toMatchObject({ code: 'delivery_retried', by: 'webhook', text: expect.stringContaining('500') });
  const retried = 'holdfast_deliveries_total{status="retried"}';
  await waitUntil('the worker counts the attempt', busyMachineMs, async () => {
    return (valueOf(await scrape(metricsOf(worker)), retried) ?? 0) > 0;
  });
  expect(await api.settled(reply)).toMatchObject({ status: 'answered' });
  receiver.answer(200);
  const { items: undelivered } = (await api.ask('GET', '/v1/deliveries?session=unheard')).body;
  expect(undelivered).toMatchObject([{ lastStatus: 500 }]);
  await waitUntil(
    'all is well after the webhook',
    busyMachineMs,
    async () => (await places.readiness()).status === 'ready',
  );

  // The model.
  await rig.model.close();
  const parked = await api.send('main', { text: 'are you there?' });
  await waitUntil('the message says why it waits', busyMachineMs, async () => {
    const { body } = await api.ask('GET', `/v1/messages/${parked.id}`);
    return body.why?.code === 'model_away';
  });
  expect(await expectSeen('model_away', 'provider')).toContain('The provider anthropic does not answer; 1 turn waits');
  await expectWaits('main', 'model_away');
  const { count, items } = (await api.ask('GET', '/v1/waiting')).body;
  expect({ count, items }).toMatchObject({ count: 1, items: [{ id: parked.id, why: { code: 'model_away' } }] });
  expect(await places.metric('holdfast_lane_oldest_wait_seconds{lane="main",code="model_away"}')).toBeGreaterThan(0);
  await waitUntil('the log says so', busyMachineMs, () => rig.logs.some((line) => line.includes('Model call failed')));
  expect(await scrape(metricsOf(worker))).toMatch(
    /^holdfast_model_call_failures_total\{model="[^"]+",code="[^"]+"\} [1-9]/m,
  );

  // The worker and the scheduler.
  expect((await api.ask('POST', '/v1/crons', CRON)).status).toBe(201);
  await Promise.all([worker.end('SIGKILL'), scheduler.end('SIGKILL')]);
  const waiting = await api.send('other', { text: 'hello' });
  const [unserved, unscheduled] = await Promise.all([
    expectSeen('no_worker', 'workers'),
    expectSeen('no_scheduler', 'scheduler'),
  ]);
  expect(unserved).toContain('No worker serves the lane main');
  expect(unscheduled).toContain('No scheduler is running');
  expect((await api.ask('GET', `/v1/messages/${waiting.id}`)).body.why).toMatchObject({ code: 'no_worker' });
});

test('an operator sees within 10 s that all workers are frozen, and that the database is away', async ({
  onTestFinished,
}) => {
  const postgres = await startTestPostgres();
  onTestFinished(() => postgres.stop());
  const rig = await openServiceRig({ queue: 'postgres', databaseUrl: await postgres.createDatabase('drill') });
  onTestFinished(() => rig.close());
  const { api, look: places, expectSeen, expectWaits, worker } = await openDrill(rig);
  const gate = rig.gate();
  const running = await api.send('frozen', { text: `${gate.call} [[reply: done]]` });
  await waitUntil('the turn runs', busyMachineMs, async () => {
    const { body } = await api.ask('GET', `/v1/messages/${running.id}`);
    return body.status === 'claimed';
  });
  worker.child.kill('SIGSTOP');
  expect(await expectSeen('no_worker', 'workers')).toContain('No worker serves the lane main');
  await expectWaits('frozen', 'no_worker');
  const { body: message } = await api.ask('GET', `/v1/messages/${running.id}`);
  expect(message).toMatchObject({ status: 'claimed', why: { code: 'no_worker' } });
  expect((await api.ask('GET', `/v1/turns/${message.turnId}`)).body.why).toMatchObject({ code: 'no_worker' });
  gate.open();
  worker.child.kill('SIGCONT');
  expect(await api.settled(running)).toMatchObject({ status: 'answered', reply: 'done' });

  // It is looked after several times a second, which fails now.
  const background = '[[tool: exec {"command": "sleep 600", "background": true}]] [[reply: started]]';
  expect(await api.settled(await api.send('frozen', { text: background }))).toMatchObject({ reply: 'started' });

  // The overview and the page of a session need the database: they say that it is away. The
  // dashboard's own page: test/browser/outage.test.ts.
  await postgres.stop();
  const brokenAt = performance.now();
  await waitUntil('the readiness names the database', busyMachineMs, async () => {
    const { dependencies } = await places.readiness();
    return dependencies.some(
      ({ name, status }: { name: string; status: string }) => name === 'database' && status === 'failed',
    );
  });
  await waitUntil('the log names the database', busyMachineMs, () =>
    rig.logs.some((line) => line.includes('"dependency":"database"')),
  );
  if (isFullForm()) expect(performance.now() - brokenAt).toBeLessThan(SEEN_MS_MAX);
  for (const path of ['/v1/overview', '/v1/attention', '/v1/sessions/frozen'])
    expect(await api.ask('GET', path)).toMatchObject({ status: 503, body: { code: 'database_unavailable' } });
  expect(await places.metric('holdfast_database_up')).toBe(0);
  expect(await places.metric('holdfast_dependency_up{dependency="database"}')).toBe(0);
  expect((await places.doctor('database')).status).toBe('error');
  expect(rig.logs.filter((line) => line.includes('"stack"'))).toEqual([]);
});

test('an operator sees within 10 s that a server of tools is away or refuses a token, and which calls may have taken effect', async ({
  onTestFinished,
}) => {
  const counting = await countingServer();
  onTestFinished(() => counting.remove());
  const port = await counting.listen();
  const shop = { url: `http://127.0.0.1:${port}/mcp` };
  const guard = createServer((_, response) => response.writeHead(401).end());
  guard.listen(0, '127.0.0.1');
  await once(guard, 'listening');
  onTestFinished(() => void guard.close());
  const locked = { url: `http://127.0.0.1:${(guard.address() as AddressInfo).port}/mcp`, auth: { token: 'expired' } };
  const rig = await openServiceRig({ queue: 'postgres', config: { mcp: { servers: { shop, locked } } } });
  onTestFinished(() => rig.close());
  const { api, look: places, expectSeen, run } = await openDrill(rig);

  // A token that its server refuses.
  expect(await expectSeen('mcp_lost', 'mcp', { note: '1 MCP server cannot be used' })).toContain('401');
  const refund = '[[tool: shop__add {"fault":"none"}]] [[reply: done]]';
  expect(await api.settled(await api.send('paid', { text: refund }))).toMatchObject({ status: 'answered' });
  expect(await run('why', 'paid')).toBe('session agent:main:paid does not wait: it is idle\n');

  // Its outcome is unknown: the server dies after the call has begun. It runs again at once.
  await api.settled(await api.send('doubtful', { text: refund.replace('none', 'die') }));
  const seen = expectSeen('calls_unknown', 'calls', { note: '1 call has an unknown outcome' });
  expect(await seen).toContain('may or may not have taken effect');
  expect(await places.metric('holdfast_unknown_calls')).toBe(1);
  expect(await run('turns', 'list', '--call-status', 'unknown', '--tool', 'shop__add')).toMatch(
    /shop__add +\S*die\S* +doubtful/,
  );
  expect(await run('why', 'doubtful')).toMatch(/^shop__add \(unknown\): outcome unknown: .*\nCheck what the calls/m);

  // The server stays away.
  await api.settled(await api.send('refused', { text: refund }));
  const reason = await expectSeen('mcp_lost', 'mcp', { note: '2 MCP servers cannot be used' });
  expect(reason).toContain('ECONNREFUSED');
  expect(await places.metric('holdfast_mcp_server_up{server="shop"}')).toBe(0);
  expect(await places.metric('holdfast_mcp_servers{state="lost"}')).toBe(2);
  expect(await run('why', 'refused')).toMatch(/^shop__add \(failed\): .*the MCP server shop cannot be reached/m);

  // What ends a problem: the server answers again, and a person acknowledges the call.
  await counting.listen(port);
  const { items } = (await api.ask('GET', '/v1/attention')).body as { items: { id: string; kind: string }[] };
  const unknown = items.find(({ kind }) => kind === 'calls_unknown');
  expect(await run('attention', 'acknowledge', unknown?.id ?? '', '--reason', 'paid once')).toContain('acknowledged: ');
  await waitUntil('only the token is left', busyMachineMs, async () =>
    (await places.readiness()).notes.join().startsWith('1 MCP server cannot be used'),
  );
  expect(await places.metric('holdfast_mcp_server_up{server="shop"}')).toBe(1);
  expect((await places.doctor('mcp')).reason).not.toContain('shop');
  expect((await places.doctor('calls')).status).toBe('ok');
});

test.runIf(isRedisWanted())('an operator sees within 10 s that the queue is away', async ({ onTestFinished }) => {
  const redis = await startTestRedis();
  onTestFinished(() => redis.stop());
  const rig = await openServiceRig({ queue: 'postgres', env: { REDIS_URL: redis.url } });
  onTestFinished(() => rig.close());
  const { api, look: places, expectSeen } = await openDrill(rig);
  expect(await api.settled(await api.send('queue', { text: '[[reply: yes]]' }))).toMatchObject({ status: 'answered' });
  await redis.stop();
  expect(await expectSeen('queue_unreachable', 'queue', { severity: 'warning' })).toContain('cannot reach the queue');
  const { items } = (await api.ask('GET', '/v1/attention')).body as { items: { kind: string }[] };
  expect(
    items.filter(({ kind }) => kind === 'dependency'),
    'that is the same cause',
  ).toEqual([]);
  expect(await places.metric('holdfast_dependency_up{dependency="queue"}')).toBe(0);
  // Workers find due sessions without the queue, so a message hardly waits; one that does names it
  // (test/store/waiting.test.ts).
  expect(await api.settled(await api.send('queue', { text: '[[reply: yes]]' }))).toMatchObject({ status: 'answered' });
});
