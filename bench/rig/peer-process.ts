// The peers of `bench/peers`: installs their package, and starts one of them as a child process
// that is asked over HTTP, like the service.
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runClosedLoop, type LoadResult } from './closed-loop.ts';
import { openHttpClient } from './http-client.ts';
import { historyEntriesUsual, historyOf } from './prompts.ts';

export type PeerName = 'bullmq' | 'dbos';

export interface Peer {
  /** Runs the load on fresh sessions with 20 kB of history each. */
  run(load: { sessions: number; turnsEach: number; text: string }): Promise<LoadResult>;
  stop(): Promise<void>;
}

const folder = fileURLToPath(new URL('../peers', import.meta.url));
const socketsMax = 256;

/**
 * Installs the packages in the lock file of `bench/peers`. The main package depends on none of
 * them.
 */
export async function installPeers(): Promise<void> {
  await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], {
    cwd: folder,
  });
}

/**
 * Starts a peer on an empty database and resolves when it listens. It ends with this process at the
 * latest.
 */
export async function startPeer(
  name: PeerName,
  servers: { databaseUrl: string; redisUrl: string; modelUrl: string },
): Promise<Peer> {
  const child = fork(`${folder}/${name}-main.ts`, {
    env: {
      ...process.env,
      DATABASE_URL: servers.databaseUrl,
      REDIS_URL: servers.redisUrl,
      MODEL_URL: servers.modelUrl,
    },
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the peer ${name} ended with ${String(code)}`);
  });
  const [url] = (await Promise.race([once(child, 'message'), ended])) as [string];
  const exited = ended.catch(() => undefined);
  const http = openHttpClient(url, '', socketsMax);
  async function send(session: number, text: string): Promise<void> {
    const { status, body } = await http.post('/turns', { session, text });
    if (status === 200 && (body as { reply: string }).reply === 'Done.') return;
    throw new Error(`${name} answered ${status}: ${JSON.stringify(body).slice(0, 1000)}`);
  }
  return {
    async run({ sessions: count, ...load }) {
      const seeded = await http.post('/sessions', { count, history: historyOf(historyEntriesUsual) });
      if (seeded.status !== 200) throw new Error(`${name} made no sessions: ${JSON.stringify(seeded.body)}`);
      const { sessions } = seeded.body as { sessions: number[] };
      const result = await runClosedLoop({ ...load, sessions, turn: (session) => send(session, load.text) });
      // As the service is asked: each run begins with new connections.
      http.closeIdle();
      return result;
    },
    async stop() {
      http.close();
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
