// A PgBouncer of a test's own before a PostgreSQL server, on a free loopback port. Needs the
// `pgbouncer` binary.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort } from './free-port.ts';

export interface Pooler {
  /** The database through the pooler. */
  url: string;
  stop(): Promise<void>;
}

/** False: there is no binary, and tests with it are left out. */
export function hasPgbouncer(): boolean {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  return folders.some((folder) => existsSync(join(folder, 'pgbouncer')));
}

/**
 * Starts one before the database; `settings` are lines of its configuration, over those that it
 * needs to run.
 */
export async function startPgbouncer(
  databaseUrl: string,
  settings: readonly string[],
  connectQuery?: string,
): Promise<Pooler> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const name = pathname.slice(1);
  const own = await findFreePort();
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-pgbouncer-'));
  const user = decodeURIComponent(username);
  const secret = password === '' ? '' : ` password=${decodeURIComponent(password)}`;
  const query = connectQuery === undefined ? '' : ` connect_query='${connectQuery}'`;
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    [
      '[databases]',
      `${name} = host=${hostname} port=${port} user=${user}${secret}${query}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${own}`,
      'unix_socket_dir =',
      'auth_type = any',
      ...settings,
      '',
    ].join('\n'),
  );
  // It refuses to run as root, and another user must be able to read its configuration.
  await chmod(folder, 0o755);
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}${delimiter}/usr/sbin` };
  const child = spawn('pgbouncer', [...asUser, join(folder, 'pgbouncer.ini')], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  const said: string[] = [];
  const { promise: isUp, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line);
    if (line.includes('process up')) resolve();
  });
  child.once('error', reject);
  void ended.then(() => reject(new Error(`pgbouncer ended:\n${said.join('\n')}`)));
  await isUp;
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(own);
  return {
    url: url.toString(),
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
