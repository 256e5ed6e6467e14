// (g) From `npm start` to the first 200 of `/readyz`, on a data directory that exists; its database
// has to be started, too. How long a person waits for the help and for a completion on the command
// line, to a Node that does nothing.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startServiceProcess } from '../../test/servers/service-process.ts';
import { alternate } from '../rig/alternate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import { benchApiKey } from '../rig/bench-service.ts';
import { msOf } from '../rig/ms-of.ts';
import { median } from '../rig/statistics.ts';

export const startUp: BenchPart = { letter: 'g', title: 'start, and commands', run };

const runFile = promisify(execFile);
const bin = fileURLToPath(new URL('../../src/cli/bin.mjs', import.meta.url));
const bars = { help: 4, completion: 6 };

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
      ...(await timeCommands(context, dataDir)),
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

/**
 * The help, and the completion of a session id, which asks a service; each compared with a Node
 * that does nothing.
 */
async function timeCommands(context: BenchContext, dataDir: string): Promise<BarLine[]> {
  const rounds = context.isQuick ? 5 : 11;
  context.say(`${rounds} rounds of node -e 0, holdfast --help, and a completion of an id`);
  const service = await startServiceProcess({ env: { HOLDFAST_DATA_DIR: dataDir, HOLDFAST_API_KEY: benchApiKey } });
  try {
    const env = { ...process.env, HOLDFAST_URL: service.url, HOLDFAST_API_KEY: benchApiKey };
    const timed = (...args: string[]) => ({
      measure: () => msOf(() => runFile(process.execPath, args, { env })),
    });
    const { runsOf, ratioOf } = await alternate(
      rounds,
      [
        { name: 'node', ...timed('-e', '0') },
        { name: 'help', ...timed(bin, '--help') },
        { name: 'completion', ...timed(bin, '__complete', '--', 'sessions', 'show', '') },
      ],
      (ms) => ms,
    );
    const medianOf = (name: 'node' | 'help' | 'completion'): string => `${formatNumber(median(runsOf(name)))} ms`;
    const lineOf = (name: 'help' | 'completion', what: string): BarLine => ({
      part: 'g',
      what,
      floor: `${medianOf('node')}: node -e 0`,
      holdfast: medianOf(name),
      measured: ratioOf(name, 'node'),
      unit: 'x',
      bar: bars[name],
      sense: 'atMost',
    });
    return [lineOf('help', 'holdfast --help'), lineOf('completion', 'completion of an id')];
  } finally {
    await service.end('SIGTERM');
  }
}
