// (q) The build of the dashboard within `npm ci`, beside the rest of `npm ci`; and the check that
// finds nothing to build, beside a Node that does nothing. In a copy of this commit in a temporary
// folder, with the packages in npm's cache.
import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import { generate, openCheckout } from '../rig/checkout.ts';
import { median } from '../rig/statistics.ts';

export const dashboardBuild: BenchPart = { letter: 'q', title: 'building the dashboard', run };

const exec = promisify(execFile);

async function run(context: BenchContext): Promise<BarLine[]> {
  const { rounds, checks } = context.isQuick ? { rounds: 2, checks: 5 } : { rounds: 3, checks: 10 };
  const checkout = await openCheckout('HEAD', { hasOwnPackages: true });
  try {
    const timeOf = async (command: string, ...args: string[]): Promise<number> => {
      const begin = performance.now();
      await exec(command, args, { cwd: checkout.rootDir });
      return performance.now() - begin;
    };
    context.say(`npm ci without scripts and the build by turns, ${rounds} rounds`);
    const [installs, builds]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      installs.push(await timeOf('npm', 'ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'));
      await generate(checkout.rootDir);
      builds.push(await timeOf(process.execPath, 'web/build.mjs'));
    }
    context.say(`the check of an unchanged dashboard and node -e 0 by turns, ${checks} rounds`);
    const [nothings, polls]: [number[], number[]] = [[], []];
    for (let check = 0; check < checks; check += 1) {
      nothings.push(await timeOf(process.execPath, '-e', '0'));
      polls.push(await timeOf(process.execPath, 'web/build.mjs', '--if-needed'));
    }
    return [
      lineOf('the build within npm ci, to npm ci --ignore-scripts', installs, builds, 1),
      lineOf('the check of an unchanged dashboard, to node -e 0', nothings, polls, 5),
    ];
  } finally {
    checkout.remove();
  }
}

function lineOf(what: string, floor: readonly number[], own: readonly number[], bar: number): BarLine {
  const [floorMs, ownMs] = [median(floor), median(own)];
  const inSeconds = (ms: number): string => `${formatNumber(ms / 1000)} s`;
  return {
    part: 'q',
    what,
    floor: inSeconds(floorMs),
    holdfast: inSeconds(ownMs),
    measured: ownMs / floorMs,
    unit: 'x',
    bar,
    sense: 'atMost',
  };
}
