// (g) From `npm start` to the first 200 of `/readyz`, on a data directory that exists; its database has to be started, too.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServiceProcess } from '../../test/servers/service-process.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import { median } from '../rig/statistics.ts';

export const startUp: BenchPart = { letter: 'g', title: 'start', run };

async function run(context: BenchContext): Promise<BarLine[]> {
  const starts = context.isQuick ? 3 : 7;
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  try {
    context.say(`npm start, once cold and ${starts} times warm`);
    const coldMs = await startAndStop(dataDir);
    const warmMs: number[] = [];
    for (let start = 1; start <= starts; start += 1) warmMs.push(await startAndStop(dataDir));
    const inSeconds = warmMs.map((ms) => formatNumber(ms / 1000));
    return [
      {
        part: 'g',
        what: `npm start to ready, warm, median of ${starts}`,
        floor: '',
        holdfast: `${inSeconds.join(' ')} s; cold ${formatNumber(coldMs / 1000)} s`,
        measured: median(warmMs) / 1000,
        unit: ' s',
        bar: 1.5,
        sense: 'atMost',
      },
    ];
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function startAndStop(dataDir: string): Promise<number> {
  const service = await startServiceProcess({ env: { HOLDFAST_DATA_DIR: dataDir }, through: 'npm' });
  await service.end('SIGTERM');
  return service.readyMs;
}
