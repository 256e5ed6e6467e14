// Goal: an operator sees a fault within 10 s, in the doctor, the readiness, the log, `why` and the metrics. Method: a service of
// real processes on its own server, with one fault after the other; each time, every place where an operator looks is checked.
import pg from 'pg';
import { expect, test } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { namedMetrics } from '../docs/metric-names.ts';
import { codeBlocks, readPage } from '../docs/read-page.ts';
import { startTestPostgres } from '../servers/postgres.ts';
import { isFullForm } from '../servers/test-form.ts';
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
  const look = {
    scrape: () => scrape(`${serving.url}/metrics`, { authorization: `Bearer ${apiKey}` }),
    metric: async (series: string) => valueOf(await look.scrape(), series),
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
  /** Every place where an operator looks names the fault. */
  async function expectSeen(kind: string, check: string): Promise<string> {
    const brokenAt = performance.now();
    await waitUntil(`the readiness names ${kind}`, busyMachineMs, async () =>
      (await look.readiness()).troubles.includes(kind),
    );
    await waitUntil(`the log names ${kind}`, busyMachineMs, async () => look.logged(kind));
    const seenMs = performance.now() - brokenAt;
    if (isFullForm()) expect(seenMs).toBeLessThan(SEEN_MS_MAX);
    expect(await look.metric(`holdfast_troubles{kind="${kind}"}`)).toBeGreaterThan(0);
    expect((await look.readiness()).status).toBe('degraded');
    const { status, reason } = await look.doctor(check);
    expect(status).toBe('error');
    return reason;
  }
  return { api, look, expectSeen, worker, scheduler };
}

test('an operator sees within 10 s that a worker, the scheduler or the model is down, or that a transaction holds back events', async ({
  onTestFinished,
}) => {
  const postgres = await startTestPostgres();
  onTestFinished(() => postgres.stop());
  const rig = await openServiceRig({ queue: 'postgres', databaseUrl: await postgres.createDatabase('drill') });
  onTestFinished(() => rig.close());
  const { api, look, expectSeen, worker, scheduler } = await openDrill(rig);
  const first = await api.send('main', { text: '[[tool: http_effect {"key":"1"}]] [[reply: hello]]' });
  expect(await api.settled(first)).toMatchObject({ status: 'answered' });

  // Measured before any fault, in a process without an API. It counts a turn after the turn's end is stored.
  const healthy = await waitUntil('the worker has counted the turn', busyMachineMs, async () => {
    const text = await scrape(metricsOf(worker));
    const ended = 'holdfast_turns_ended_total{status="completed",kind="message",lane="main",code=""}';
    return valueOf(text, ended) === 1 && text;
  });
  expect(valueOf(healthy, 'holdfast_tool_calls_total{tool="http_effect",status="done"}')).toBe(1);
  expect(healthy).toMatch(/^holdfast_model_calls_total\{model="[^"]+",tier="standard",status="ok"\} 2$/m);
  expect(healthy).toMatch(/^holdfast_statement_duration_seconds_count\{name="claim"\} [1-9]/m);
  expect(healthy).not.toContain('agent:main:main');
  const scrapes = [healthy, await scrape(metricsOf(scheduler)), await look.scrape()].join('\n');
  for (const file of ['docs/alerts.yml', 'docs/grafana/holdfast.json'])
    expect(
      namedMetrics(readPage(file)).filter((name) => !scrapes.includes(`# TYPE ${name} `)),
      file,
    ).toEqual([]);
  expect(await scrape(metricsOf(scheduler).replace('/metrics', '/healthz'))).toBe('{"status":"ok"}');
  await waitUntil('all is well', busyMachineMs, async () => (await look.readiness()).status === 'ready');
  expect((await look.readiness()).troubles).toEqual([]);

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
  expect(await look.metric(series)).toBeGreaterThan(0);
  await runSqlOfRunbook(rig, rows[0]!.pid);
  await waitUntil('all is well again', busyMachineMs, async () => (await look.readiness()).status === 'ready');

  // The model.
  await rig.model.close();
  const parked = await api.send('main', { text: 'are you there?' });
  await waitUntil('the message says why it waits', busyMachineMs, async () => {
    const { body } = await api.ask('GET', `/v1/messages/${parked.id}`);
    return body.why?.code === 'model_away';
  });
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
