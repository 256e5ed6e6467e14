// A crash rig with schedulers: creates crons and polls over HTTP, and reads their results from the
// tables.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startCrashRig, type CrashRig } from './crash-rig.ts';
import type { Victim } from './victim.ts';

const pluginPath = fileURLToPath(new URL('../../tools/http-effect-tool.ts', import.meta.url));
const apiKey = 'crash-tests-0123456789';

export interface ScheduledRig extends CrashRig {
  schedulers: Victim[];
  /** Sends a request to the api; throws unless the status is 2xx. */
  ask<Answer>(method: string, path: string, body?: object): Promise<Answer>;
  rows<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]>;
}

/**
 * Starts an api, workers and schedulers; `settings` are merged into the configuration of crash
 * tests.
 */
export async function startScheduledRig(options: {
  databaseUrl: string;
  workers: number;
  schedulers: number;
  settings?: object;
}): Promise<ScheduledRig> {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-schedule-'));
  const configPath = join(dir, 'holdfast.json');
  const settings = { plugins: [pluginPath], messages: { queue: { debounceMs: 0 } }, ...options.settings };
  writeFileSync(configPath, JSON.stringify(settings));
  const { databaseUrl, workers } = options;
  const rig = await startCrashRig({ databaseUrl, workers, env: { HOLDFAST_CONFIG: configPath } });
  const names = Array.from({ length: options.schedulers }, (_, index) => `scheduler-${index + 1}`);
  const schedulers = await Promise.all(names.map((name) => rig.startVictim(name, 'scheduler')));
  return {
    ...rig,
    schedulers,
    async ask<Answer>(method: string, path: string, body?: object) {
      const answer = await fetch(rig.api.service.url + path, {
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(120_000),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return JSON.parse(text) as Answer;
    },
    async rows<Row extends object>(sql: string, values: unknown[] = []) {
      return (await rig.database.query<Row>(sql, values)).rows;
    },
    async close() {
      await rig.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
