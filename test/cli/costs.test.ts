// The output of the command line about usage and prices, against a real API with real turns.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { ADMIN_KEY } from '../api/api-rig.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { runCli } from './run-cli.ts';

const holder = useApiRig();
let url: string;

beforeEach(async () => {
  url = await holder.rig.listen();
});

const run = (...args: string[]) => runCli(args, { env: { HOLDFAST_URL: url, HOLDFAST_API_KEY: ADMIN_KEY } });

async function say(session: string, text: string, model?: string): Promise<void> {
  await holder.rig.post(`/v1/sessions/${session}/messages`, { text, ...(model === undefined ? {} : { model }) });
  await holder.rig.work(session);
}

test('usage is printed with its costs by group, and says that the model was scripted', async () => {
  const reply = '[[usage: input=1000 output=200 cache-read=0 cache-write=0]] [[reply: ok]]';
  await say('costly', reply);
  await say('costly', reply);
  const table = await run('usage', '--group', 'model', '--since', '1h', '--by', 'hour');
  expect(table).toMatchObject({ code: 0, stderr: expect.stringContaining('that money was not spent') });
  expect(table.stdout).toMatch(/anthropic\/claude-sonnet-5-5 .* 2000 .* 400 .*\$0\.008000/);
  const { items, simulated } = JSON.parse((await run('usage', '--json')).stdout);
  expect(simulated).toBe(true);
  expect(items).toMatchObject([{ group: null, turns: 2, calls: 2, costMicros: 8000, costUsd: 0.008 }]);
  expect(await run('usage', '--by', 'week')).toMatchObject({ code: 2 });
  const tooLong = await run('usage', '--by', 'minute', '--since', '90d');
  expect(tooLong).toMatchObject({ code: 2, stderr: expect.stringMatching(/^holdfast: From .+\nFix: .+\n$/) });
  expect(await run('usage', '--since', 'yesterday')).toMatchObject({ code: 2 });
  expect((await holder.rig.get('/v1/usage?by=minute&from=2020-01-01T00:00:00Z')).body).toMatchObject({
    code: 'invalid_query',
  });
});

test('prices are listed, and a model that was used without one is named', async () => {
  const listed = await run('prices', 'list');
  expect(listed).toMatchObject({ code: 0, stderr: expect.stringMatching(/^version [0-9a-f]{12}\n$/) });
  expect(listed.stdout).toMatch(/anthropic\/claude-haiku-5-5 .*over 100000: 0\.5 in, 2\.5 out/);
  await say('unpriced', '[[reply: ok]]', 'anthropic/scripted-1');
  expect(await run('prices', 'check')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('anthropic/scripted-1: 1 calls without a price in 30 days'),
  });
  expect(JSON.parse((await run('prices', 'check', '--json')).stdout).unpriced).toEqual([
    { model: 'anthropic/scripted-1', calls: 1 },
  ]);
});

test('past calls are priced again by the configuration of the command', async () => {
  await say('again', '[[usage: input=1000 output=200 cache-read=0 cache-write=0]] [[reply: ok]]');
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-reprice-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const prices = [{ model: 'anthropic/claude-sonnet-5-5', inputPerMTok: 20, outputPerMTok: 100 }];
  await writeFile(join(dir, 'holdfast.json'), JSON.stringify({ models: { prices } }));
  const env = {
    HOLDFAST_CONFIG: join(dir, 'holdfast.json'),
    HOLDFAST_DATA_DIR: dir,
    DATABASE_URL: holder.rig.turns.database.hot.options.connectionString ?? '',
  };
  const costOf = async () => (await holder.rig.get('/v1/sessions/again')).body.costMicros;
  const dry = await runCli(['prices', 'reprice', '--from', '1h', '--dry-run'], { env });
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('calls now would cost $') });
  expect(await costOf()).toBe(4000);
  expect(await runCli(['prices', 'reprice', '--from', '1h', '--reason', 'late price'], { env })).toMatchObject({
    code: 0,
  });
  expect(await costOf()).toBe(40_000);
  expect(await runCli(['prices', 'reprice'], { env })).toMatchObject({ code: 2 });
  expect(await runCli(['prices', 'reprice', '--from', '1h', '--to', '2h'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--from \(.*\) is not before --to/),
  });
});
