// The checks around the service: its port, and the model that it would call.
import { createServer } from 'node:net';
import { createClient, HoldfastError, type HoldfastClient } from '../../client/create-client.ts';
import { anthropicKeyOf, listServedProviders, modelNotices, type Config } from '../../config.ts';
import { loadClientSettings, reachableHost } from '../../config/process-environment.ts';
import { CHECK_TIMEOUT_MS, failure, ok, explain, skipped, type Finding } from './check.ts';

/** The port of the API, or the service that listens there. */
export async function portFinding({ runtime: { host, port } }: Config): Promise<Finding> {
  const { url } = loadClientSettings({});
  if (URL.canParse(url) && (await isHoldfast(url))) return ok(`a service runs at ${url}`);
  if (port === 0) return ok('any free port; no service runs');
  const fault = await listenFault(host, port);
  if (fault === null) return ok(`${host}:${port} is free; no service runs there`);
  const fix = 'stop the process that listens there, or set HOLDFAST_PORT';
  if (fault.code !== 'EADDRINUSE') return failure(`${host}:${port}: ${fault.message}`, fix);
  if (await isHoldfast(`http://${reachableHost(host)}:${port}`)) return ok(`a service runs on ${host}:${port}`);
  return failure(`a process that is not Holdfast listens on ${host}:${port}`, fix);
}

/** Why a server could not listen there; null when it could. */
async function listenFault(host: string, port: number): Promise<{ code: string; message: string } | null> {
  const { promise, resolve } = Promise.withResolvers<{ code: string; message: string } | null>();
  const server = createServer();
  server.once('error', (error: NodeJS.ErrnoException) => resolve({ code: error.code ?? '', message: explain(error) }));
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  return promise;
}

async function isHoldfast(url: string): Promise<boolean> {
  return (await readReadiness(url)) !== null;
}

type Readiness = Awaited<ReturnType<HoldfastClient['getReadiness']>>;

/** The service's own report, ready or not; null: no service answers. */
async function readReadiness(url: string): Promise<Readiness | null> {
  const client = createClient({ url, timeoutMs: CHECK_TIMEOUT_MS, retriesMax: 0 });
  const answer: unknown = await client.getReadiness().catch((error: unknown) => readProblem(error));
  return isReadiness(answer) ? answer : null;
}

/** A service that is not ready answers 503 with the same body. */
function readProblem(error: unknown): unknown {
  return error instanceof HoldfastError && error.status === 503 ? error.problem : null;
}

/** False for what another program answers there. */
function isReadiness(answer: unknown): answer is Readiness {
  return Array.isArray((answer as Partial<Readiness> | null)?.dependencies);
}

/** What to do about a dependency that a service misses; the others have checks of their own. */
const FIXES: Readonly<Record<string, string>> = {
  storage:
    'free space on the disk of the database (53100) or repair the disk (58030); the service then continues without a restart',
  layout: 'run "holdfast migrate" with the running version',
  queue: 'start Redis, or correct REDIS_URL',
};

export async function readinessFinding(): Promise<Finding> {
  const { url } = loadClientSettings({});
  const readiness = URL.canParse(url) ? await readReadiness(url) : null;
  if (readiness === null) return skipped(`no service answers at ${url}`);
  const failed = readiness.dependencies.filter(({ status }) => status === 'failed');
  // Each fault has a separate check.
  if (failed.length === 0) return ok(`${url} reaches all its dependencies`);
  const named = failed.map(({ name, error }) => `${name} (${error ?? 'failed'})`).join(', ');
  return {
    status: readiness.status === 'unavailable' ? 'error' : 'warning',
    reason: `${url} is ${readiness.status}: ${named}`,
    fix: failed.map(({ name }) => FIXES[name] ?? `see the check of the ${name}`).join('; '),
  };
}

/**
 * The service's answer, and notices about the configured models. `today` is a day as YYYY-MM-DD.
 */
export function modelFinding(config: Config, today = new Date().toISOString().slice(0, 10)): Finding {
  const { anthropicBaseUrl } = config.runtime;
  const { model } = config.agents.defaults;
  const notices = modelNotices(config, today);
  const other = listServedProviders(config.models).find(({ name }) => model.startsWith(`${name}/`));
  const isScripted = anthropicKeyOf(config) === undefined && other === undefined;
  const address = other === undefined ? anthropicBaseUrl : other.baseUrl;
  const reason = isScripted
    ? 'no key: the scripted model answers'
    : `${model} at ${address ?? "the provider's default address"}`;
  if (!isScripted && notices.length === 0) return ok(reason);
  const fixes = [
    ...(isScripted ? ['set ANTHROPIC_API_KEY to use a real model'] : []),
    ...(notices.length === 0 ? [] : ['change the models named above in the configuration file']),
  ];
  return { status: 'warning', reason: [reason, ...notices].join('; '), fix: fixes.join('; ') };
}
