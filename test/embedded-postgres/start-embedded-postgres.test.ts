// The embedded server on real files, processes and signals. Each test has a data directory of its
// own; those that do not look at a cold start have a copy of one that has seen it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/start-embedded-postgres.ts';
import {
  CAN_RUN_AS_NOBODY,
  chownAll,
  clusterOf,
  copyDataDir,
  IS_ROOT,
  isAlive,
  makeDir,
  NOBODY,
} from './test-machine.ts';
import { query, spawnHoldfast, sweep, until, untilBusy } from './test-machine.ts';

/** A data directory after a cold start, a table `kept` and a clean stop. */
let template: string;

beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), 'holdfast-embedded-template-'));
  const server = await startEmbeddedPostgres({ dataDir: template });
  expect(server).toMatchObject({
    url: expect.stringMatching(/^postgres:\/\/holdfast:[\w-]{32}@127\.0\.0\.1:\d+\/holdfast$/),
    wasAdopted: false,
  });
  await query(server.url, 'CREATE TABLE kept AS SELECT 7 AS number');
  await server.stop();
});
afterEach(sweep);
afterAll(() => rmSync(template, { recursive: true }));

it('keeps its data and its port across a clean stop, and uses another port when that one is in use', async () => {
  const dataDir = copyDataDir(template);
  const first = await startEmbeddedPostgres({ dataDir });
  expect(await query(first.url, 'SELECT number FROM kept')).toEqual([{ number: 7 }]);
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);
  expect(existsSync(join(clusterOf(dataDir), 'postmaster.pid'))).toBe(false);

  const second = await startEmbeddedPostgres({ dataDir });
  expect(second).toMatchObject({ url: first.url, wasAdopted: false });
  await second.stop();

  const occupier = createServer().listen(Number(new URL(second.url).port), '127.0.0.1');
  await once(occupier, 'listening');
  const third = await startEmbeddedPostgres({ dataDir });
  expect(third.url).not.toBe(second.url);
  expect(await query(third.url, 'SELECT number FROM kept')).toEqual([{ number: 7 }]);
  await third.stop();
  occupier.close();
});

it('commits to disk, listens on loopback alone and refuses connections without the password', async () => {
  const dataDir = copyDataDir(template);
  const server = await startEmbeddedPostgres({ dataDir });
  const settings = await query(
    server.url,
    `SELECT name, setting FROM pg_settings WHERE name IN
       ('fsync', 'synchronous_commit', 'full_page_writes', 'server_encoding', 'listen_addresses', 'unix_socket_directories')`,
  );
  expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    server_encoding: 'UTF8',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
  });
  const withoutPassword = server.url.replace(/:[\w-]{32}@/, ':wrong@');
  await expect(query(withoutPassword, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
  expect(statSync(join(clusterOf(dataDir), 'holdfast-password')).mode & 0o777).toBe(0o600);
  await server.stop();
});

it.runIf(IS_ROOT)('gives the server of root to an unprivileged user, even where that user cannot enter', async () => {
  const dataDir = copyDataDir(template);
  chmodSync(dataDir, 0o700);
  const server = await startEmbeddedPostgres({ dataDir });
  expect(statSync(`/proc/${server.pid}`).uid).not.toBe(0);
  expect(statSync(dataDir).uid).toBe(0);
  expect(statSync(clusterOf(dataDir))).toMatchObject({ uid: statSync(`/proc/${server.pid}`).uid, mode: 0o40700 });
  expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await server.stop();
});

it.runIf(CAN_RUN_AS_NOBODY)('runs as an ordinary user', async () => {
  const holdfast = spawnHoldfast(makeDir(NOBODY), NOBODY);
  const { pid } = await holdfast.server;
  expect(statSync(`/proc/${pid}`).uid).toBe(NOBODY.uid);
  await holdfast.stop();
  expect(isAlive(pid)).toBe(false);
});

it('survives the process group that started it, is adopted by the next process, and stopped by it', async () => {
  const dataDir = copyDataDir(template);
  const killed = spawnHoldfast(dataDir);
  const { pid, url } = await killed.server;
  await killed.killGroup();
  expect(isAlive(pid)).toBe(true);

  const next = await startEmbeddedPostgres({ dataDir });
  expect(next).toMatchObject({ pid, url, wasAdopted: true });
  await next.stop();
  expect(isAlive(pid)).toBe(false);
});

it('recovers when it was killed too, and its process id is by then that of another process of its user', async () => {
  const dataDir = copyDataDir(template);
  const killed = spawnHoldfast(dataDir);
  const { pid, url } = await killed.server;
  await query(url, 'UPDATE kept SET number = 8');
  await killed.killGroup();
  process.kill(pid, 'SIGKILL');
  await until(() => !isAlive(pid));

  const pidFile = join(clusterOf(dataDir), 'postmaster.pid');
  const { uid, gid } = statSync(pidFile);
  const other = spawn('sleep', ['60'], IS_ROOT ? { uid, gid } : {});
  writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(String(pid), String(other.pid)));

  const next = await startEmbeddedPostgres({ dataDir });
  expect(next.wasAdopted).toBe(false);
  expect(await query(next.url, 'SELECT number FROM kept')).toEqual([{ number: 8 }]);
  await next.stop();
  expect(other.exitCode).toBeNull();
  other.kill();
});

it('starts again although a process of the killed server is busy with a statement, and rolls that back', async () => {
  const dataDir = copyDataDir(template);
  const killed = await startEmbeddedPostgres({ dataDir });
  const endless = query(
    killed.url,
    'UPDATE kept SET number = (SELECT count(*) FROM generate_series(1, 1000000000000))',
  );
  const failure = endless.catch((error: unknown) => error);
  await untilBusy(killed.url);
  process.kill(killed.pid, 'SIGKILL');

  const next = await startEmbeddedPostgres({ dataDir });
  expect(await failure).toBeInstanceOf(Error);
  expect(await query(next.url, 'SELECT number FROM kept')).toEqual([{ number: 7 }]);
  await Promise.all([killed.stop(), next.stop()]);
});

it('is one server for two processes that start simultaneously, and the last user stops it', async () => {
  const dataDir = makeDir();
  const processes = [spawnHoldfast(dataDir), spawnHoldfast(dataDir)];
  const servers = await Promise.all(processes.map(({ server }) => server));
  expect(servers[0]?.pid).toBe(servers[1]?.pid);
  expect(servers.filter(({ wasAdopted }) => wasAdopted)).toHaveLength(1);

  const pid = servers[0]?.pid ?? 0;
  const starter = servers.findIndex(({ wasAdopted }) => !wasAdopted);
  await processes[starter]?.stop();
  expect(isAlive(pid)).toBe(true);
  await processes[1 - starter]?.stop();
  expect(isAlive(pid)).toBe(false);
});

it('deletes a cluster only if it has made it, it is unused, and no other process uses it', async () => {
  const dataDir = makeDir();
  const maker = await startEmbeddedPostgres({ dataDir });
  const other = spawnHoldfast(dataDir);
  await other.server;
  await maker.discard(async () => true);
  expect(isAlive(maker.pid)).toBe(true);
  await other.stop();
  const later = await startEmbeddedPostgres({ dataDir });
  await later.discard(async () => true);
  expect(isAlive(later.pid)).toBe(false);
  expect(existsSync(clusterOf(dataDir))).toBe(true);

  const elsewhere = makeDir();
  const unused = await startEmbeddedPostgres({ dataDir: elsewhere });
  await unused.discard(async () => (await query(unused.url, 'SELECT 1 AS one')).length === 1);
  expect(isAlive(unused.pid)).toBe(false);
  expect(readdirSync(elsewhere).toSorted()).toEqual(['postgres-users.lock', 'postgres.lock', 'postgres.log']);
  const used = await startEmbeddedPostgres({ dataDir: elsewhere });
  await used.discard(async () => false);
  expect(existsSync(clusterOf(elsewhere))).toBe(true);
});

it('is not kept running by a user that was killed', async () => {
  const dataDir = copyDataDir(template);
  const own = await startEmbeddedPostgres({ dataDir });
  const other = spawnHoldfast(dataDir);
  await other.server;
  await other.killGroup();
  await own.stop();
  expect(isAlive(own.pid)).toBe(false);
});

it('starts over when a crash came in the middle of initdb', async () => {
  const isFinished = (dir: string) => existsSync(clusterOf(dir));
  const unfinished = (dir: string) => readdirSync(dir).filter((name) => name.startsWith('postgres.unfinished-'));
  const hasBegun = (dir: string) => unfinished(dir).some((name) => existsSync(join(dir, name, 'PG_VERSION')));
  let dataDir: string;
  do {
    // On a busy machine initdb may have ended before the crash: then nothing was tested, and
    // another one is begun.
    dataDir = makeDir();
    const killed = spawnHoldfast(dataDir);
    await until(() => hasBegun(dataDir) || isFinished(dataDir));
    await killed.killGroup();
  } while (isFinished(dataDir));

  const server = await startEmbeddedPostgres({ dataDir });
  expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(unfinished(dataDir)).toEqual([]);
  await server.stop();
});

it('does not take the server of a directory for that of its copy', async () => {
  const dataDir = copyDataDir(template);
  const original = await startEmbeddedPostgres({ dataDir });
  const copyDir = copyDataDir(dataDir);

  const copy = await startEmbeddedPostgres({ dataDir: copyDir });
  expect(copy.pid).not.toBe(original.pid);
  expect(copy.url).not.toBe(original.url);
  await Promise.all([copy.stop(), original.stop()]);
  expect([isAlive(copy.pid), isAlive(original.pid)]).toEqual([false, false]);
});

it('leaves a cluster of another version and a directory that is not a cluster unchanged, and names the next step', async () => {
  const dataDir = makeDir(IS_ROOT ? NOBODY : undefined);
  mkdirSync(clusterOf(dataDir), { mode: 0o700 });
  writeFileSync(join(clusterOf(dataDir), 'PG_VERSION'), '17\n');
  if (IS_ROOT) chownAll(clusterOf(dataDir), NOBODY);
  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
    code: 'embedded_postgres_data_dir_unusable',
    message: expect.stringContaining('move it away'),
  });

  writeFileSync(join(clusterOf(dataDir), 'holdfast-password'), 'old\n');
  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
    code: 'embedded_postgres_version_mismatch',
  });
  expect(readdirSync(clusterOf(dataDir)).sort()).toEqual(['PG_VERSION', 'holdfast-password']);
});
