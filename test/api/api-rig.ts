// An API over a real database, with workers where a test wants them: real turns against the scripted model, no queue. Rings are
// only written down.
import type { FastifyInstance, InjectOptions } from 'fastify';
import type { Ring } from '../../jobs/ring.ts';
import { createApi } from '../../src/api/create-api.ts';
import { createApiContext } from '../../src/api/create-context.ts';
import type { ApiContext, Dependency } from '../../src/api/context.ts';
import { systemClock } from '../../src/clock.ts';
import type { Config } from '../../src/config.ts';
import { createLogger } from '../../src/logger.ts';
import { deriveRequest } from '../../src/turn/derive-request.ts';
import { createWake } from '../../src/wake.ts';
import { createTurnRig } from '../turn/turn-rig.ts';

export const ADMIN_KEY = 'hf_admin_key_of_the_tests';

export interface ApiRigOptions {
  limits?: Partial<Config['limits']>;
  keys?: Config['api']['keys'];
  dependencies?: Dependency[];
  /** Replaces parts of the context. */
  context?: Partial<ApiContext>;
}

export type ApiRig = Awaited<ReturnType<typeof createApiRig>>;

export interface JsonAnswer {
  status: number;
  headers: Record<string, unknown>;
  // Tests look into answers of every shape; the schemas are checked by `api-answers.test.ts`.
  body: any; // oxlint-disable-line typescript/no-explicit-any
}

/** Makes the rig; `close` ends all of it. */
export async function createApiRig(databaseUrl: string, options: ApiRigOptions = {}) {
  const turns = await createTurnRig(databaseUrl);
  const wake = createWake();
  const rings: Ring[] = [];
  const logLines: string[] = [];
  const config: Config = {
    ...turns.config,
    limits: { ...turns.config.limits, ...options.limits },
    api: { keys: options.keys ?? [] },
  };
  const context: ApiContext = {
    ...createApiContext({
      config,
      logger: createLogger({
        level: 'debug',
        format: 'json',
        name: 'api',
        destination: { write: (line) => void logLines.push(line) },
      }),
      clock: systemClock,
      adminKey: ADMIN_KEY,
      database: turns.database,
      doorbell: { ring: async (rung) => void rings.push(...rung) },
      wake,
      deriveRequest: (turnId, n) =>
        deriveRequest(turns.database, { turnId, callNo: n, defaultThinking: () => 'off' }),
      modelInfo: { provider: 'scripted', name: 'anthropic/claude-sonnet-4-5', isScripted: true },
      dependencies: options.dependencies ?? [],
    }),
    ...options.context,
  };
  const app = createApi(context);
  const worker = turns.worker();

  /** Asks in process, with the admin key unless headers say otherwise. */
  async function ask(method: NonNullable<InjectOptions['method']>, url: string, more: InjectOptions = {}): Promise<JsonAnswer> {
    const answer = await app.inject({
      ...more,
      method,
      url,
      headers: { authorization: `Bearer ${ADMIN_KEY}`, ...more.headers },
    });
    const isJson = String(answer.headers['content-type']).includes('json');
    return { status: answer.statusCode, headers: answer.headers, body: isJson ? answer.json() : answer.body };
  }

  return {
    app,
    context,
    config,
    turns,
    wake,
    rings,
    logLines,
    ask,
    post: (url: string, payload?: object, headers: Record<string, string> = {}) =>
      ask('POST', url, { ...(payload === undefined ? {} : { payload }), headers }),
    get: (url: string, headers: Record<string, string> = {}) => ask('GET', url, { headers }),
    /** Runs the next turn of a session, as a worker in another process would. */
    work: (session: string) => worker.run(session),
    rows: turns.rows,
    /** Listens on a free port and returns its URL. */
    listen: (): Promise<string> => listen(app),
    async close() {
      await app.close();
      worker.stop();
      await turns.close();
    },
  };
}

async function listen(app: FastifyInstance): Promise<string> {
  return app.listen({ host: '127.0.0.1', port: 0 });
}
