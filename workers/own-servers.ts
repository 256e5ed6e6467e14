// The servers that a service starts for itself where none is configured: an embedded database, and
// a scripted model.
import { anthropicKeyOf, type Config } from '../src/config.ts';
import type { Logger } from '../src/logger.ts';
import type { ModelEndpoint, Role } from '../src/kernel/process-part.ts';

/** Ends a part of the service. `isFailed`: its start has failed, so what it has made is removed. */
export type Ender = (isFailed: boolean) => Promise<unknown>;

/**
 * The address of the database. One that this start has made is deleted if the start fails, unless
 * another process uses it.
 */
export async function prepareDatabase(config: Config, logger: Logger, enders: Ender[]): Promise<string> {
  if (config.runtime.databaseUrl !== undefined) return config.runtime.databaseUrl;
  const { startEmbeddedPostgres } = await import('../src/embedded-postgres/start-embedded-postgres.ts');
  const embedded = await startEmbeddedPostgres({ dataDir: config.runtime.dataDir, logger });
  enders.push(async (isFailed) => {
    if (!isFailed) return embedded.stop();
    const { isDatabaseUnused } = await import('../src/database/inspect-database.ts');
    await embedded.discard(() => isDatabaseUnused(embedded.url).catch(() => false));
  });
  return embedded.url;
}

/**
 * Without a key a worker or scheduler starts its own model server with the same protocol: the
 * client code is the same.
 */
export async function prepareEndpoint(config: Config, roles: readonly Role[], enders: Ender[]): Promise<ModelEndpoint> {
  const { anthropicBaseUrl } = config.runtime;
  const apiKey = anthropicKeyOf(config);
  if (apiKey !== undefined) {
    return {
      apiKey,
      isScripted: false,
      ...(anthropicBaseUrl === undefined ? {} : { baseUrl: anthropicBaseUrl }),
    };
  }
  if (anthropicBaseUrl !== undefined) return { apiKey: 'none', baseUrl: anthropicBaseUrl, isScripted: false };
  if (!roles.includes('worker') && !roles.includes('scheduler')) return { apiKey: 'none', isScripted: true };
  const { startScriptedModel } = await import('../scripted-model/scripted-model.ts');
  const scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  enders.push(() => scripted.close());
  return { apiKey: 'scripted', baseUrl: scripted.url, isScripted: true };
}
