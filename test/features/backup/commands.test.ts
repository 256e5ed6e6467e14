// Goal: a backup that was made while the service ran is a whole service again: what waited is
// answered, what ran continues, and nothing of before is lost or changed. Method: a service of real
// processes, the frames of its backup, a restore into an empty database, and a service there.
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../../src/embedded-postgres/start-embedded-postgres.ts';
import { databaseFrames, encodeFrame, readFrames, restoreDatabase } from '../../../src/features/backup/backup-file.ts';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { layOut } from '../../../src/database/migrate.ts';
import { readInputs } from '../../rows/inputs.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { openServiceRig } from '../../service/rig/service-rig.ts';
import { makeFolder } from '../../cli/make-folder.ts';
import { runCli } from '../../cli/run-cli.ts';

const SOON_MS = 240_000;
const WAITING = 5;

async function backupOf(databaseUrl: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of databaseFrames({ databaseUrl, version: '0.0.0', onTable: () => undefined }))
    parts.push(part);
  return Buffer.concat([...parts, encodeFrame({ isComplete: true })]);
}

/** In pieces of odd sizes, as a file may come. */
async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 60_011) yield bytes.subarray(at, at + 60_011);
}

function restore(databaseUrl: string, bytes: Buffer, replaces = false) {
  return restoreDatabase({ databaseUrl, frames: readFrames(pieces(bytes)), replaces, onFile: async () => undefined });
}

/** A hash of the rows of each table. */
async function hashesOf(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'holdfast' and tablename <> 'migrations'`,
    );
    const hashes: Record<string, string> = {};
    for (const { name } of rows) {
      const found = await client.query<{ hash: string }>(
        `select coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') as hash from holdfast.${name} as t`,
      );
      hashes[name] = found.rows[0]?.hash ?? '';
    }
    return hashes;
  } finally {
    await client.end();
  }
}

describe('a backup', () => {
  test('of a running service becomes the same service (G1, G3, G22)', async ({ onTestFinished }) => {
    const before = await openServiceRig({ queue: 'postgres' });
    onTestFinished(() => before.close());
    const api = before.apiOf(await before.start('api,scheduler'));
    const worker = await before.start('worker');
    const answered = await api.send('old', { text: 'ä [[reply: déjà vu]]' });
    await api.settled(answered);
    const running = await api.send('running', { text: '[[delay: 3000]] [[reply: here]]' });
    await waitUntil('the turn runs', SOON_MS, async () => before.model.requests.length >= 2);
    await before.kill(worker);
    const waiting = await Promise.all(
      Array.from({ length: WAITING }, (_, n) => api.send('queue', { text: `[[reply: ${n}]]`, mode: 'followup' })),
    );
    await api.send('later', { text: 'x', deliverAt: '2099-01-01T00:00:00Z' });
    const bytes = gunzipSync(gzipSync(await backupOf(before.databaseUrl)));
    await api.send('queue', { text: 'after the backup' });

    const database = await withTestDatabase();
    onTestFinished(() => database.drop());
    const facts = await restore(database.url, bytes);
    expect(facts).toMatchObject({ sessions: 4, waiting: WAITING + 1, openTurns: 1, doubts: [] });
    const rig = await openServiceRig({ queue: 'postgres', databaseUrl: database.url });
    onTestFinished(() => rig.close());
    const restored = rig.apiOf(await rig.start('api,worker,scheduler'));
    for (const [n, message] of waiting.entries())
      expect(await restored.settled(message)).toMatchObject({ status: 'answered', reply: String(n) });
    expect(await restored.settled(running)).toMatchObject({ status: 'answered' });
    expect((await restored.ask('GET', `/v1/messages/${answered.id}`)).body.reply).toBe('déjà vu');
    const texts = await readInputs(rig, { sessionKey: 'agent:main:queue' }, 'text');
    expect(texts).toHaveLength(WAITING);
  });

  test('restores every table byte for byte, and replaces data only on request', async ({ onTestFinished }) => {
    const rig = await openServiceRig({ queue: 'postgres' });
    onTestFinished(() => rig.close());
    const service = await rig.start('api,worker,scheduler');
    const api = rig.apiOf(service);
    await api.settled(
      await api.send('one', { text: '[[tool: write {"file_path": "a.md", "content": "x"}]] [[reply: done]]' }),
    );
    await service.end('SIGTERM');
    const bytes = await backupOf(rig.databaseUrl);
    const database = await withTestDatabase();
    onTestFinished(() => database.drop());
    await restore(database.url, bytes);
    expect(await hashesOf(database.url)).toEqual(await hashesOf(rig.databaseUrl));
    await expect(restore(database.url, bytes)).rejects.toMatchObject({ code: 'not_empty' });
    await restore(database.url, bytes, true);
    const hashes = await hashesOf(database.url);
    // A damaged file changes nothing.
    for (const damaged of [
      bytes.subarray(0, bytes.length - 40),
      bytes.subarray(0, bytes.length >> 1),
      Buffer.from('no backup'),
    ])
      await expect(restore(database.url, damaged, true)).rejects.toThrow();
    expect(await hashesOf(database.url)).toEqual(hashes);
    const newer = Buffer.concat([
      encodeFrame({ format: 'holdfast-backup-1', migrations: ['9999_later.sql'] }),
      encodeFrame({ isComplete: true }),
    ]);
    await expect(restore(database.url, newer, true)).rejects.toThrow('it is newer');
  });

  test('takes the database of an older version as it is, and a restore migrates it', async ({ onTestFinished }) => {
    const cwd = await makeFolder('holdfast-older-');
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    const run = (folder: string, ...args: string[]) =>
      runCli(args, { cwd, env: { HOLDFAST_DATA_DIR: join(cwd, folder) } });
    const empty = await run('older', 'backup', 'empty.backup');
    expect(empty).toMatchObject({ code: 1, stderr: expect.stringMatching(/lacks \d+ of the migrations.*\nFix: /) });
    const older = await startEmbeddedPostgres({ dataDir: join(cwd, 'older') });
    const client = new pg.Client({ connectionString: older.url });
    await client.connect();
    const names = (await readdir(new URL('../../../migrations/', import.meta.url))).filter((name) =>
      name.endsWith('.sql'),
    );
    await layOut(client, { upTo: names.toSorted().slice(0, -5) });
    await client.end();
    await older.stop();
    expect(await run('older', 'backup', 'older.backup')).toMatchObject({ code: 0 });
    expect((await run('older', 'migrate', '--plan', '--json')).stdout).toContain(`"${names.toSorted().at(-5)}"`);
    expect(await run('newer', 'restore', 'older.backup')).toMatchObject({ code: 0 });
    expect((await run('newer', 'migrate')).stderr).toContain('nothing to apply');
  });
});
