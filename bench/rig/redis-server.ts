// A Redis server of the benchmark's own, on a free loopback port, that keeps its data as a careful
// operator would: append-only file, synced every second.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort } from '../../test/servers/free-port.ts';

export interface RedisServer {
  url: string;
  stop(): Promise<void>;
}

/** Starts it. Rejects when there is no `redis-server` on the path. */
export async function startRedisServer(): Promise<RedisServer> {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-bench-redis-'));
  const port = await findFreePort();
  const flags = { port: String(port), bind: '127.0.0.1', dir, save: '', appendonly: 'yes', appendfsync: 'everysec' };
  const child = spawn(
    'redis-server',
    Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const { promise: isReady, resolve, reject } = Promise.withResolvers<void>();
  const endWithBench = (): void => {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  };
  process.once('exit', endWithBench);
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('Ready to accept connections')) resolve();
  });
  child.once('error', (error: NodeJS.ErrnoException) => {
    reject(error.code === 'ENOENT' ? new Error('there is no redis-server on the PATH') : error);
  });
  child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
  try {
    await isReady;
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      process.off('exit', endWithBench);
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
