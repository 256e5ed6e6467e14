// An API on a real database, with workers where a test needs them: real turns against the scripted
// model, without a queue. Rings are only recorded.
import type { FastifyInstance, InjectOptions } from 'fastify';
import { createApi } from '../../src/api/create-api.ts';
import { createApiContext, type ApiContext, type Dependency } from '../../src/api/context.ts';
import { DOOR, ROUTES } from '../../scripts/all-routes.ts';
import { openAiError, problem } from '../../src/contract/answers.ts';
import { TOKEN_PREFIX } from '../../src/core/browser-token.ts';
import { systemClock } from '../../src/clock.ts';
import { LiveConfig, type Config } from '../../src/config.ts';
import { listSettings } from '../../src/config/sources.ts';
import { createLogger } from '../../src/logger.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { measurePrompt } from '../../src/kernel/use-cases/measure-prompt.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { createWake } from '../../src/kernel/queue/rings.ts';
import type { BeforeEvent } from '../../scripted-model/stream-answer.ts';
import { recordedService } from '../service/recorded-service.ts';
import { createTurnRig } from '../turn/turn-rig.ts';

export const ADMIN_KEY = 'hf_admin_key_of_the_tests';

export interface ApiRigOptions {
  limits?: Partial<Config['limits']>;
  ownerIds?: string[];
  keys?: Config['api']['keys'];
  /** The configuration file. */
  file?: object;
  /** Other settings of the API. */
  api?: Partial<Config['api']>;
  /** What the configuration returns whenever it is read, over the rest. May throw `ConfigError`. */
  changes?: () => Partial<Config>;
  dependencies?: Dependency[];
  /** Replaces parts of the context. */
  context?: Partial<ApiContext>;
  /** True: the worker's commits wake the waiting requests of the API, as in one process. */
  isOneProcess?: boolean;
  /**
   * The part of cached prompts that a message batch of the scripted model finds in the cache, 0 to
   * 1; absent: as live calls do.
   */
  batchCacheHits?: number;
  /** Awaited before each event of a slow answer of the model. */
  beforeEvent?: BeforeEvent;
}

export type ApiRig = Awaited<ReturnType<typeof createApiRig>>;

export interface JsonAnswer {
  status: number;
  headers: Record<string, unknown>;
  // Tests read answers of every shape; each was checked against the schema of its route.
  body: any; // oxlint-disable-line typescript/no-explicit-any
}

/** A tool without effects, so that turns have steps. */
const echo: Tool = {
  spec: { name: 'echo', description: 'Says it again.', input_schema: { type: 'object' } },
  summary: 'says it again',
  isIdempotent: true,
  run: async (input) => ({ content: JSON.stringify(input), isError: false }),
};

/** Makes the rig; `close` ends all of it, once. */
export async function createApiRig(databaseUrl: string, options: ApiRigOptions = {}) {
  const logLines: string[] = [];
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    name: 'api',
    destination: { write: (line) => void logLines.push(line) },
  });
  const turns = await createTurnRig(databaseUrl, {
    tools: [echo],
    databaseLogger: logger,
    ...(options.file === undefined ? {} : { settings: options.file }),
    ...(options.batchCacheHits === undefined ? {} : { batchCacheHits: options.batchCacheHits }),
    ...(options.beforeEvent === undefined ? {} : { beforeEvent: options.beforeEvent }),
  });
  const wake = createWake();
  const config: Config = {
    ...turns.config,
    limits: { ...turns.config.limits, ...options.limits },
    owner: { ...turns.config.owner, ids: options.ownerIds ?? turns.config.owner.ids },
    api: { ...turns.config.api, ...options.api, keys: options.keys ?? [] },
  };
  const file = { path: null, places: new Map() };
  const live = new LiveConfig(() => {
    const found = { ...config, ...options.changes?.() };
    return { config: found, settings: listSettings({ config: found, file, env: {}, secrets: [] }) };
  });
  const { service, rings } = recordedService({ config: live.config, database: turns.database, wake });
  const worker = turns.worker(options.isOneProcess === true ? { wake } : {});
  const context: ApiContext = {
    ...createApiContext({
      service,
      logger,
      clock: systemClock,
      live,
      flags: [],
      installation: { holdfast: '0.0.0', queue: 'postgres', database: 'configured' },
      adminKey: ADMIN_KEY,
      wake,
      openModel: () => Promise.resolve(worker.context.models.client),
      measurePrompt: (item) => measurePrompt(worker.context, item),
      deriveRequest: (turnId, callNo) =>
        deriveRequest(turns.database, {
          turnId,
          callNo,
          defaultThinking: () => 'off',
          writeBody: worker.context.models.client.writeBody,
        }),
      modelInfo: { provider: 'scripted', name: 'anthropic/claude-sonnet-5-5', isScripted: true },
      dependencies: options.dependencies ?? [],
    }),
    ...options.context,
  };
  const app = createApi(context, DOOR);
  let listening: Promise<string> | undefined;
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    await app.close();
    worker.stop();
    await turns.close();
  }

  /** Sends a request in process, with the admin key unless headers say otherwise. */
  async function ask(
    method: NonNullable<InjectOptions['method']>,
    url: string,
    more: InjectOptions = {},
  ): Promise<JsonAnswer> {
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, ...more.headers };
    const answer = await app.inject({ ...more, method, url, headers });
    const isJson = /[/+]json/.test(String(answer.headers['content-type']));
    const body: unknown = isJson ? answer.json() : answer.body;
    const isOfToken = String(headers.authorization).startsWith(`Bearer ${TOKEN_PREFIX}`);
    checkDocumented({ method, url, status: answer.statusCode, body, isOfToken });
    return { status: answer.statusCode, headers: answer.headers, body };
  }

  const post = (url: string, payload?: object, headers: Record<string, string> = {}) =>
    ask('POST', url, { ...(payload === undefined ? {} : { payload }), headers });
  const get = (url: string, headers: Record<string, string> = {}) => ask('GET', url, { headers });

  /** Sends a message, runs the next turn of its session, and returns the message as it is then. */
  async function settle(session: string, text: string, more: object = {}): Promise<JsonAnswer['body']> {
    const { body } = await post(`/v1/sessions/${session}/messages`, { text, ...more });
    await worker.run(session);
    return (await get(`/v1/messages/${body.message.id}`)).body;
  }

  return {
    app,
    context,
    config,
    databaseUrl,
    turns,
    wake,
    rings,
    logLines,
    ask,
    post,
    get,
    settle,
    /** The same; returns the turn. */
    turnOf: async (...sent: Parameters<typeof settle>): Promise<JsonAnswer['body']> =>
      (await get(`/v1/turns/${(await settle(...sent)).turnId}`)).body,
    /**
     * Runs the next turn of a session, as a worker in another process would (unless
     * `isOneProcess`).
     */
    work: (session: string) => worker.run(session),
    rows: turns.rows,
    /** Listens on a free port, the same one for all callers, and returns its URL. */
    listen: (): Promise<string> => (listening ??= listen(app)),
    close: (): Promise<void> => (closing ??= closeAll()),
  };
}

/** Checks every answer of every test against the schema of its route. */
function checkDocumented(answer: {
  method: string;
  url: string;
  status: number;
  body: unknown;
  isOfToken: boolean;
}): void {
  const path = answer.url.split('?', 1)[0] ?? '';
  const routes = ROUTES.filter(
    (one) => one.method === answer.method && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  const route = routes.find((one) => one.path === path) ?? routes[0];
  const doc = route?.answers[answer.status];
  const ofToken = answer.isOfToken && answer.status < 400 ? route?.token?.shows : undefined;
  const ofForm = answer.status < 400 ? undefined : route?.form === undefined ? problem : openAiError;
  const schema = ofToken ?? doc?.schema ?? ofForm;
  if (doc === undefined && answer.status < 400)
    throw new Error(`${answer.method} ${path} does not say that it answers ${answer.status}`);
  const result = schema?.safeParse(answer.body);
  if (result?.success === false) throw new Error(`${answer.method} ${path} ${answer.status}: ${result.error.message}`);
}

async function listen(app: FastifyInstance): Promise<string> {
  return app.listen({ host: '127.0.0.1', port: 0 });
}
