// The setup of a crash test, with real parts only: a database, a queue, an api process, workers
// that can be killed, a model server that refuses malformed requests and a server that counts
// effects. The product has no code for these tests.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import type { RecordedRequest } from '../../../scripted-model/request-log.ts';
import { startScriptedModel } from '../../../scripted-model/scripted-model.ts';
import { startTestRedis } from '../../servers/redis.ts';
import { openApi, type ApiClient } from './api-client.ts';
import { startEffectServer, type EffectServer } from './effect-server.ts';
import { Victim } from './victim.ts';

/** For a worker on a machine that is not busy: its lease is short, so takeovers are soon. */
const leaseMsMin = 1_000;
const leaseMsMax = 15_000;
/**
 * A lease is this many times the time that an empty Node process takes to start and exit: 40 ms on
 * a quiet machine.
 */
const startsPerLease = 25;
const reconcileMs = 500;

export interface CrashRigOptions {
  databaseUrl: string;
  /** Where BullMQ lives; absent: in the database. */
  queue?: 'postgres' | 'redis';
  /**
   * The checkout that the processes run; absent: this one. Its migrations must be in the database.
   */
  rootDir?: string;
  workers?: number;
  /** Of the api process; absent: `api` alone. */
  apiRoles?: string;
  env?: Record<string, string>;
  /** Merged into the configuration file; only top-level keys are merged. */
  settings?: Record<string, unknown>;
  /** Of all agents. */
  agentDefaults?: object;
}

export interface CrashRig {
  /** How long a lock outlives its worker. */
  leaseMs: number;
  /** Null when the queue lives in the database. */
  redisUrl: string | null;
  /** Reads the tables directly, past every proxy, to judge. */
  database: pg.Pool;
  /** Where agents keep their files. */
  workspaceDir: string;
  effects: EffectServer;
  /** Every model request since the start, oldest first. */
  requests: RecordedRequest[];
  /** The scripted model, which also serves message batches. */
  model: Awaited<ReturnType<typeof startScriptedModel>>;
  /** The api process. It is behind a proxy too, so that it can be killed like a worker. */
  api: Victim;
  client: ApiClient;
  /** A client of one api process, at its current address. */
  clientOf(api: Victim): ApiClient;
  workers: Victim[];
  /** Starts one more process of a role; it is closed with the rig. */
  startVictim(name: string, roles: string): Promise<Victim>;
  close(): Promise<void>;
}

export const apiKey = 'crash-tests-0123456789';
const pluginPath = fileURLToPath(new URL('../../tools/http-effect-tool.ts', import.meta.url));

/** Starts all parts; resolves when every process is ready. */
export async function startCrashRig(options: CrashRigOptions): Promise<CrashRig> {
  const closers: (() => unknown)[] = [];
  try {
    return await start(options, closers);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function start(options: CrashRigOptions, closers: (() => unknown)[]): Promise<CrashRig> {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-crash-'));
  closers.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const { databaseUrl } = options;
  const redis = options.queue === 'redis' ? await startTestRedis() : null;
  closers.push(() => redis?.stop());
  const effects = await startEffectServer();
  closers.push(() => effects.close());
  const requests: RecordedRequest[] = [];
  const model = await startScriptedModel({ onRequest: (request) => requests.push(request), batchDelayMs: 50 });
  closers.push(() => model.close());
  const leaseMs = await chooseLease();
  const configPath = join(dataDir, 'holdfast.json');
  const config = {
    plugins: [pluginPath],
    messages: { queue: { debounceMs: 0, cap: 100_000 } },
    tools: { exec: { timeoutSeconds: 20 } },
    ...(options.agentDefaults === undefined ? {} : { agents: { defaults: options.agentDefaults } }),
    ...options.settings,
  };
  writeFileSync(configPath, JSON.stringify(config));
  const env = {
    HOLDFAST_CONFIG: configPath,
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_API_KEY: apiKey,
    HOLDFAST_LEASE_MS: String(leaseMs),
    HOLDFAST_RECONCILE_MS: String(reconcileMs),
    HTTP_EFFECT_URL: effects.url,
    ANTHROPIC_API_KEY: 'scripted',
    ANTHROPIC_BASE_URL: model.url,
    ...(redis === null ? {} : { REDIS_URL: redis.url }),
    ...options.env,
  };
  const startVictim = async (name: string, roles: string): Promise<Victim> => {
    const victim = await Victim.start({
      name,
      roles,
      env,
      databaseUrl,
      ...(options.rootDir === undefined ? {} : { rootDir: options.rootDir }),
    });
    closers.push(() => victim.close());
    return victim;
  };
  const names = Array.from({ length: options.workers ?? 2 }, (_, index) => `worker-${index + 1}`);
  const [api, ...workers] = await Promise.all([
    startVictim('api', options.apiRoles ?? 'api'),
    ...names.map((name) => startVictim(name, 'worker')),
  ]);
  const clientOf = (victim: Victim): ApiClient => openApi(() => victim.service.url, apiKey);
  const database = new pg.Pool({ connectionString: databaseUrl, max: 4, application_name: 'judge' });
  // The server may be killed; the next query then connects again.
  database.on('error', () => {});
  closers.push(() => database.end());
  return {
    leaseMs,
    redisUrl: redis?.url ?? null,
    database,
    workspaceDir: join(dataDir, 'workspace'),
    effects,
    requests,
    model,
    api,
    client: clientOf(api),
    clientOf,
    workers,
    startVictim,
    close: () => closeAll(closers),
  };
}

/**
 * A lease that is long enough that no worker loses it only because the machine is busy: the product
 * counts a lost lease as a crash, and the third one ends the turn (G17). It is derived from the
 * time that the machine takes to start a process.
 */
async function chooseLease(): Promise<number> {
  const begin = performance.now();
  const starts = 3;
  for (let n = 0; n < starts; n += 1) await promisify(execFile)(process.execPath, ['--eval', '0']);
  const startMs = (performance.now() - begin) / starts;
  return Math.round(Math.min(leaseMsMax, Math.max(leaseMsMin, startMs * startsPerLease)));
}

async function closeAll(closers: (() => unknown)[]): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}
