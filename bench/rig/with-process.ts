// A process of the service with its own data directory on the database of a benchmark.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServiceProcess, type ServiceProcess } from '../../test/servers/service-process.ts';
import { benchApiKey } from './bench-service.ts';

interface ProcessOptions {
  databaseUrl: string;
  /** Its configuration file. */
  settings?: object;
  /** Absent: all. */
  roles?: string;
}

/** Starts it, and ends it after the work. */
export async function withProcess<Result>(
  { databaseUrl, settings = {}, roles }: ProcessOptions,
  work: (started: ServiceProcess) => Promise<Result>,
): Promise<Result> {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const configPath = join(dataDir, 'bench.json');
  writeFileSync(configPath, JSON.stringify(settings));
  const started = await startServiceProcess({
    env: {
      HOLDFAST_DATA_DIR: dataDir,
      HOLDFAST_CONFIG: configPath,
      HOLDFAST_API_KEY: benchApiKey,
      DATABASE_URL: databaseUrl,
    },
    ...(roles === undefined ? {} : { roles }),
  });
  try {
    return await work(started);
  } finally {
    await started.end('SIGTERM');
    rmSync(dataDir, { recursive: true, force: true });
  }
}
