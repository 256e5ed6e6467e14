// Where a server that is a process runs: in the sandbox, with a folder of its own that is its home,
// or outside. What its command line names it can read, so that a configuration of another client
// works as it is; it reaches public hosts, and nothing of this machine.
import { chown } from 'node:fs/promises';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Config, McpServerSettings } from '../../config.ts';
import {
  canReach,
  closedFolderAbove,
  type OsUser,
  ensurePassableFolder,
  ensurePrivateFolder,
  realPathOf,
  workspacesFolderOf,
} from '../../config/places.ts';
import { isAtOrBelow } from '../../tools/sandbox/rules/policy.ts';
import { planAllCommands, planCommands } from '../../tools/command-user.ts';
import { HostProxy } from '../../tools/sandbox/host-proxy.ts';
import type { WrapCommand } from '../../tools/sandbox/port.ts';
import { findProgram } from '../../tools/sandbox/runtimes.ts';
import { sandboxOf } from '../../tools/sandbox/sandbox.ts';

export interface ServerPlace {
  /** Null: it runs outside. */
  wrap: WrapCommand | null;
  /** Why it runs outside, or what it lacks inside; null: it runs inside and lacks nothing. */
  reason: string | null;
  /** The operator has decided that it runs outside. */
  isDecided: boolean;
  /** Null: the user of this process. */
  user: OsUser | null;
  workdir: string | undefined;
  /** To call when the server has ended. */
  close(): Promise<void>;
}

type PlacedServer = Pick<McpServerSettings, 'command' | 'args' | 'cwd' | 'sandbox' | 'network'>;

/** Throws `SandboxRequiredError` where the sandbox is required and does not work. */
export async function placeServer(config: Config, name: string, settings: PlacedServer): Promise<ServerPlace> {
  const { cwd, sandbox = 'auto', network = ['*'] } = settings;
  const outside = (reason: string | null, isDecided = true): ServerPlace => ({
    wrap: null,
    reason,
    isDecided,
    user: null,
    workdir: cwd,
    close: closeNone,
  });
  if (sandbox === 'off') return outside(`mcp.servers.${name}.sandbox is "off"`);
  if (config.tools.exec.sandbox === 'off') return outside('tools.exec.sandbox is "off"');
  const readable = readableOf(settings);
  // Beside the workspaces that are not configured, where the user of commands can come.
  const folder = join(workspacesFolderOf(config.runtime.dataDir), 'mcp', name);
  await ensurePassableFolder(dirname(folder));
  await ensurePrivateFolder(folder);
  const home = realPathOf(folder);
  const user = await userOf(config, { home, cwd, readable });
  const proxy = network === 'none' ? null : new HostProxy(network);
  const server = { readable, writable: cwd === undefined ? [] : [writableFor(config, name, cwd)] };
  try {
    const place = { workspaceDir: folder, realDir: home, user, proxy, server };
    const { wrap, reason } = await sandboxOf(config).enterAsServer(place);
    const workdir = cwd === undefined ? home : realPathOf(cwd);
    if (wrap !== null)
      return { wrap, reason, isDecided: false, user, workdir, close: () => proxy?.close() ?? closeNone() };
    await proxy?.close();
    return outside(reason, config.sandbox.runtime === 'external');
  } catch (error) {
    await proxy?.close();
    throw error;
  }
}

/**
 * What is mounted for a server that starts in this folder. Commands of an agent can put a link in
 * the place of a folder of its workspace, and the mount would follow it: there the workspace is
 * mounted, and the link leads nowhere. Throws if the folder has left the workspace already.
 */
function writableFor(config: Config, name: string, cwd: string): string {
  const plan = planAllCommands(config).find(({ workspaceDir }) => isAtOrBelow(cwd, workspaceDir));
  if (plan === undefined) return cwd;
  if (isAtOrBelow(realPathOf(cwd), plan.realDir)) return plan.workspaceDir;
  throw new Error(`mcp.servers.${name}.cwd is ${cwd}, which leads out of the workspace ${plan.workspaceDir}`);
}

async function closeNone(): Promise<void> {}

/**
 * The user of commands in the server's folder, if that user can reach all that the server needs;
 * else that of this process.
 */
async function userOf(
  config: Config,
  { home, cwd, readable }: { home: string; cwd: string | undefined; readable: readonly string[] },
): Promise<OsUser | null> {
  const { user } = planCommands(config, cwd ?? home);
  if (user === null) return null;
  const needed = [...(cwd === undefined ? [] : [cwd]), ...readable];
  const isReached = needed.every((path) => canReach(path, user)) && closedFolderAbove(home, user) === null;
  // Without capabilities, root enters no folder of another user.
  const owner = isReached ? user : { uid: 0, gid: 0 };
  if (statSync(home).uid !== owner.uid) await chown(home, owner.uid, owner.gid);
  return isReached ? user : null;
}

/**
 * What a command line needs beside the folders of the system: its program, and the files and
 * folders that it names. Real paths and links.
 */
export function readableOf({ command = '', args }: Pick<PlacedServer, 'command' | 'args'>): string[] {
  const program = findProgram(command);
  const programs = program === null ? [] : [program, realpathSync(program)].flatMap(foldersOfProgram);
  const named = args.filter((arg) => isAbsolute(arg) && arg !== '/' && existsSync(arg)).map(packageOf);
  return [...new Set([...programs, ...named])];
}

/** A program with the libraries that are installed with it: `bin` and `lib` of its prefix. */
function foldersOfProgram(path: string): string[] {
  const folder = dirname(path);
  if (folder === homedir()) return [path];
  const library = join(dirname(folder), 'lib');
  return [folder, ...(basename(folder) === 'bin' && existsSync(library) ? [library] : [])];
}

/**
 * The package that a script belongs to, which has its libraries; never a whole home. Of any other
 * file, the file alone: what lies beside it may be secret.
 */
function packageOf(path: string): string {
  if (statSync(path).isDirectory()) return path;
  for (let folder = dirname(path); folder !== dirname(folder) && folder !== homedir(); folder = dirname(folder))
    if (['package.json', 'pyproject.toml'].some((name) => existsSync(join(folder, name)))) return folder;
  return path;
}
