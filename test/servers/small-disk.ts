// Disks that are full when a test wants them to be, for the tables of a database. A real one is a
// small file system in memory, which only root may mount, and not in every container; where it
// cannot be mounted, and beside it, triggers raise the error of a full disk.
import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { chooseServerUser } from '../../src/embedded-postgres/server-user.ts';
import type { PostgresServer } from './postgres-server.ts';

export interface SmallDisk {
  /** Of a new database whose tables are on the disk. */
  databaseUrl: string;
  /** From now on, tables cannot grow. Call it when the tables are there. */
  fill(): Promise<void>;
  free(): Promise<void>;
  /** Call it after the server was stopped. */
  remove(): void;
}

export type MakeSmallDisk = (server: PostgresServer) => Promise<SmallDisk>;

/** True when this process can mount a file system. */
export function canMount(): boolean {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-mount-'));
  try {
    execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dir], { stdio: 'ignore' });
    execFileSync('/usr/bin/umount', [dir], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** A tablespace on a file system of 128 MB. */
export const mountSmallDisk: MakeSmallDisk = async (server) => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-disk-'));
  execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'size=128m', 'tmpfs', dir]);
  const user = chooseServerUser();
  if (user !== null) chownSync(dir, user.uid, user.gid);
  await run(server.url, `create tablespace small location '${dir}'`);
  await run(server.url, 'create database small tablespace small');
  const filler = join(dir, 'filler');
  return {
    databaseUrl: await server.createDatabase('small'),
    async fill() {
      try {
        for (let n = 0; ; n += 1) writeFileSync(`${filler}-${n}`, Buffer.alloc(1024 * 1024, 1));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    },
    free: async () => void execFileSync('sh', ['-c', `rm -f ${filler}-*`]),
    remove() {
      execFileSync('/usr/bin/umount', [dir]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
};

/**
 * Triggers that raise 53100 for each new entry and message, as the server does when a table cannot
 * grow.
 */
export const pretendSmallDisk: MakeSmallDisk = async (server) => {
  const databaseUrl = await server.createDatabase('pretended');
  const tables = ['holdfast.entries', 'holdfast.inbox'];
  return {
    databaseUrl,
    fill: () =>
      run(
        databaseUrl,
        `create function public.disk_is_full() returns trigger language plpgsql as $$ begin
           raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
         ${tables.map((table) => `create trigger full_disk before insert on ${table} for each row execute function public.disk_is_full();`).join('\n')}`,
      ),
    free: () => run(databaseUrl, tables.map((table) => `drop trigger full_disk on ${table};`).join('\n')),
    remove: () => undefined,
  };
};

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
