// Everything that a soak needs, all of it real: a PostgreSQL server, a Redis, one process for the
// API, one scheduler, two workers, the scripted model, a server that counts effects and a receiver
// of webhooks. Each dependency can be taken away and brought back.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';
import { migrate } from '../../src/database/migrate.ts';
import { startEffectServer, type EffectServer } from '../../test/crash/rig/effect-server.ts';
import { startPostgresServer } from '../../test/servers/postgres-server.ts';
import { startTestRedis } from '../../test/servers/redis.ts';
import { startServiceProcess } from '../../test/servers/service-process.ts';
import { startReceiver, type WebhookReceiver } from '../../test/service/rig/webhook-receiver.ts';

export type Dependency = 'model' | 'PostgreSQL' | 'Redis';

export interface Answer {
  status: number;
  /** Seconds; null when the answer does not say. */
  retryAfter: number | null;
  // The soak reads a few fields of answers of every shape.
  body: any; // oxlint-disable-line typescript/no-explicit-any
}

/** A process of the service and every line that it has printed, with the time of its arrival. */
export interface LoggedProcess {
  name: string;
  lines: { at: number; text: string }[];
}

export interface Stage {
  receiver: WebhookReceiver;
  effects: EffectServer;
  processes: LoggedProcess[];
  takeAway(name: Dependency): Promise<void>;
  bringBack(name: Dependency): Promise<void>;
  /** Asks the API; rejects when there is no answer. */
  ask(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  /** Asks the database past the service. */
  rows<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

const apiKey = 'soak-0123456789-0123456789';
const answeredWithinMs = 60_000;
const pluginPath = fileURLToPath(new URL('../../test/tools/http-effect-tool.ts', import.meta.url));
const roles = { api: 'api', scheduler: 'scheduler', 'worker-1': 'worker', 'worker-2': 'worker' };

/** Starts all of it; resolves when every process is ready. */
export async function openStage(): Promise<Stage> {
  const closers: (() => unknown)[] = [];
  try {
    return await open(closers);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function open(closers: (() => unknown)[]): Promise<Stage> {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-soak-'));
  closers.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgresServer();
  closers.push(() => postgres.stop());
  const databaseUrl = await postgres.createDatabase('holdfast');
  await migrate(databaseUrl);
  const redis = await startTestRedis();
  closers.push(() => redis.stop());
  const effects = await startEffectServer();
  closers.push(() => effects.close());
  const receiver = await startReceiver();
  closers.push(() => receiver.close());
  let model = await startScriptedModel({ recordedRequestsMax: 1 });
  closers.push(() => model.close());
  const database = new pg.Pool({ connectionString: databaseUrl, max: 4, application_name: 'soak' });
  // The server is killed under it; the next query connects again.
  database.on('error', () => {});
  closers.push(() => database.end());

  const configPath = join(dataDir, 'holdfast.json');
  writeFileSync(configPath, JSON.stringify(settingsOf(receiver.url)));
  const env = {
    HOLDFAST_CONFIG: configPath,
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_API_KEY: apiKey,
    HTTP_EFFECT_URL: effects.url,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    ANTHROPIC_API_KEY: 'scripted',
    ANTHROPIC_BASE_URL: model.url,
  };
  const processes: LoggedProcess[] = [];
  let apiUrl = '';
  for (const [name, role] of Object.entries(roles)) {
    const service = await startServiceProcess({ env, roles: role });
    closers.push(() => service.end('SIGTERM'));
    if (role === 'api') apiUrl = service.url;
    processes.push({ name, lines: keepLines(service) });
  }
  const { port } = model;
  const away = { model: () => model.close(), PostgreSQL: () => postgres.kill(), Redis: () => redis.kill() };
  const back = {
    model: async () => void (model = await startScriptedModel({ port, recordedRequestsMax: 1 })),
    PostgreSQL: () => postgres.restart(),
    Redis: () => redis.restart(),
  };
  return {
    receiver,
    effects,
    processes,
    takeAway: (name) => away[name](),
    bringBack: (name) => back[name](),
    ask: (method, path, body, headers = {}) => ask(apiUrl + path, method, body, headers),
    rows: async <Row extends object>(sql: string, values: unknown[] = []) =>
      (await database.query<Row & pg.QueryResultRow>(sql, values)).rows,
    close: () => closeAll(closers),
  };
}

function settingsOf(receiverUrl: string): object {
  return {
    plugins: [pluginPath],
    messages: { queue: { debounceMs: 0 } },
    channels: { webhook: { url: receiverUrl } },
    lanes: { main: 16, subagent: 8, cron: 8 },
  };
}

function keepLines(service: Awaited<ReturnType<typeof startServiceProcess>>): LoggedProcess['lines'] {
  const { child } = service;
  const lines = service
    .output()
    .split('\n')
    .map((text) => ({ at: Date.now(), text }));
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream?.on('data', (chunk: Buffer) => {
      const whole = (rest + chunk.toString()).split('\n');
      rest = whole.pop() ?? '';
      lines.push(...whole.map((text) => ({ at: Date.now(), text })));
    });
  }
  return lines;
}

async function ask(
  url: string,
  method: string,
  body: object | undefined,
  headers: Record<string, string>,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(answeredWithinMs),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  const retryAfter = response.headers.get('retry-after');
  return {
    status: response.status,
    retryAfter: retryAfter === null ? null : Number(retryAfter),
    body: isJson ? JSON.parse(text) : text,
  };
}

async function closeAll(closers: (() => unknown)[]): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
    try {
      await close();
    } catch (error) {
      console.error(error);
    }
  }
}
