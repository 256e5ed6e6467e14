// A Redis server of a test's own on a free loopback port, without persistence: what it forgets at a
// restart is what a queue may lose. Needs the `redis-server` binary.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';

export interface RedisServer {
  url: string;
  port: number;
  /** SIGKILLs it; all its data is lost. */
  kill(): Promise<void>;
  /**
   * Stops the process: connections stay and nothing is answered, until the returned function is
   * called.
   */
  freeze(): () => void;
  /** Starts it again on the same port, empty. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Whether the tests that need Redis run: `HOLDFAST_TEST_REDIS` says `on` or `off`; else they do
 * when there is a `redis-server`. The run says so when they are left out.
 */
export function isRedisWanted(): boolean {
  const wanted = process.env['HOLDFAST_TEST_REDIS'];
  if (wanted === 'on' || wanted === 'off') return wanted === 'on';
  return hasBinary();
}

function hasBinary(): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'redis-server')));
}

/** Starts a server; throws with an instruction when there is no binary. */
export async function startTestRedis(): Promise<RedisServer> {
  const port = await freePort();
  let server = await startServer(port);
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    kill: () => end(server, 'SIGKILL'),
    freeze() {
      server.kill('SIGSTOP');
      return () => server.kill('SIGCONT');
    },
    async restart() {
      server = await startServer(port);
    },
    stop: () => end(server, 'SIGTERM'),
  };
}

async function startServer(port: number): Promise<ChildProcess> {
  const flags = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', flags, { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('Ready to accept connections')) resolve();
  });
  child.once('error', (error: NodeJS.ErrnoException) => reject(error.code === 'ENOENT' ? new Error(MISSING) : error));
  child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
  await promise;
  return child;
}

const MISSING =
  'There is no redis-server. Install it (Debian: apt-get install redis-server), or leave these tests out with HOLDFAST_TEST_REDIS=off.';

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill(signal);
  await exited;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
