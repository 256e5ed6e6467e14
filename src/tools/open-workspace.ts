// Makes the folders that commands run in, and gives the users that run commands access to them and to nothing else. Only root gives anything away; an
// ordinary user has folders with mode 0700. Where root runs the service in a data directory that the user of the commands cannot enter, for example
// below /root, commands could only run as root: a new data directory then gets a folder for its workspaces outside, with a link to it.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { chmod, chown, lchown, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ConfigError, type Config } from '../config.ts';
import { ensurePrivateFolder } from '../config/private-folder.ts';
import { workspacesLinkOf } from '../config/workspaces-folder.ts';
import { isInDataDir, isOwn, PLACES, planAllCommands, planCommands, type CommandPlan } from './command-user.ts';
import { canWrite, type OsUser } from '../config/os-users.ts';

/** All users may pass the folders above a workspace, and none may list them. */
const PASSABLE = 0o711;

/** Makes the folder and the link if the data directory needs them and has no workspace yet. True: load the configuration again. */
export async function placeWorkspaces(config: Config): Promise<boolean> {
  if (!isPlaceNeeded(config)) return false;
  const { dataDir } = config.runtime;
  await ensurePrivateFolder(dataDir);
  if (!(await openPlaces(config))) return false;
  const folder = await mkdtemp(`${PLACES}/`);
  await chmod(folder, PASSABLE);
  try {
    await symlink(folder, workspacesLinkOf(dataDir));
  } catch (error) {
    await rm(folder, { recursive: true });
    // Another process that starts at the same time has placed them.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return true;
}

/** True before the first start in a data directory that the user of the commands cannot enter, unless all workspaces are configured. */
export function isPlaceNeeded(config: Config): boolean {
  const { dataDir } = config.runtime;
  if (config.workspace.path !== join(dataDir, 'workspace') || hasWorkspaces(dataDir)) return false;
  return planAllCommands(config).some(
    ({ workspaceDir, closedBy }) => closedBy !== null && dirname(workspaceDir) === dataDir,
  );
}

function hasWorkspaces(dataDir: string): boolean {
  try {
    return readdirSync(dataDir).some((name) => name.startsWith('workspace'));
  } catch {
    return false;
  }
}

/**
 * Makes the folder of all places. False where it is of no use: the user of the commands cannot come there either, or it is on another file
 * system than the data directory. Workspaces must not be lost with a container while the data directory is on a volume that stays.
 */
async function openPlaces(config: Config): Promise<boolean> {
  try {
    if (statSync(dirname(PLACES)).dev !== statSync(config.runtime.dataDir).dev) return false;
    const made = await mkdir(PLACES, { mode: PASSABLE }).catch(() => null);
    if (made !== null) await chmod(PLACES, PASSABLE);
    const { uid, mode } = statSync(PLACES);
    return uid === 0 && (mode & 0o022) === 0 && planCommands(config, join(PLACES, 'new')).closedBy === null;
  } catch {
    return false;
  }
}

/** Folders of the machine, which cannot be a workspace: their contents are given to no user. */
const SYSTEM_FOLDERS = new Set([
  '/',
  ...'bin boot dev etc home lib lib64 opt proc root run sbin srv sys tmp usr var'.split(' ').map((name) => `/${name}`),
]);

/**
 * Makes the data directory with mode 0700. Where commands run as another user and that user can come so far, it may also be passed (not
 * read) by that user's group, because the workspaces are in it.
 */
export async function openDataDir(config: Config): Promise<void> {
  const { dataDir } = config.runtime;
  await ensurePrivateFolder(dataDir);
  const passing = planAllCommands(config).filter(
    ({ workspaceDir, closedBy }) => closedBy === null && isInDataDir(config, workspaceDir),
  );
  const groups = new Set(passing.flatMap(({ user }) => (user === null ? [] : [user.gid])));
  const [group] = groups;
  if (group === undefined) return;
  if (groups.size === 1) await chown(dataDir, statSync(dataDir).uid, group);
  await chmod(dataDir, groups.size === 1 ? 0o710 : 0o711);
}

/** Makes the workspaces and gives each to the user that its commands run as. Throws `ConfigError` when that user could not write there. */
export async function openWorkspaces(config: Config): Promise<void> {
  for (const plan of planAllCommands(config)) await openWorkspace(config, plan);
}

async function openWorkspace(config: Config, { workspaceDir, user }: CommandPlan): Promise<void> {
  // What others made elsewhere keeps its mode.
  if (isOwn(config, workspaceDir) || !existsSync(workspaceDir)) await ensurePrivateFolder(workspaceDir);
  if (user === null) return;
  const folder = resolve(workspaceDir);
  if (statSync(folder).uid === 0 && !SYSTEM_FOLDERS.has(folder)) await giveFolder(folder, user).catch(() => undefined);
  if (canWrite(folder, user)) return;
  const value = config.tools.exec.user ?? user.name;
  const allowed = `a user with write access to the workspace ${folder}`;
  const message = `is ${JSON.stringify(value)}; allowed: ${allowed}; make that user its owner (chown -R ${user.uid}:${user.gid} ${folder}), or name another one`;
  throw new ConfigError([{ path: 'tools.exec.user', value, allowed, message }]);
}

/** Gives a user a folder of root with all that root owns in it. No other user has had rights in it yet, so nothing in it can be exchanged meanwhile. */
async function giveFolder(folder: string, { uid, gid }: OsUser): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await giveFolder(path, { uid, gid });
    else await lchown(path, uid, gid);
  }
  await chown(folder, uid, gid);
}
