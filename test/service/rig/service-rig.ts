// A whole service of real processes, as its users run it: a database, a queue of either kind, a
// model server, a server that counts effects, and any number of processes with any roles. Every
// line that a process prints is kept. The product has no code for these tests.
import type { ChildProcess } from 'node:child_process';
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

const reconcileMs = 500;
export const apiKey = 'hf_service_tests_0123456789';

/**
 * How late a guaranteed time limit may be reached, because the machine is busy. The work that a
 * test ends would otherwise run for ten minutes, so the bound still shows that it was ended, and by
 * what.
 */
export const busyMachineMs = 60_000;

/**
 * Where BullMQ keeps its data: each suite must pass for all of them, each with its own service. The
 * short form uses one: the differences between the queues are covered by their conformance tests,
 * which run on both.
 */
export const queues: { queue: Queue }[] = [
  { queue: 'postgres' },
  ...(isLongForm() && isRedisWanted() ? [{ queue: 'redis' as const }] : []),
];

/**
 * Describes a suite for each queue; the two run at the same time, because they mostly wait, and
 * each runs its tests in order.
 */
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
  /** How long a message batch of the model takes. */
  batchDelayMs?: number;
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

export interface Gate {
  /** The directive for the model. */
  call: string;
  open(): void;
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
  /**
   * Ends a process with SIGKILL, and its leases with it, so that its work is taken over
   * immediately.
   */
  kill(process: RunningProcess): Promise<void>;
  /** A tool call of the model that does not end before the test opens the gate. */
  gate(): Gate;
  /** The live process that holds the session; rejects when no process of this rig claims it. */
  holderOf(session: string): Promise<RunningProcess>;
  /** A client of a process with an api. */
  apiOf(process: Pick<RunningProcess, 'url'>): ServiceApi;
  /** Asks the database directly, to judge. */
  rows<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

const pluginPath = fileURLToPath(new URL('../../tools/http-effect-tool.ts', import.meta.url));
/**
 * The tables with leases of workers, and their columns with the owner: host, process id and a
 * unique part.
 */
const LEASES = { sessions: 'owner', deliveries: 'owner', processes: 'worker' };
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
  const { batchDelayMs } = options;
  const model = await startScriptedModel({
    recordedRequestsMax,
    ...(batchDelayMs === undefined ? {} : { batchDelayMs }),
  });
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
  let gates = 0;
  return {
    databaseUrl,
    dataDir,
    model,
    effects,
    logs,
    async start(roles, { env: own = {}, ...where } = {}) {
      const onLine = (line: string): void => void logs.push(line);
      const process = await startServiceProcess({ ...where, roles, env: { ...env, ...own }, readyWithinMs, onLine });
      processes.push(process);
      closers.push(() => process.end('SIGKILL'));
      return process;
    },
    async kill(process) {
      await process.end('SIGKILL');
      const owner = `%:${process.child.pid}:%`;
      for (const [table, column] of Object.entries(LEASES)) {
        const sql = `update holdfast.${table} set lease_expires_at = clock_timestamp() where ${column} like $1`;
        await database.query(sql, [owner]);
      }
    },
    gate() {
      const name = `gate-${(gates += 1)}`;
      const command = JSON.stringify({ command: `until [ -e ${name} ]; do sleep 0.05; done` });
      return {
        call: `[[tool: exec ${command}]]`,
        open: () => writeFileSync(join(dataDir, 'workspace', name), ''),
      };
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

async function closeAll(closers: (() => unknown)[]): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}
