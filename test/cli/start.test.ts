// The service as the command line runs it: on its own database, in a fresh data directory, ended by
// signals.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { METRICS } from '../../src/metrics.ts';
import { startServiceProcess } from '../servers/service-process.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { makeFolder } from './make-folder.ts';
import { runCli, type CliResult } from './run-cli.ts';

const START_MS_MAX = 240_000;

let cwd: string;

shareAmongTests(async (onEnd) => {
  const folder = await makeFolder('holdfast-start-');
  onEnd(() => rm(folder, { recursive: true }));
  cwd = folder;
});

/** Starts a service on any free port; resolves when it has said where it listens. */
async function startService(env: Record<string, string> = {}, options: string[] = []) {
  const { promise: spawned, resolve } = Promise.withResolvers<ChildProcess>();
  const ended: Promise<CliResult> = runCli(['start', ...options], {
    cwd,
    env: { HOLDFAST_PORT: '0', ...env },
    onSpawn: resolve,
  });
  const child = await spawned;
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const printed: string[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    printed.push(line);
    const url = /^holdfast +(http\S+)$/.exec(printed[0] ?? '')?.[1];
    if (url !== undefined && line.startsWith('api key ')) return { child, ended, url, printed };
  }
  throw new Error(`the service did not start: ${(await ended).stderr}`);
}

describe('on a fresh data directory', () => {
  test('migrate plans all migrations in one line, and applies them once', { timeout: START_MS_MAX }, async () => {
    const planned = await runCli(['migrate', '--plan'], { cwd });
    expect(planned).toMatchObject({ code: 0, stderr: '' });
    expect(planned.stdout).toMatch(/^The database is empty: all \d+ migrations would be applied, .+\n$/);
    const first = await runCli(['migrate', '--json'], { cwd });
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect((JSON.parse(first.stdout) as { applied: string[] }).applied[0]).toMatch(/^0001_.*\.sql$/);
    expect(await runCli(['migrate'], { cwd })).toMatchObject({ code: 0, stdout: '' });
  });

  test(
    'start serves until SIGTERM drains it, and leaves nothing running (G26)',
    { timeout: START_MS_MAX },
    async () => {
      const service = await startService();
      const urlFile = join(cwd, '.holdfast/api-url');
      // The file is written before the lines are printed.
      expect((await readFile(urlFile, 'utf8')).trim()).toBe(service.url);

      const sent = await runCli(['send', 'main', '[[reply: it works]]', '--wait', '120'], { cwd });
      expect(sent).toMatchObject({ code: 0, stdout: 'it works\n' });
      expect((await runCli(['doctor', '--json'], { cwd })).code).toBe(0);
      const key = (await readFile(join(cwd, '.holdfast/api-key'), 'utf8')).trim();
      const scraped = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
      const text = await scraped.text();
      const absent = Object.keys(METRICS).filter((name) => !text.includes(`# TYPE ${name} `));
      // They are made with the traces, and with accounts of channels.
      const others = absent.filter((name) => !name.startsWith('holdfast_channel_'));
      expect(others).toEqual(['holdfast_traces_dropped_total']);

      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
      expect(existsSync(urlFile)).toBe(false);
      await expect(fetch(`${service.url}/healthz`)).rejects.toThrow('fetch failed');
    },
  );

  test.runIf(isLongForm())(
    'a process that a person drains ends as with SIGTERM (G26)',
    { timeout: START_MS_MAX },
    async () => {
      const service = await startService();
      const listed = await runCli(['workers', 'list', '--json'], { cwd });
      const { items } = JSON.parse(listed.stdout) as { items: { id: string; pid: number; lanes: object }[] };
      expect(items).toMatchObject([{ pid: service.child.pid, lanes: { main: { slots: 64 } } }]);
      expect(await runCli(['workers', 'drain', items[0]?.id ?? ''], { cwd })).toMatchObject({ code: 0 });
      expect((await service.ended).code).toBe(0);
    },
  );

  test.runIf(isLongForm())(
    'SIGUSR1 opens no debugger, and SIGUSR2 is ignored (G26)',
    { timeout: START_MS_MAX },
    async () => {
      const service = await startService();
      expect((await readFile(`/proc/${service.child.pid}/cmdline`, 'utf8')).split('\0')).toContain('--disable-sigusr1');
      service.child.kill('SIGUSR1');
      service.child.kill('SIGUSR2');
      // Both have arrived when the service has answered something that was asked afterwards.
      expect((await runCli(['send', 'main', '[[reply: still here]]', '--wait', '120'], { cwd })).stdout).toBe(
        'still here\n',
      );
      service.child.kill('SIGTERM');
      const { code, stderr } = await service.ended;
      expect(code).toBe(0);
      expect(stderr).not.toContain('Debugger');
    },
  );

  test.runIf(isLongForm())(
    'SIGHUP and "config reload" apply reloadable settings, "config diff" names the rest, and a fault changes nothing',
    { timeout: START_MS_MAX },
    async () => {
      const file = join(cwd, 'reloaded.json');
      const write = (waiting: number, lane: number) =>
        writeFile(file, `{limits: {waitingPerSession: ${waiting}}, lanes: {main: ${lane}}}`);
      const diff = async () => {
        const { code, stdout } = await runCli(['config', 'diff', '--json'], { cwd });
        expect(code).toBe(0);
        const { items } = JSON.parse(stdout) as { items: { path: string; value: unknown; needsRestart: boolean }[] };
        return items.map(({ path, value, needsRestart }) => [path, value, needsRestart]);
      };
      await write(10, 3);
      const service = await startService({ HOLDFAST_CONFIG: file });
      expect(await diff()).toEqual([]);
      const call = '[[tool: exec {"command": "true"}]]';
      expect((await runCli(['send', 'main', call, '--wait', '120'], { cwd })).code).toBe(0);

      await write(20, 4);
      const lanes = [
        ['lanes.main', 3, true],
        ['runtime.concurrency.main', 3, true],
      ];
      const found = await diff();
      expect(found).toHaveLength(3);
      expect(found).toEqual(expect.arrayContaining([['limits.waitingPerSession', 10, false], ...lanes]));
      service.child.kill('SIGHUP');
      await expect.poll(diff, { timeout: 240_000 }).toEqual(lanes);

      await writeFile(file, '{limits: {waitingPerSession: 0}}');
      const refused = await runCli(['config', 'reload'], { cwd });
      expect(refused).toMatchObject({ code: 6, stdout: '' });
      expect(refused.stderr).toContain('limits.waitingPerSession');

      // The parts of the process that depend on the settings follow: the tools of turns, and the
      // budgets.
      const more = `agents: {list: [{id: 'main', tools: {deny: ['exec']}}]}, budgets: [{scope: 'all', per: 'day', limitUsd: 5}]`;
      await writeFile(file, `{limits: {waitingPerSession: 30}, lanes: {main: 3}, ${more}}`);
      const reloaded = await runCli(['config', 'reload'], { cwd });
      expect(reloaded).toMatchObject({ code: 0, stderr: '' });
      expect(reloaded.stdout).toMatch(/limits\.waitingPerSession +20 +30 +now/);
      expect(await diff()).toEqual([]);
      const budgets = async () => (await runCli(['budgets', 'list', '--json'], { cwd })).stdout;
      expect(await budgets()).toContain('"scope":"all"');
      // Without `budgets`, the file changes none, and the command says so.
      const fewer = more.replace(/, budgets.*/, '');
      await writeFile(file, `{limits: {waitingPerSession: 30}, lanes: {main: 3}, ${fewer}}`);
      const kept = await runCli(['config', 'reload'], { cwd });
      expect(kept).toMatchObject({ code: 0, stderr: expect.stringContaining('the budgets stay in force') });
      expect(kept.stdout).toMatch(/budgets\[0\]\.limitUsd +5 +null +never/);
      expect(await budgets()).toContain('"scope":"all"');
      const asked = await runCli(['send', 'main', call, '--wait', '120'], { cwd });
      expect(asked.code).toBe(0);
      const transcript = await runCli(['sessions', 'transcript', 'main', '--json'], { cwd });
      expect(transcript.stdout).toContain('Unknown tool');
      service.child.kill('SIGTERM');
      const { code, stderr } = await service.ended;
      expect(code).toBe(0);
      expect(stderr.match(/Configuration reloaded/g)).toHaveLength(3);
      expect(stderr).toContain('Configuration was not reloaded; the running configuration stays in use');
    },
  );

  test('npm start hands on the signal, and ends when all has ended (G26)', { timeout: START_MS_MAX }, async () => {
    const env = { HOLDFAST_DATA_DIR: join(cwd, '.holdfast') };
    const service = await startServiceProcess({ env, through: 'npm', readyWithinMs: START_MS_MAX });
    expect(await service.end('SIGTERM')).toBe(0);
    await expect(fetch(`${service.url}/healthz`)).rejects.toThrow('fetch failed');
  });

  test.runIf(isLongForm())(
    'a process answers with the settings of its file, its environment and its options (G31)',
    { timeout: START_MS_MAX },
    async () => {
      const file = join(cwd, 'lanes.json');
      await writeFile(file, '{\n  lanes: {main: 3},\n  owner: {displaySecret: "canary-of-the-file"},\n}');
      const service = await startService({ HOLDFAST_CONFIG: file }, ['--no-migrate']);
      const key = (await readFile(join(cwd, '.holdfast/api-key'), 'utf8')).trim();
      const answer = await fetch(`${service.url}/v1/config`, { headers: { authorization: `Bearer ${key}` } });
      const text = await answer.text();
      service.child.kill('SIGTERM');
      const {
        file: read,
        items,
        versions,
      } = JSON.parse(text) as {
        file: string;
        items: { path: string }[];
        versions: object;
      };
      expect(read).toBe(file);
      expect(items).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ path: 'runtime.concurrency.main', value: 3, source: 'file', at: `${file}:2` }),
          expect.objectContaining({ path: 'runtime.configPath', source: 'environment', at: 'HOLDFAST_CONFIG' }),
          expect.objectContaining({ path: 'start.migrate', value: false, source: 'command line', at: '--no-migrate' }),
          expect.objectContaining({ path: 'start.roles', source: 'default', at: null }),
        ]),
      );
      expect(versions).toMatchObject({ node: process.versions.node, queue: 'postgres', database: 'embedded' });
      expect(text).not.toMatch(new RegExp(`canary|${key}`));
      expect((await service.ended).code).toBe(0);
    },
  );

  test.runIf(isLongForm())(
    'the start lines name a model that ends, with its day',
    { timeout: START_MS_MAX },
    async () => {
      const file = join(cwd, 'old-model.json');
      await writeFile(file, '{agents: {defaults: {model: "anthropic/claude-sonnet-4-5"}}}');
      const service = await startService({ HOLDFAST_CONFIG: file });
      service.child.kill('SIGTERM');
      expect(service.printed).toContainEqual(
        expect.stringMatching(/^warning +anthropic\/claude-sonnet-4-5 .*2026-11-30\..* agent "main"/),
      );
      expect((await service.ended).code).toBe(0);
    },
  );

  test.runIf(isLongForm())(
    'a reply is streamed while it is written, and a port in use ends the start with a fix',
    { timeout: START_MS_MAX },
    async () => {
      const service = await startService();
      const streamed = await runCli(['send', 'other', '[[slow: 20]] [[reply: one two three]]', '--stream'], { cwd });
      const turns = await runCli(['turns', 'list', '--session', 'other', '--json'], { cwd });
      const { items } = JSON.parse(turns.stdout) as { items: { id: string }[] };
      const watched = await runCli(['turns', 'watch', items[0]?.id ?? ''], { cwd });
      const second = await runCli(['start'], { cwd, env: { HOLDFAST_PORT: new URL(service.url).port } });
      service.child.kill('SIGINT');
      expect(streamed).toMatchObject({ code: 0, stdout: 'one two three\n' });
      expect(watched.stdout).toContain('model #1  end_turn');
      expect(second).toMatchObject({ code: 1, stdout: '' });
      expect(second.stderr).toMatch(/the port is in use: .*\nFix: .*HOLDFAST_PORT/);
      expect((await service.ended).code).toBe(0);
    },
  );
});

describe('a start that fails', () => {
  /** Where the data directory would be. */
  const dataDirOf = (name: string): string => join(cwd, 'failed', name);

  /** The output of a start that ends by itself; fails unless it is a sentence and a fix. */
  async function failedStart(env: Record<string, string>): Promise<{ code: number | null; said: string }> {
    const { code, stdout, stderr } = await runCli(['start'], { cwd, env: { HOLDFAST_PORT: '0', ...env } });
    // Before it, the log.
    const said = stderr.slice(stderr.indexOf('holdfast: '));
    expect(stdout).toBe('');
    expect(said).toMatch(/^holdfast: .+\nFix: .+\n$/);
    return { code, said };
  }

  test('because its port is in use has made no data directory', { timeout: START_MS_MAX }, async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const dataDir = dataDirOf('port');
    const port = String((other.address() as AddressInfo).port);
    const { code, said } = await failedStart({ HOLDFAST_DATA_DIR: dataDir, HOLDFAST_PORT: port });
    expect(said).toMatch(/the port is in use: .*\nFix: .*HOLDFAST_PORT/);
    expect([code, existsSync(dataDir)]).toEqual([1, false]);
  });

  test('after it has made a data directory removes it', { timeout: START_MS_MAX }, async () => {
    const config = join(cwd, 'missing-plugin.json');
    await writeFile(config, '{plugins: ["./missing-plugin.mjs"]}');
    const dataDir = dataDirOf('plugin');
    const { said } = await failedStart({ HOLDFAST_DATA_DIR: dataDir, HOLDFAST_CONFIG: config });
    expect(said).toMatch(/missing-plugin\.mjs/);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('keeps a data directory that was there, with what is in it', { timeout: START_MS_MAX }, async () => {
    const dataDir = dataDirOf('kept');
    await mkdir(dataDir, { recursive: true });
    await writeFile(join(dataDir, 'api-key'), '');
    const { code, said } = await failedStart({ HOLDFAST_DATA_DIR: dataDir });
    expect(said).toContain(`${dataDir}/api-key is empty\nFix: delete it`);
    expect([code, existsSync(join(dataDir, 'api-key'))]).toEqual([1, true]);
  });

  test.each([
    ['is a file', '/dev/null', '/dev/null is not a folder'],
    ['is below a file', '/dev/null/data', '/dev/null/data cannot be created'],
    ['cannot be made', '/proc/data', '/proc/data cannot be created'],
  ])('because its data directory %s names it', { timeout: START_MS_MAX }, async (_, dataDir, fault) => {
    const { code, said } = await failedStart({ HOLDFAST_DATA_DIR: dataDir });
    expect(said).toContain(fault);
    expect(said).toContain('set HOLDFAST_DATA_DIR');
    expect(code).toBe(10);
  });

  test('because its address is of another machine says which setting to change', async () => {
    const { code, said } = await failedStart({ HOLDFAST_HOST: '192.0.2.1', HOLDFAST_PORT: '7420' });
    expect(said).toMatch(/^holdfast: cannot listen at 192\.0\.2\.1, port 7420: .*\nFix: set HOLDFAST_HOST/);
    expect(code).toBe(78);
  });
});

test.each(['start', 'migrate'])(
  '%s without its database exits 4 with a fix',
  { timeout: START_MS_MAX },
  async (command) => {
    const result = await runCli([command], { cwd, env: { DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/db' } });
    expect(result).toMatchObject({ code: 4, stdout: '' });
    expect(result.stderr).toMatch(/ECONNREFUSED 127\.0\.0\.1:1\nFix: /);
    expect(result.stderr).not.toContain('hunter2');
  },
);
