// Finds the embedded server without starting one, for commands that only read.
import { realpath } from 'node:fs/promises';
import { databaseUrl, readCluster } from './cluster.ts';
import { readPostmasterFile } from './postmaster.ts';
import { probeServer } from './probe-server.ts';

/**
 * The URL of the server that runs on `dataDir`, null when none serves. The caller is not registered as its user: it may be shut down at
 * any time. Throws `EmbeddedPostgresError` when the data directory holds a cluster that cannot be used.
 */
export async function findEmbeddedPostgres(dataDir: string): Promise<string | null> {
  const realDir = await realpath(dataDir).catch(() => null);
  const cluster = realDir === null ? null : await readCluster(realDir);
  const port = cluster === null ? null : (readPostmasterFile(cluster.dir)?.port ?? null);
  if (cluster === null || port === null) return null;
  const answer = await probeServer(cluster, port);
  return answer.kind === 'ours' ? databaseUrl(cluster, port) : null;
}
