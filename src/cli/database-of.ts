// The database of commands that work on it directly: the one that is configured, or the embedded one.
import { explainStartFault } from './explain-start-fault.ts';

export interface CommandDatabase {
  url: string;
  /** What works and should be known, one sentence each. */
  warnings: string[];
  /** Ends a server that was started for the command. */
  close(): Promise<void>;
}

/** Opens it and checks that it can be used. Throws a `CliError` with what to do when it cannot. */
export async function databaseOf(runtime: { databaseUrl?: string; dataDir: string }): Promise<CommandDatabase> {
  try {
    if (runtime.databaseUrl !== undefined) {
      const { inspectDatabase } = await import('../store/inspect-database.ts');
      const { warnings } = await inspectDatabase(runtime.databaseUrl);
      return { url: runtime.databaseUrl, warnings, close: async () => undefined };
    }
    const { startEmbeddedPostgres } = await import('../embedded-postgres/start-embedded-postgres.ts');
    const embedded = await startEmbeddedPostgres({ dataDir: runtime.dataDir });
    return { url: embedded.url, warnings: [], close: () => embedded.stop() };
  } catch (error) {
    throw explainStartFault(error);
  }
}
