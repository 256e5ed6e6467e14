// The process of retain-main.ts behind its own proxy: it can be killed at any of its statements,
// and is restarted.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startPostgresProxy, type PostgresProxy } from '../../servers/postgres-proxy.ts';

const MAIN = fileURLToPath(new URL('./retain-main.ts', import.meta.url));

export interface RetentionProcess {
  proxy: PostgresProxy;
  /** Starts it again when it is dead. */
  revive(): void;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** Starts it. */
export async function startRetentionProcess(databaseUrl: string): Promise<RetentionProcess> {
  const { hostname: host, port } = new URL(databaseUrl);
  const proxy = await startPostgresProxy({ host, port: Number(port) });
  let child: ChildProcess | null = null;
  const isAlive = (): boolean => child !== null && child.exitCode === null && child.signalCode === null;
  const revive = (): void => {
    if (!isAlive()) child = spawn(process.execPath, [MAIN, proxy.urlFor(databaseUrl)], { stdio: 'inherit' });
  };
  async function kill(): Promise<void> {
    if (child === null || !isAlive()) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  revive();
  return {
    proxy,
    revive,
    kill,
    async close() {
      await kill();
      await proxy.close();
    },
  };
}
