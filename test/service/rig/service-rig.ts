// A whole service of real processes, as its users run it: a database, a queue of either kind, a model server, a server that counts
// effects, and any number of processes with any roles. Every line that a process prints is kept. The product has no code for
// these tests.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { describe } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../../scripted-model/scripted-model.ts';
import { startEffectServer, type EffectServer } from '../../crash/rig/effect-server.ts';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { isRedisWanted, startTestRedis } from '../../servers/redis.ts';
import { isLongForm } from '../../servers/test-form.ts';
import { startServiceProcess, type ServiceProcess } from '../../servers/service-process.ts';
import { openServiceApi, type ServiceApi } from './service-api.ts';

/** For tests in which a process crashes: takeovers are soon. In all others no worker loses a lock, however busy the machine. */
export const shortLease = { HOLDFAST_LEASE_MS: '1500' };
const reconcileMs = 500;
export const apiKey = 'hf_service_tests_0123456789';

/**
 * How late a guaranteed time limit may be reached, because the machine is busy. The work that a test ends would otherwise run for ten minutes,
 * so the bound still shows that it was ended, and by what.
 */
export const busyMachineMs = 30_000;

/**
 * Where BullMQ keeps its data: each suite must pass for all of them, each with its own service. The short form uses one: the differences
 * between the queues are covered by their conformance tests, which run on both.
 */
export const queues: { queue: Queue }[] = [
  { queue: 'postgres' },
  ...(isLongForm() && isRedisWanted() ? [{ queue: 'redis' as const }] : []),
];

/** Describes a suite for each queue; the two run at the same time, because they mostly wait, and each runs its tests in order. */
export function onEachQueueAtOnce(suite: (queue: Queue) => void): void {
  describe.concurrent.each(queues)('with the queue in $queue', ({ queue }) => {
    describe('the service', { concurrent: false }, () => suite(queue));
  });
}

export type Queue = 'postgres' | 'redis';

export interface ServiceRigOptions {
  queue: Queue;
  /** Absent: a new one on the shared server, which is dropped at the end. */
  databaseUrl?: string;
  /** The configuration file, merged over what all tests need. */
  config?: Record<string, unknown>;
  env?: Record<string, string>;
}

/** A process of the service. */
export type RunningProcess = Pick<ServiceProcess, 'url' | 'isAlive' | 'output' | 'end'> & { child: ChildProcess };

export interface ProcessOptions {
  /** Where its api listens; absent: on any port. */
  port?: number;
  /** Added to the environment that all processes have. */
  env?: Record<string, string>;
  /** The tree of another version, without `port`; absent: this one. */
  rootDir?: string;
}

export interface ServiceRig {
  databaseUrl: string;
  dataDir: string;
  model: ScriptedModel;
  effects: EffectServer;
  /** Every line that any process printed, in the order of arrival. */
  logs: string[];
  /** Starts a process; it is killed with the rig. */
  start(roles: string, own?: ProcessOptions): Promise<RunningProcess>;
  /** The live process that holds the session; rejects when no process of this rig claims it. */
  holderOf(session: string): Promise<RunningProcess>;
  /** A client of a process with an api. */
  apiOf(process: Pick<RunningProcess, 'url'>): ServiceApi;
  /** Asks the database directly, to judge. */
  rows<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

const pluginPath = fileURLToPath(new URL('../../tools/http-effect-tool.ts', import.meta.url));
const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const readyWithinMs = 240_000;
const recordedRequestsMax = 5_000;

/** Prepares everything but the processes of the service, which the test starts. */
export async function openServiceRig(options: ServiceRigOptions): Promise<ServiceRig> {
  const closers: (() => unknown)[] = [];
  try {
    return await open(options, closers);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function open(options: ServiceRigOptions, closers: (() => unknown)[]): Promise<ServiceRig> {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-service-'));
  closers.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const databaseUrl = options.databaseUrl ?? (await freshDatabase(closers));
  const redis = options.queue === 'redis' ? await startTestRedis() : null;
  closers.push(() => redis?.stop());
  const effects = await startEffectServer();
  closers.push(() => effects.close());
  const model = await startScriptedModel({ recordedRequestsMax });
  closers.push(() => model.close());
  const env = {
    HOLDFAST_CONFIG: writeConfig(dataDir, options.config),
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_API_KEY: apiKey,
    HOLDFAST_RECONCILE_MS: String(reconcileMs),
    HTTP_EFFECT_URL: effects.url,
    DATABASE_URL: databaseUrl,
    ANTHROPIC_API_KEY: 'scripted',
    ANTHROPIC_BASE_URL: model.url,
    ...(redis === null ? {} : { REDIS_URL: redis.url }),
    ...options.env,
  };
  const database = new pg.Pool({ connectionString: databaseUrl, max: 4, application_name: 'judge' });
  // The server may be restarted under it; the next query connects again.
  database.on('error', () => {});
  closers.push(() => database.end());
  const logs: string[] = [];
  const processes: RunningProcess[] = [];
  return {
    databaseUrl,
    dataDir,
    model,
    effects,
    logs,
    async start(roles, { port, env: own = {}, rootDir } = {}) {
      const process =
        port === undefined
          ? await startServiceProcess({
              roles,
              env: { ...env, ...own },
              readyWithinMs,
              ...(rootDir === undefined ? {} : { rootDir }),
            })
          : await startOnPort({ roles, env: { ...env, ...own }, port });
      logs.push(...process.output().split('\n'));
      keepLines(process.child, logs);
      processes.push(process);
      closers.push(() => process.end('SIGKILL'));
      return process;
    },
    holderOf: (session) =>
      waitUntil(`a process holds ${session}`, readyWithinMs, async () => {
        const sql = 'select owner from holdfast.sessions where key = $1';
        const { rows } = await database.query<{ owner: string | null }>(sql, [`agent:main:${session}`]);
        const processId = rows[0]?.owner?.split(':')[1];
        return processes.find(({ child, isAlive }) => isAlive() && String(child.pid) === processId) ?? null;
      }),
    apiOf: (process) => openServiceApi(process.url, apiKey),
    rows: async <Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []) =>
      (await database.query<Row>(sql, values)).rows,
    close: () => closeAll(closers),
  };
}

async function freshDatabase(closers: (() => unknown)[]): Promise<string> {
  const database = await withTestDatabase();
  closers.push(() => database.drop());
  return database.url;
}

function writeConfig(dataDir: string, own: Record<string, unknown> = {}): string {
  const path = join(dataDir, 'holdfast.json');
  const config = {
    plugins: [pluginPath],
    messages: { queue: { debounceMs: 0, cap: 100_000 } },
    ...own,
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

function keepLines(child: ChildProcess, logs: string[]): void {
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => logs.push(...chunk.toString().split('\n').filter(Boolean)));
  }
}

/** As `startServiceProcess`, on a port that another process had before. */
async function startOnPort(options: {
  roles: string;
  env: Record<string, string>;
  port: number;
}): Promise<RunningProcess> {
  const child = spawn(process.execPath, [join(checkout, 'src/cli/bin.mjs'), 'start', '--roles', options.roles], {
    cwd: checkout,
    env: {
      PATH: process.env['PATH'],
      HOLDFAST_LOG_FORMAT: 'json',
      ...options.env,
      HOLDFAST_PORT: String(options.port),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  keepLines(child, lines);
  const url = `http://127.0.0.1:${options.port}`;
  const exited = once(child, 'exit');
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
  const running: RunningProcess = {
    url,
    child,
    isAlive,
    output: () => lines.join('\n'),
    async end(signal) {
      if (isAlive()) child.kill(signal);
      await exited;
      return child.exitCode;
    },
  };
  await waitUntil(`a process on port ${options.port} is ready`, readyWithinMs, async () => {
    if (!isAlive()) throw new Error(`the service ended with ${child.exitCode}:\n${lines.join('\n')}`);
    return (await fetch(`${url}/readyz`).catch(() => null))?.ok === true;
  }).catch(async (error: unknown) => {
    await running.end('SIGKILL');
    throw error;
  });
  return running;
}

async function closeAll(closers: (() => unknown)[]): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}
