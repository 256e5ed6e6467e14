// The database of commands that work on it directly: the one that is configured, or the embedded
// one.
import { explainStartFault } from './explain-start-fault.ts';

export interface CommandDatabase {
  url: string;
  /** What works and should be known, one sentence each. */
  warnings: string[];
  /** Ends a server that was started for the command. */
  close(): Promise<void>;
}

/**
 * Opens the database, does the work, and closes it. Throws a `CliError` with what to do when one of
 * these fails.
 */
export async function withDatabase<Result>(
  { databaseUrl, dataDir }: { databaseUrl?: string; dataDir: string },
  work: (database: CommandDatabase) => Promise<Result>,
): Promise<Result> {
  let database: CommandDatabase | undefined;
  try {
    database = await (databaseUrl === undefined ? openEmbedded(dataDir) : openConfigured(databaseUrl));
    return await work(database);
  } catch (error) {
    throw explainStartFault(error);
  } finally {
    await database?.close();
  }
}

async function openConfigured(url: string): Promise<CommandDatabase> {
  const { inspectDatabase } = await import('../database/inspect-database.ts');
  return { url, warnings: (await inspectDatabase(url)).warnings, close: async () => undefined };
}

async function openEmbedded(dataDir: string): Promise<CommandDatabase> {
  const { startEmbeddedPostgres } = await import('../embedded-postgres/start-embedded-postgres.ts');
  const embedded = await startEmbeddedPostgres({ dataDir });
  return { url: embedded.url, warnings: [], close: () => embedded.stop() };
}
