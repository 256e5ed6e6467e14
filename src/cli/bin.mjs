#!/usr/bin/env node
// The `holdfast` command. Plain JavaScript that any Node can read: it runs the rest on a Node that
// runs TypeScript without a build (22.18 or newer), which npm brings along, and turns the compile
// cache on before anything is loaded.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
/** A package has compiled files, a checkout its sources. */
const extension = existsSync(join(here, 'main.ts')) ? 'ts' : 'js';
const root = join(here, '..', '..');
const [major, minor] = process.versions.node.split('.').map(Number);

/** Commands that run until they are stopped: they are started again with the flags of a service. */
const SERVICES = ['start', 'scripted-model', 'scripted-platform', 'demo'];
/**
 * The first keeps SIGUSR1 from opening Node's debugger, the others save memory:
 * docs/operations.md#nodes-flags.
 */
const FLAGS = ['--disable-sigusr1', '--max-semi-space-size=16', '--heap-growing-percent=40'];

// A listener keeps Node from opening its debugger at SIGUSR1; SIGUSR2 would end the process.
for (const signal of ['SIGUSR1', 'SIGUSR2']) if (process.platform !== 'win32') process.on(signal, () => undefined);

if (major > 22 || (major === 22 && minor >= 18)) {
  dieWithParent();
  module.enableCompileCache?.(join(root, 'node_modules', '.cache', 'holdfast'));
  if (SERVICES.includes(process.argv.slice(2).find((word) => !word.startsWith('-')))) {
    const { relaunchAsService } = await import(`./relaunch.${extension}`);
    relaunchAsService(process.argv.slice(2), missingFlags());
  }
  const { main } = await import(`./main.${extension}`);
  await main(process.argv.slice(2));
} else {
  runOnNewerNode();
}

/** `--max_semi_space_size=8` is `--max-semi-space-size`. */
function nameOf(flag) {
  return flag.split('=')[0].replaceAll('_', '-');
}

/**
 * Without those that the user has set, here or in NODE_OPTIONS: a flag on the command line would
 * replace the one in the variable.
 */
function missingFlags() {
  const given = [...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/), ...process.execArgv].map(nameOf);
  return FLAGS.filter((flag) => !given.includes(nameOf(flag)));
}

/**
 * The Node that was installed with Holdfast, wherever npm has put it; null: there is none for this
 * machine.
 */
function newerNode() {
  try {
    const manifest = module
      .createRequire(import.meta.url)
      .resolve(`node-${process.platform}-${process.arch}/package.json`);
    return join(dirname(manifest), 'bin', 'node');
  } catch {
    return null;
  }
}

/** Runs this command on a newer Node, forwards signals to it, and exits as it does. */
function runOnNewerNode() {
  const node = newerNode();
  const again = extension === 'ts' ? `run "npm ci" in ${root}` : 'install it again, with optional dependencies';
  // Marked, so that a Node there that is too old does not start itself again without end.
  if (node === null || process.env['HOLDFAST_HANDED_OVER'] === '1') {
    process.stderr.write(
      `holdfast: Node 22.18 or newer is needed, this is ${process.versions.node}.\n` +
        `Fix: ${again} (on Linux npm brings the right Node along), or install Node 24.\n`,
    );
    process.exit(1);
  }
  // Of the flags of this Node, the newer one may not know others.
  const own = process.execArgv.filter((flag) => FLAGS.some((each) => nameOf(each) === nameOf(flag)));
  const flags = [...own, ...missingFlags()];
  const child = spawn(node, [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, HOLDFAST_HANDED_OVER: '1' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`holdfast: cannot run ${node}: ${error.message}\nFix: install Holdfast again.\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    for (const each of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(each);
    if (signal === null) process.exit(code ?? 1);
    process.kill(process.pid, signal);
  });
}

/**
 * Ends this process when the one that started it is killed: it must not continue without its
 * parent.
 */
function dieWithParent() {
  if (process.env['HOLDFAST_HANDED_OVER'] !== '1') return;
  delete process.env['HOLDFAST_HANDED_OVER'];
  if (process.channel === undefined) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel.unref();
}
