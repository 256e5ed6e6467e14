import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { runCli } from '../../cli/run-cli.ts';

const holder = useApiRig();
let url: string;
let cwd: string;

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-cron-'));
});
afterAll(() => rm(cwd, { recursive: true }));
beforeEach(async () => {
  url = await holder.rig.listen();
});

const run = (...args: string[]) => runCli(args, { cwd, env: { HOLDFAST_URL: url, HOLDFAST_API_KEY: ADMIN_KEY } });

async function add(...args: string[]): Promise<string> {
  const added = await run('cron', 'add', ...args);
  expect(added).toMatchObject({ code: 0 });
  return added.stdout.trim();
}

async function cronOf(id: string) {
  return (await holder.rig.get(`/v1/crons/${id}`)).body;
}

test('cron add makes a cron of each kind, and list shows it', async () => {
  const daily = await add(
    '--name',
    'daily',
    '--cron',
    '0 9 * * 1-5',
    '--tz',
    'Europe/Berlin',
    '--message',
    'Report.',
    '--timeout',
    '60',
  );
  expect(await cronOf(daily)).toMatchObject({
    name: 'daily',
    schedule: { kind: 'cron', expr: '0 9 * * 1-5', tz: 'Europe/Berlin' },
    payload: { kind: 'agentTurn', message: 'Report.', timeoutSeconds: 60 },
  });
  const steps = await add('--every', '10m', '--event', 'Look up.', '--wake', 'next-heartbeat', '--deliver', 'none');
  expect(await cronOf(steps)).toMatchObject({
    schedule: { everyMs: 600_000 },
    wake: 'next-heartbeat',
    delivery: { mode: 'none' },
  });
  const once = await add(
    '--at',
    '20m',
    '--message',
    'Once.',
    '--delete-after-run',
    '--deliver',
    'http://127.0.0.1:9/x',
  );
  const made = await cronOf(once);
  expect(made).toMatchObject({ deleteAfterRun: true, delivery: { mode: 'webhook', url: 'http://127.0.0.1:9/x' } });
  expect(Math.abs(Date.parse(made.schedule.at) - Date.now() - 1_200_000)).toBeLessThan(60_000);
  const list = await run('cron', 'list');
  expect(list.stdout).toMatch(/^CRON +NAME +WHEN +NEXT/);
  expect(list.stdout).toContain('0 9 * * 1-5 Europe/Berlin');
  expect(JSON.parse((await run('cron', 'list', '--json')).stdout).items).toHaveLength(3);
});

test('cron edit, pause, resume, next, run, fires and rm', async () => {
  const id = await add('--every', '1h', '--message', 'Tick.');
  expect((await run('cron', 'edit', id, '--name', 'hourly', '--misfire', 'skip')).code).toBe(0);
  expect(await cronOf(id)).toMatchObject({ name: 'hourly', misfire: 'skip' });
  expect((await run('cron', 'pause', id)).stdout).toBe(`${id}: paused\n`);
  expect((await run('cron', 'resume', id)).code).toBe(0);
  const next = await run('cron', 'next', id, '--count', '3');
  const times = next.stdout
    .trim()
    .split('\n')
    .map((line) => Date.parse(line));
  expect(times.map((time, at) => time - times[0]! - at * 3_600_000)).toEqual([0, 0, 0]);
  expect((await run('cron', 'run', id)).stdout).toMatch(/runs as message [0-9a-f-]{36}\n$/);
  const fires = await run('cron', 'fires', id);
  expect(fires.stdout).toMatch(/claimed.+asked for/);
  expect((await run('cron', 'rm', id)).stdout).toBe(`${id} is deleted\n`);
  expect((await run('cron', 'rm', id)).code).toBe(5);
});

test.each([
  [['add', '--every', '10m'], 'the payload is missing'],
  [['add', '--message', 'x'], 'the schedule is missing'],
  [['add', '--every', '10m', '--at', '5m', '--message', 'x'], 'more than one schedule'],
  [['add', '--every', 'often', '--message', 'x'], 'is not a duration'],
  [['add', '--at', 'soon', '--message', 'x'], 'is not a time'],
  [
    ['add', '--at', '2030-02-30T09:00', '--message', 'x'],
    '"2030-02-30T09:00" is not a time: 2030-02 has the days 1 to 28',
  ],
  [['add', '--at', '2030-13-01', '--message', 'x'], '"2030-13-01" is not a time: there is no month 13'],
  [['add', '--at', '2030-01-31T25:00Z', '--message', 'x'], 'is not a time'],
  [['add', '--every', '1h', '--anchor', '2030-02-29T09:00Z', '--message', 'x'], 'has the days 1 to 28'],
  [['add', '--at', '2020-01-31T09:00Z', '--message', 'x'], 'is in the past'],
  [['edit', '0198f000-0000-7000-8000-000000000000', '--at', '2020-01-31'], 'is in the past'],
  [['add', '--tz', 'UTC', '--every', '1m', '--message', 'x'], 'belong to --cron'],
  [['add', '--cron', '61 * * * *', '--message', 'x'], 'is not a cron expression'],
  [['edit', '0198f000-0000-7000-8000-000000000000'], 'no option says what to change'],
])('cron %j names the fault and exits 2', async (args, message) => {
  const result = await run('cron', ...args);
  expect(result.code).toBe(2);
  expect(result.stderr).toContain(message);
});

test('a fault of an expression is printed once, with the value and its field', async () => {
  const { stderr } = await run('cron', 'add', '--cron', '61 9 * * mond', '--message', 'x');
  const fault =
    '"61 9 * * mond" is not a cron expression: "61" is not allowed in the field minute; "mond" is not allowed in the field day of week';
  expect(stderr.split(fault)).toHaveLength(2);
  expect(stderr).not.toContain('a invalid');
  expect(stderr.match(/not a cron expression/g)).toHaveLength(1);
});

test('the fix for a cron that does not exist names the list of crons', async () => {
  const { code, stderr } = await run('cron', 'pause', '0198f000-0000-7000-8000-000000000000');
  expect({ code, stderr }).toMatchObject({ code: 5, stderr: expect.stringContaining('"holdfast cron list"') });
});

test('a time in the past runs immediately when --yes says so', async () => {
  const id = await add('--at', '2020-01-31T09:00:00Z', '--message', 'x', '--yes');
  expect(await cronOf(id)).toMatchObject({ schedule: { kind: 'at', at: '2020-01-31T09:00:00.000Z' } });
});

test('a day and a time of day without a zone mean the zone of the machine', async () => {
  const env = { HOLDFAST_URL: url, HOLDFAST_API_KEY: ADMIN_KEY, TZ: 'America/New_York' };
  const times = [
    '2040-01-31',
    '2040-01-31T00:00',
    '2040-01-31 00:00:00',
    '2040-01-31T00:00Z',
    '2040-01-31T00:00:00.5+0530',
  ];
  const found: unknown[] = [];
  for (const at of times) {
    const { stdout } = await runCli(['cron', 'add', '--at', at, '--event', 'x'], { cwd, env });
    found.push((await cronOf(stdout.trim())).schedule.at);
  }
  expect(found).toEqual([
    '2040-01-31T05:00:00.000Z',
    '2040-01-31T05:00:00.000Z',
    '2040-01-31T05:00:00.000Z',
    '2040-01-31T00:00:00.000Z',
    '2040-01-30T18:30:00.500Z',
  ]);
});

test('heartbeats poll and list', async () => {
  expect((await run('heartbeats', 'poll', 'main')).stdout).toMatch(/^main is polled with message /);
  expect((await run('heartbeats', 'list')).stdout).toMatch(/main +fired/);
  expect((await run('heartbeats', 'poll', 'nobody')).code).toBe(5);
});
