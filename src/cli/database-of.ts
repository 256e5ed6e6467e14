// The database of commands that work on it directly: the one that is configured, or the embedded one.

/** Its URL, and how to end a server that was started for it. */
export async function databaseOf(runtime: {
  databaseUrl?: string;
  dataDir: string;
}): Promise<{ url: string; close(): Promise<void> }> {
  if (runtime.databaseUrl !== undefined) return { url: runtime.databaseUrl, close: async () => undefined };
  const { startEmbeddedPostgres } = await import('../embedded-postgres/start-embedded-postgres.ts');
  const embedded = await startEmbeddedPostgres({ dataDir: runtime.dataDir });
  return { url: embedded.url, close: () => embedded.stop() };
}
