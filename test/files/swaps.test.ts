// Goal: whatever a command exchanges meanwhile, no tool and no reader of workspace files reaches
// anything outside (G41). Method: another process exchanges a folder for a link that leads outside,
// some 100,000 times a second; what is used, and what is outside, is looked at afterwards.
import { execFile, execFileSync } from 'node:child_process';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'vitest';
import { isLongForm } from '../servers/test-form.ts';
import type { Attempts } from './swap-attempts.ts';

const NOBODY = 65_534;
const MS_OF_A_TOOL = isLongForm() ? 20_000 : 200;

const isRoot = process.getuid?.() === 0;
const users = isRoot ? [0, NOBODY] : [process.getuid?.() ?? 0];

/** A skipped test has its reason in its title. */
const reason = canExchange() ? '' : ', skipped: perl is not on the PATH, or this is not Linux';

test.skipIf(reason !== '').concurrent.for(users)(
  `a folder that is exchanged for a link leads nowhere, as user %i (G41)${reason}`,
  async (uid, { expect, onTestFinished }) => {
    const base = await mkdtemp(join(tmpdir(), 'holdfast-swaps-'));
    onTestFinished(() => rm(base, { recursive: true, force: true }));
    await chmod(base, 0o755);
    if (isRoot) await chown(base, uid, uid);
    const script = join(import.meta.dirname, 'swap-attempts.ts');
    const as = isRoot ? { uid, gid: uid } : {};
    const { stdout } = await promisify(execFile)(process.execPath, [script, base, String(MS_OF_A_TOOL)], as);
    const attempts = JSON.parse(stdout) as Attempts[];
    expect(attempts.filter(({ leaks }) => leaks.length > 0)).toEqual([]);
    expect(attempts.filter(({ calls }) => calls === 0)).toEqual([]);
    // What is refused must not be everything.
    expect(attempts.find(({ way }) => way === 'read')?.found).toBeGreaterThan(0);
    expect(attempts.length).toBeGreaterThan(10);
  },
);

/** The exchange in one step is a call of Linux, which perl can make. */
function canExchange(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    execFileSync('perl', ['-e', '1']);
    return true;
  } catch {
    return false;
  }
}
