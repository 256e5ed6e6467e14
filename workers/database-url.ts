// The database of a service: the one that is configured, or the embedded one, which is started for it.
import type { Config } from '../src/config.ts';
import type { Logger } from '../src/logger.ts';

/** Ends a part of the service. `isFailed`: its start has failed, so what it has made is removed. */
export type Ender = (isFailed: boolean) => Promise<unknown>;

/** Its address. A database that this start has made is deleted if the start fails, unless another process uses it. */
export async function databaseUrlOf(config: Config, logger: Logger, enders: Ender[]): Promise<string> {
  if (config.runtime.databaseUrl !== undefined) return config.runtime.databaseUrl;
  const { startEmbeddedPostgres } = await import('../src/embedded-postgres/start-embedded-postgres.ts');
  const embedded = await startEmbeddedPostgres({ dataDir: config.runtime.dataDir, logger });
  enders.push(async (isFailed) => {
    if (!isFailed) return embedded.stop();
    const { isDatabaseUnused } = await import('../src/store/backup/read-backup.ts');
    await embedded.discard(() => isDatabaseUnused(embedded.url).catch(() => false));
  });
  return embedded.url;
}
