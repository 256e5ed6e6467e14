// `holdfast batch` against a real API, with turns and rounds in this process.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { runCli, type CliResult } from '../../cli/run-cli.ts';
import { addBatchHops, changeBatchItems } from '../../rows/batches.ts';
import { plus } from '../../rows/table.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-batch-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function batch(...args: string[]): Promise<CliResult> {
  const url = await shared.rig.listen();
  return runCli(['batch', ...args], { env: { HOLDFAST_URL: url, HOLDFAST_API_KEY: ADMIN_KEY } });
}

async function fileOf(lines: object[]): Promise<string> {
  const file = join(folder, `${crypto.randomUUID()}.jsonl`);
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return file;
}

/** Submits these items, to be asked live; resolves with the id of the batch. */
const submitted = async (...items: object[]): Promise<string> =>
  (await batch('submit', await fileOf(items), '--via', 'live')).stdout.trim();

/** The same, and runs it to its end. */
async function ended(...items: object[]): Promise<string> {
  const id = await submitted(...items);
  await batchRig(shared.rig).run(id);
  return id;
}

/** Runs rounds and turns until a command has ended. */
async function working<Result>(command: Promise<Result>): Promise<Result> {
  const batches = batchRig(shared.rig);
  let isOver = false;
  const over = command.finally(() => (isOver = true));
  while (!isOver) {
    await batches.round();
    await batches.workAll();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return over;
}

test('submit --wait shows progress until the end, and the exit code says how it ended', async () => {
  const file = await fileOf([{ text: 'one', customId: 'a' }, { text: 'two' }]);
  const all = await working(batch('submit', file, '--via', 'live', '--name', 'tickets', '--wait'));
  expect(all.stderr).toContain('ended: completed');
  expect([all.code, all.stdout.trim().split('\n').at(-1)]).toEqual([0, expect.stringMatching(/^100% {2}2\/2/)]);
  const mixed = await fileOf([{ text: 'one' }, { text: '[[error: 400 times=always]]' }]);
  const partly = await working(batch('submit', mixed, '--via', 'live', '--wait', '--json'));
  expect(partly.code).toBe(9);
  expect(JSON.parse(partly.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
    status: 'ended',
    outcome: 'partly',
  });
  const failed = await working(
    batch('submit', await fileOf([{ text: '[[error: 400 times=always]]' }]), '--via', 'live', '--wait'),
  );
  expect(failed.code).toBe(7);
  const capped = await working(
    batch('submit', await fileOf([{ text: 'one' }]), '--via', 'live', '--max-cost', '0', '--wait'),
  );
  expect(capped.code).toBe(8);
});

test('submit --deadline takes a duration or a number of seconds', async () => {
  const file = await fileOf([{ text: 'one' }]);
  for (const deadline of ['10m', '600']) {
    const id = (await batch('submit', file, '--deadline', deadline)).stdout.trim();
    const { createdAt, deadlineAt } = JSON.parse((await batch('show', id, '--json')).stdout);
    expect(Date.parse(deadlineAt) - Date.parse(createdAt)).toBe(600_000);
  }
  expect((await batch('submit', file, '--deadline', 'soon')).code).toBe(2);
});

test('a batch is listed, shown, paused, resumed, cancelled and watched', async () => {
  const id = await submitted({ text: 'one' }, { text: 'two' });
  expect((await batch('pause', id)).stdout).toContain('paused');
  expect((await batch('list', '--status', 'paused', '--json')).stdout).toContain(id);
  expect((await batch('show', id)).stdout).toContain('2 total, 2 pending');
  await addBatchHops(shared.rig, {
    batchId: id,
    n: 1,
    via: 'provider-batch',
    reason: 'Cheaper in a batch.',
    requests: 2,
    answered: 2,
    inputTokens: 25,
    cacheReadTokens: 75,
    costMicros: 300,
    liveMicros: 200,
  });
  const shown = (await batch('show', id)).stdout;
  expect(shown).toContain('round 1  provider-batch  2 requests, 75 % from the cache, $0.0003  Cheaper in a batch.');
  expect((await batch('items', id)).stdout).toContain('The batch is paused.');
  expect((await batch('watch', id, '--wait', '0')).code).toBe(124);
  expect((await batch('resume', id)).stdout).toContain('running');
  expect((await batch('cancel', id, '--dry-run')).stdout).toBe('cancel 2 items; nothing was done\n');
  expect((await batch('cancel', id, '--yes')).stdout).toContain('cancelling');
  expect((await working(batch('watch', id))).code).toBe(8);
  const again = await batch('pause', id);
  expect([again.code, again.stderr]).toEqual([6, expect.stringContaining('ended')]);
});

test('results --out continues a file where it has no gap', async () => {
  const id = await ended({ text: 'one' }, { text: 'two' }, { text: 'three' });
  const whole = (await batch('results', id)).stdout;
  expect(whole.trim().split('\n')).toHaveLength(3);
  const out = join(folder, 'results.jsonl');
  const [first = '', , third = ''] = whole.split('\n');
  await writeFile(out, `${first}\n${third}\n{"n": 3, "cust`);
  const continued = await batch('results', id, '--out', out);
  expect(continued.stderr).toContain('after item 1');
  expect(await readFile(out, 'utf8')).toBe(whole);
});

test('results --out continues no file of another batch or format', async () => {
  const items = [{ text: 'one' }, { text: 'two' }];
  const [first, second] = [await ended(...items), await ended(...items)];
  const out = join(folder, 'yesterday.jsonl');
  await batch('results', first, '--out', out);
  const before = await readFile(out, 'utf8');
  for (const args of [[second], [first, '--format', 'openai']]) {
    const refused = await batch('results', ...args, '--out', out);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('results of another batch')]);
  }
  expect(await readFile(out, 'utf8')).toBe(before);
  expect((await batch('results', first, '--out', out)).stderr).toContain('after item 2');
  expect(await readFile(out, 'utf8')).toBe(before);
  expect(await batch('results', first, '--out', folder)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('it is a folder'),
  });
});

test('results --out continues no file whose costs are those of earlier prices', async () => {
  const id = await ended({ text: 'one' }, { text: 'two' });
  const out = join(folder, 'earlier-prices.jsonl');
  await batch('results', id, '--out', out);
  const before = await readFile(out, 'utf8');
  await changeBatchItems(shared.rig, { batchId: id }, { costMicros: plus(1) });
  const refused = await batch('results', id, '--out', out);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('before its calls were priced again')]);
  expect(await readFile(out, 'utf8')).toBe(before);
});

test.each(['holdfast', 'openai'])(
  'results --out in the format %s reads items again that have failed',
  async (format) => {
    const id = await ended({ text: 'one' }, { text: '[[error: 400 times=always]]' }, { text: 'three' });
    const batches = batchRig(shared.rig);
    const out = join(folder, `failed-${format}.jsonl`);
    await batch('results', id, '--format', format, '--out', out);
    await batch('retry-failed', id);
    await batches.run(id);
    expect((await batch('results', id, '--format', format, '--out', out)).stderr).toContain('after item 1');
    expect(await readFile(out, 'utf8')).toBe((await batch('results', id, '--format', format)).stdout);
  },
);

test('results --out overwrites no file that is not one of results', async () => {
  const file = await fileOf([{ text: 'one' }]);
  const id = (await batch('submit', file, '--via', 'live')).stdout.trim();
  await batchRig(shared.rig).run(id);
  const before = await readFile(file, 'utf8');
  const refused = await batch('results', id, '--out', file);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('it was not overwritten')]);
  expect(await readFile(file, 'utf8')).toBe(before);
  // A file that broke off within its first line, or has none yet, is one.
  for (const format of ['holdfast', 'openai']) {
    const whole = (await batch('results', id, '--format', format)).stdout;
    const out = join(folder, `${format}.jsonl`);
    for (const beginning of ['', whole.slice(0, 3), whole.slice(0, 30)]) {
      await writeFile(out, beginning);
      expect((await batch('results', id, '--format', format, '--out', out)).code).toBe(0);
      expect(await readFile(out, 'utf8')).toBe(whole);
    }
  }
});

test('retry-failed runs one error code again, and a dry run stores nothing', async () => {
  const file = await fileOf([{ text: '[[error: 400 times=always]]' }]);
  const id = (await batch('submit', file, '--via', 'live')).stdout.trim();
  const ended = await batchRig(shared.rig).run(id);
  const code = ended.errors[0].code;
  expect((await batch('retry-failed', id, '--dry-run')).stdout).toBe('retry-failed 1 item; nothing was done\n');
  expect((await batch('retry-failed', id, '--code', 'other', '--dry-run')).stdout).toContain('retry-failed 0 items');
  expect((await batch('retry-failed', id, '--n', '7', '--dry-run')).stdout).toContain('retry-failed 0 items');
  expect(JSON.parse((await batch('retry-failed', id, '--code', code, '--dry-run', '--json')).stdout)).toEqual({
    dryRun: true,
    total: 1,
  });
  expect(JSON.parse((await batch('show', id, '--json')).stdout)).toMatchObject({
    status: 'ended',
    counts: { failed: 1 },
  });
  expect((await batch('retry-failed', id, '--code', code, '--reason', 'the model is back')).stdout).toContain(
    'running',
  );
  expect((await shared.rig.get('/v1/audit')).body.items[0]).toMatchObject({
    reason: 'the model is back',
    outcome: 'ok',
  });
  const before = (await batch('list', '--json')).stdout;
  const estimate = JSON.parse((await batch('submit', file, '--dry-run', '--json')).stdout);
  expect(estimate).toMatchObject({ items: 1, costUsd: { live: expect.any(Number) } });
  expect(JSON.parse((await batch('list', '--json')).stdout).items).toHaveLength(JSON.parse(before).items.length);
});

test('a file that cannot be submitted says why', async () => {
  const missing = await batch('submit', join(folder, 'missing.jsonl'));
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('there is no such file')]);
  const bad = await batch('submit', await fileOf([{ text: 'one' }, { txet: 'two' }]));
  expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining('line 2: txet')]);
  const foreign = await batch('submit', await fileOf([{ text: 'one' }]), '--format', 'openai');
  expect([foreign.code, foreign.stderr]).toEqual([2, expect.stringContaining('expected a line in the format openai')]);
});
