// The output of the command line about usage and prices, against a real API with real turns.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../../cli/run-cli.ts';
import { useCliRig } from '../../cli/use-cli-rig.ts';

const { holder, run } = useCliRig();

test('usage is printed with its costs by group, and says that the model was scripted', async () => {
  const reply = '[[usage: input=1000 output=200 cache-read=0 cache-write=0]] [[reply: ok]]';
  await holder.rig.settle('costly', reply);
  await holder.rig.settle('costly', reply);
  const table = await run('usage', '--group', 'model', '--since', '1h', '--by', 'hour');
  expect(table).toMatchObject({ code: 0, stderr: expect.stringContaining('no money was spent') });
  expect(table.stdout).toMatch(/anthropic\/claude-sonnet-5-5 .* 2000 .* 400 .*\$0\.0080/);
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

test('prices are listed with those of long prompts, and with their version', async () => {
  const listed = await run('prices', 'list');
  expect(listed).toMatchObject({ code: 0, stderr: expect.stringMatching(/^version [0-9a-f]{12}\n$/) });
  expect(listed.stdout).toMatch(/anthropic\/claude-haiku-5-5 .*over 100000: 0\.5 in, 2\.5 out/);
});

test('past calls are priced again by the configuration of the command', async () => {
  await holder.rig.settle('again', '[[usage: input=1000 output=200 cache-read=0 cache-write=0]] [[reply: ok]]');
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
