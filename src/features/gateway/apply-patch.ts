// Changes the configuration file by a JSON merge patch. The new file is written beside the old one,
// checked there as `holdfast config validate` checks it, and takes its place in one step; so no
// process ever reads half of it, and a faulty one is never in place.
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  chownSync,
  closeSync,
  copyFileSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import JSON5 from 'json5';
import { ConfigError, LiveConfig, loadConfigFile, processEnvironment, type ConfigChange } from '../../config.ts';
import { isObject } from '../../core/json.ts';
import { cutHead } from '../../core/text.ts';
import { errorOutcome, textOutcome, type ToolOutcome } from '../../tools/tool.ts';

const CHECK_MS = 60_000;
const TEXT_CHARS_MAX = 20_000;
const CLI = fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url));

/** The sha256 of a file in hex. */
export function readHash(path: string): string {
  return hash(readFileSync(path));
}

/** Throws `ConfigError` with every fault that the file would have; nothing is changed then. */
export async function applyPatch(
  configPath: string | null,
  { patch, baseHash }: { patch: Record<string, unknown>; baseHash: string },
): Promise<ToolOutcome> {
  if (configPath === null)
    return errorOutcome(
      'gateway: there is no configuration file. Ask the user to create one; HOLDFAST_CONFIG names it.',
    );
  // A link stays where it is.
  const path = realpathSync(configPath);
  const bytes = readFileSync(path);
  const before: unknown = JSON5.parse(bytes.toString('utf8'));
  const after = merge(before, patch);
  if (JSON.stringify(after) === JSON.stringify(before))
    return textOutcome(`${configPath} (sha256 ${hash(bytes)}) has all of this already. Nothing was changed.`);
  if (hash(bytes) !== baseHash)
    return errorOutcome(
      `gateway: baseHash: ${configPath} is not the file that the patch was made for: its sha256 is ${hash(bytes)}. Nothing was changed. Read it again with config.get.`,
    );
  const next = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  try {
    writeLike(path, next, `${JSON.stringify(after, null, 2)}\n`);
    const changes = listChanges(configPath, next);
    await checkPlugins(next);
    if (readHash(path) !== baseHash)
      return errorOutcome(
        `gateway: ${configPath} was changed meanwhile. Nothing was changed. Read it again with config.get.`,
      );
    copyFileSync(path, `${path}.previous`);
    renameSync(next, path);
    return textOutcome(cutHead(describe(configPath, changes), TEXT_CHARS_MAX));
  } finally {
    rmSync(next, { force: true });
  }
}

/** RFC 7396: objects are merged, null removes a key, everything else replaces. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const fields = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) fields.delete(key);
    else fields.set(key, merge(fields.get(key), value));
  }
  return Object.fromEntries(fields);
}

/** Writes a file with the rights of another one, so that it is on the disk. */
function writeLike(path: string, next: string, text: string): void {
  const { mode, uid, gid } = statSync(path);
  const file = openSync(next, 'wx', mode & 0o777);
  try {
    fchmodSync(file, mode & 0o777);
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  if (process.getuid?.() === 0) chownSync(next, uid, gid);
}

/** What the file beside would change. Throws `ConfigError` with every fault of it. */
function listChanges(path: string, next: string): ConfigChange[] {
  let loaded = loadConfigFile(path);
  const live = new LiveConfig(() => loaded);
  loaded = loadConfigFile(next);
  return live.compare().filter((change) => change.path !== 'runtime.configPath');
}

/**
 * Plugins say which tools and models there are; another process loads them, because they are loaded
 * here already.
 */
async function checkPlugins(next: string): Promise<void> {
  if (loadConfigFile(next).config.plugins.modules.length === 0) return;
  const env = { ...processEnvironment(), HOLDFAST_CONFIG: next };
  try {
    await promisify(execFile)(process.execPath, [CLI, 'config', 'validate'], { env, timeout: CHECK_MS });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const message = stderr.trim() || (error as Error).message;
    throw new ConfigError([
      { path: 'plugins', value: undefined, allowed: 'a configuration that its plugins accept', message },
    ]);
  }
}

function describe(path: string, changes: readonly ConfigChange[]): string {
  const lines = changes.map(
    ({ path: at, value, next, needsRestart }) =>
      `${at}: ${JSON.stringify(value)} -> ${JSON.stringify(next)} (${needsRestart ? 'after a restart' : 'after "holdfast config reload"'})`,
  );
  return [
    `Changed ${path}; its sha256 is now ${readHash(path)}. The file as it was before is ${path}.previous.`,
    ...(lines.length === 0 ? ['No setting differs by it: the environment decides, or the value is the same.'] : lines),
    'Nothing takes effect by itself: ask the user to reload the configuration, or to restart the processes.',
  ].join('\n');
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
