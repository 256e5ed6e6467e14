// The service as its users see it: a process, or several, started with an environment and asked
// over HTTP.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startServiceProcess, type ServiceProcess } from '../../test/servers/service-process.ts';
import type { BenchPlace } from './bench-place.ts';
import { runClosedLoop, type LoadResult } from './closed-loop.ts';
import { openHttpClient, type HttpAnswer } from './http-client.ts';
import { historyEntriesUsual } from './prompts.ts';
import { seedSessions } from './seed-sessions.ts';

export interface ServiceOptions {
  place: BenchPlace;
  modelUrl: string;
  /** The checkout to run; absent: this one. */
  rootDir?: string;
  /** With the queue in this Redis; absent: in the database. */
  redisUrl?: string;
  /**
   * The roles of each process, the one that serves the API first; absent: one process with all
   * roles.
   */
  roles?: readonly string[];
  /** The configuration file. */
  settings?: object;
  /** `HOLDFAST_CONCURRENCY`; absent: more concurrent turns than any load has sessions. */
  turnsAtOnce?: string;
  /** Further variables. */
  env?: Record<string, string>;
}

export interface ServiceLoad {
  /** How many fresh sessions with 20 kB of history each, or which sessions. */
  sessions: number | string[];
  turnsEach: number;
  text: string;
  /** The model of the turns; absent: the agent's. */
  model?: string;
  spreadMs?: number;
}

export interface BenchService {
  /** Of the process that serves the API. */
  pid: number;
  /** Of all its processes. */
  pids: readonly number[];
  url: string;
  run(load: ServiceLoad): Promise<LoadResult>;
  /** Makes sessions with histories and returns their keys. */
  seed(sessions: number, historyEntries: number): Promise<string[]>;
  /** Sends a message and resolves when it is answered as it should be. Rejects when it is not. */
  send(session: string, text: string, model?: string): Promise<void>;
  /** Asks it anything; rejects unless the answer is a good one. */
  ask(method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Promise<unknown>;
  /** Drains it; resolves when it has ended. */
  stop(): Promise<void>;
  /** Ends it immediately, whatever it does. */
  kill(): Promise<void>;
}

export const benchApiKey = 'bench-0123456789';
const socketsMax = 256;
const waitSeconds = 300;

/** Concurrent turns in each lane; more than any load here has sessions. */
const concurrency = 256;

/** The roles of a process that has all of them. */
export const allRoles = 'api,worker,scheduler';

/** The roles of four processes. */
export const splitRoles = ['api', 'scheduler', 'worker', 'worker'];

/**
 * Starts the service with all roles, against the model at this address. It migrates its database.
 */
export async function startBenchService(options: ServiceOptions): Promise<BenchService> {
  const { place, modelUrl, rootDir, redisUrl, roles = [allRoles], settings = {}, turnsAtOnce, env: more } = options;
  const configPath = join(place.dataDir, 'bench.json');
  writeFileSync(configPath, JSON.stringify(settings));
  const env = {
    HOLDFAST_DATA_DIR: place.dataDir,
    HOLDFAST_CONFIG: configPath,
    HOLDFAST_API_KEY: benchApiKey,
    HOLDFAST_CONCURRENCY: turnsAtOnce ?? String(concurrency),
    HOLDFAST_LOG_LEVEL: 'warn',
    ANTHROPIC_API_KEY: 'scripted',
    ANTHROPIC_BASE_URL: modelUrl,
    ...(redisUrl === undefined ? {} : { DATABASE_URL: place.redisDatabaseUrl, REDIS_URL: redisUrl }),
    ...(roles.length > 1 ? { DATABASE_URL: place.splitDatabaseUrl } : {}),
    ...more,
  };
  const databaseUrl = env.DATABASE_URL ?? place.databaseUrl;
  const processes: ServiceProcess[] = [];
  for (const each of roles) {
    processes.push(await startServiceProcess({ env, roles: each, ...(rootDir === undefined ? {} : { rootDir }) }));
  }
  // The API starts first.
  const service = processes[0]!;
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    await Promise.all(processes.map((each) => each.end(signal)));
  };
  const http = openHttpClient(service.url, benchApiKey, socketsMax);
  const seed = (sessions: number, entries: number): Promise<string[]> => seedSessions(databaseUrl, sessions, entries);
  async function send(session: string, text: string, model?: string): Promise<void> {
    const answer = await http.post(
      `/v1/sessions/${session}/messages`,
      { text, model },
      { prefer: `wait=${waitSeconds}` },
    );
    const fault = faultOf(answer);
    if (fault !== null) {
      throw new Error(`${session}: ${fault}\n${processes.map((each) => each.output()).join('\n')}`);
    }
  }
  return {
    pid: service.pid,
    pids: processes.map(({ pid }) => pid),
    url: service.url,
    async run({ text, model, ...load }) {
      const sessions =
        typeof load.sessions === 'number' ? await seed(load.sessions, historyEntriesUsual) : load.sessions;
      const result = await runClosedLoop({ ...load, sessions, turn: (session) => send(session, text, model) });
      // The other sides are measured next. The service would close these meanwhile, maybe just when
      // the next round uses one.
      http.closeIdle();
      return result;
    },
    seed,
    send,
    async ask(method, path, body) {
      const answer = await http.request(method, path, body);
      if (answer.status < 300) return answer.body;
      throw new Error(`${method} ${path} was answered ${answer.status}: ${JSON.stringify(answer.body).slice(0, 1000)}`);
    },
    async stop() {
      http.close();
      await end('SIGTERM');
    },
    kill: () => end('SIGKILL'),
  };
}

interface Settled {
  reply: string | null;
  turn: { steps: { tools: { status: string }[] }[] } | null;
}

/**
 * Why the answer does not count, since a turn that is fast and wrong is not measured; null if it
 * has its reply and every tool has run.
 */
function faultOf({ status, body }: HttpAnswer): string | null {
  if (status !== 200) return `answered ${status}: ${JSON.stringify(body).slice(0, 1000)}`;
  const { reply, turn } = body as Settled;
  const failed = turn?.steps.flatMap(({ tools }) => tools).find((tool) => tool.status !== 'done');
  if (failed !== undefined) return `a tool call did not end as done: ${JSON.stringify(failed).slice(0, 1000)}`;
  return turn === null || reply !== 'Done.' ? `unexpected reply ${JSON.stringify(reply)} of the turn` : null;
}
