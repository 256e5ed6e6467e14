import { fork } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { skewFinding, versionFinding } from '../../src/cli/doctor/database-checks.ts';
import { nodeFinding } from '../../src/cli/doctor/machine-checks.ts';
import { keepingFinding } from '../../src/cli/doctor/redis-checks.ts';
import { BIN, runCli } from './run-cli.ts';
import { startStandIn } from './stand-in-service.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-doctor-'));
});
afterEach(() => rm(cwd, { recursive: true }));

interface Report {
  ok: boolean;
  checks: { number: number; code: string; status: string; reason: string; fix?: string }[];
}

async function examine(env: Record<string, string>): Promise<{ code: number | null; report: Report }> {
  const { code, stdout } = await runCli(['doctor', '--json'], { cwd, env });
  return { code, report: JSON.parse(stdout) as Report };
}

function statusesOf(report: Report): Record<string, string> {
  return Object.fromEntries(report.checks.map((check) => [check.code, check.status]));
}

test('a fresh machine is in order: a warning for the model, exit 0', async () => {
  const { code, report } = await examine({ HOLDFAST_PORT: '0' });
  expect(code).toBe(0);
  expect(statusesOf(report)).toEqual({
    node: 'ok',
    web_dist: expect.stringMatching(/^(ok|warning)$/),
    'data-dir': 'ok',
    // Only root can run them as another user; where their workspace is, its first start decides.
    commands: process.getuid?.() === 0 ? 'skipped' : 'warning',
    'api-key': 'ok',
    config: 'ok',
    database: 'ok',
    migrations: 'skipped',
    clock: 'skipped',
    provider: 'skipped',
    limits: 'skipped',
    budgets: 'skipped',
    pauses: 'skipped',
    queue: 'skipped',
    workers: 'skipped',
    scheduler: 'skipped',
    reconciler: 'skipped',
    files: 'skipped',
    outbox: 'skipped',
    deliveries: 'skipped',
    versions: 'skipped',
    clocks: 'skipped',
    mcp: 'skipped',
    'mcp-sandbox': 'skipped',
    calls: 'skipped',
    transactions: 'skipped',
    retention: 'skipped',
    redis: 'skipped',
    port: 'ok',
    model: 'warning',
    readiness: expect.stringMatching(/^(ok|skipped)$/),
    heartbeats: 'ok',
  });
});

test('a task of HEARTBEAT.md that cannot be read is a warning with its line', async () => {
  await mkdir(join(cwd, 'agent'));
  await writeFile(join(cwd, 'agent', 'HEARTBEAT.md'), 'tasks:\n- interval: 1h\n  prompt: Look.\n');
  await writeFile(
    join(cwd, 'holdfast.json'),
    JSON.stringify({ agents: { list: [{ id: 'main', workspace: './agent', heartbeat: { every: '1h' } }] } }),
  );
  const { report } = await examine({ HOLDFAST_PORT: '0', HOLDFAST_CONFIG: join(cwd, 'holdfast.json') });
  expect(report.checks.find(({ code }) => code === 'heartbeats')).toMatchObject({
    status: 'warning',
    reason: 'agent main: line 2: the task has no name',
    fix: expect.stringContaining('HEARTBEAT.md'),
  });
});

test('an unreachable dependency is an error with a fix, exit 1, and no password is shown (G31)', async () => {
  const { code, report } = await examine({
    HOLDFAST_PORT: '0',
    DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/db',
    REDIS_URL: 'redis://:hunter2@127.0.0.1:1',
  });
  expect(code).toBe(1);
  expect(statusesOf(report)).toMatchObject({ database: 'error', redis: 'error' });
  for (const check of report.checks.filter((each) => each.status === 'error')) expect(check.fix).toMatch(/start it/);
  expect(JSON.stringify(report)).not.toContain('hunter2');
});

test('a bad configuration is one error that lists every fault', async () => {
  await writeFile(join(cwd, 'holdfast.json'), '{lanes: {main: -1}, bogus: 1}');
  const { code, report } = await examine({});
  expect(code).toBe(1);
  expect(report.checks.at(-1)).toMatchObject({
    code: 'config',
    status: 'error',
    reason: expect.stringMatching(/lanes\.main[^]*bogus/) as string,
  });
});

test('a key that others may read is a warning', async () => {
  await mkdir(join(cwd, '.holdfast'));
  await writeFile(join(cwd, '.holdfast/api-key'), 'k');
  await chmod(join(cwd, '.holdfast/api-key'), 0o644);
  expect(statusesOf((await examine({ HOLDFAST_PORT: '0' })).report)).toMatchObject({ 'api-key': 'warning' });
});

test('a port that another process uses is an error', async () => {
  await using other = await startStandIn();
  const { report } = await examine({ HOLDFAST_PORT: new URL(other.url).port });
  expect(statusesOf(report)).toMatchObject({ port: 'error' });
});

test.each([200, 503])('a program that answers %i with other JSON is not taken for a service', async (status) => {
  const other = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const { code, report } = await examine({ HOLDFAST_PORT: String(port), HOLDFAST_URL: `http://127.0.0.1:${port}` });
  expect(code).toBe(1);
  expect(statusesOf(report)).toMatchObject({ port: 'error', readiness: 'skipped' });
});

test('for a person it is numbered lines with fixes', async () => {
  const { stdout, stderr } = await runCli(['doctor'], { cwd, env: { HOLDFAST_PORT: '0' } });
  expect(stdout).toMatch(/^ 1 {2}ok {7}node: Node version: \d/m);
  expect(stdout).toMatch(/^29 {2}warning {2}model: .*\n +Fix: set ANTHROPIC_API_KEY/m);
  expect(stderr).toMatch(/^0 errors, [1-3] warnings\n$/);
});

test.each([
  ['20.20.2', 'error'],
  ['22.17.9', 'error'],
  ['22.18.0', 'ok'],
  ['24.0.0', 'ok'],
])('Node %s is %s', (version, status) => {
  expect(nodeFinding(version, true).status).toBe(status);
});

test.each([
  [[], 'warning'],
  [['--disable-sigusr1'], 'ok'],
])('a process that cannot replace itself and was started with the flags %j: %s', async (execArgv, status) => {
  // The channel to its parent would be lost.
  const child = fork(BIN, ['doctor', '--json'], { cwd, execArgv, env: { HOLDFAST_PORT: '0' }, silent: true });
  const [report] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
  expect((JSON.parse(report) as Report).checks[0]).toMatchObject({ code: 'node', status });
});

test.each([
  [140_012, 'error'],
  [150_004, 'ok'],
  [180_004, 'ok'],
])('PostgreSQL %d is %s', (number, status) => {
  expect(versionFinding(number, 'PostgreSQL').status).toBe(status);
});

test.each([
  [4000, 'ok'],
  [-6000, 'warning'],
])('a clock %d ms off is %s', (skewMs, status) => {
  expect(skewFinding(skewMs).status).toBe(status);
});

test.each([
  ['redis_version:6.2.1', 'error'],
  ['redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\naof_enabled:1', 'ok'],
  ['redis_version:7.2.4\r\nvalkey_version:8.0.1\r\nmaxmemory_policy:noeviction\r\naof_enabled:1', 'ok'],
  ['redis_version:7.0.15\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1', 'warning'],
  ['redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\naof_enabled:0', 'warning'],
])('a Redis that says %j is %s', (info, status) => {
  expect(keepingFinding(info).status).toBe(status);
});
