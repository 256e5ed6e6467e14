// Whether this machine has a sandbox, and the one that whole suites can be run in.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { Sandbox } from '../../src/tools/sandbox/sandbox.ts';

/** False where the kernel or the machine has no sandbox: there the tests of one are skipped. */
export const HAS_SANDBOX = canSandbox();

function canSandbox(): boolean {
  try {
    execFileSync('bwrap', ['--unshare-user', '--disable-userns', '--unshare-pid', '--ro-bind', '/', '/', 'true'], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

/** The command lines of all processes of the machine, also of those in sandboxes. */
export function readCommandLines(): string[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readFileSync(`/proc/${name}/cmdline`, 'utf8')] : [];
    } catch {
      return [];
    }
  });
}

/** An image with bash, curl, grep, perl, socat and the programs of util-linux, for an engine that is on the PATH. */
const image = process.env['HOLDFAST_TEST_CONTAINER'];

/** The runtimes of this machine, with their settings. */
export const RUNTIMES = [
  { name: 'bubblewrap', settings: {}, isThere: HAS_SANDBOX },
  { name: 'container', settings: { runtime: 'container', image }, isThere: image !== undefined },
].filter(({ isThere }) => isThere);

/**
 * What the suites of `exec` and `process` run commands in: nothing, or with `HOLDFAST_TEST_SANDBOX=on` the sandbox, in which they must pass, too. Each
 * of their workspaces gets one.
 */
export const SUITE_SANDBOX: Pick<Sandbox, 'enter'> | undefined =
  process.env['HOLDFAST_TEST_SANDBOX'] === 'on' ? { enter: enterAny } : undefined;

async function enterAny(workspaceDir: string) {
  const base = mkdtempSync(join(tmpdir(), 'holdfast-sandbox-'));
  const settings = { workspace: { path: workspaceDir }, tools: { exec: { sandbox: 'required' } } };
  writeFileSync(join(base, 'holdfast.json'), JSON.stringify(settings));
  mkdirSync(join(base, 'data'));
  const config = loadConfig({ env: { HOLDFAST_DATA_DIR: join(base, 'data') }, cwd: base });
  return new Sandbox(config).enter(workspaceDir).finally(() => rmSync(base, { recursive: true }));
}
