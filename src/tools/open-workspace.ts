// Makes the folders that commands run in, and gives the users that run commands access to them and
// to nothing else. Only root gives anything away; an ordinary user has folders with mode 0700.
// Where root runs the service in a data directory that the user of the commands cannot enter, for
// example below /root, commands could only run as root: a new data directory then gets a folder for
// its workspaces outside, with a link to it.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { chmod, chown, lchown, lstat, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError, type Config } from '../config.ts';
import { ensurePrivateFolder, makePrivateFolder, workspacesLinkOf, canWrite, type OsUser } from '../config/places.ts';
import { isInDataDir, isOwn, PLACES, planAllCommands, planCommands, type CommandPlan } from './command-user.ts';
import { isAtOrBelow } from './sandbox/rules/policy.ts';
import { HeldFolder } from '../files/held-folder.ts';

/** All users may pass the folders above a workspace, and none may list them. */
const PASSABLE = 0o711;

/**
 * Makes the folder and the link if the data directory needs them and has no workspace yet. True:
 * load the configuration again.
 */
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

/**
 * True before the first start in a data directory that the user of the commands cannot enter,
 * unless all workspaces are configured.
 */
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
 * Makes the folder of all places. False where it is of no use: the user of the commands cannot come
 * there either, or it is on another file system than the data directory. Workspaces must not be
 * lost with a container while the data directory is on a volume that stays.
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
 * Makes the data directory with mode 0700. Where commands run as another user and that user can
 * come so far, it may also be passed (not read) by that user's group, because the workspaces are in
 * it.
 */
export async function openDataDir(config: Config): Promise<void> {
  const { dataDir } = config.runtime;
  await makePrivateFolder(dataDir);
  const passing = planAllCommands(config).filter(
    ({ workspaceDir, closedBy }) => closedBy === null && isInDataDir(config, workspaceDir),
  );
  const groups = new Set(passing.flatMap(({ user }) => (user === null ? [] : [user.gid])));
  const [group] = groups;
  // Commands of other processes run: a mode of 0700 in between would end them.
  if (group === undefined) return await ensurePrivateFolder(dataDir);
  if (groups.size === 1) await chown(dataDir, statSync(dataDir).uid, group);
  await chmod(dataDir, groups.size === 1 ? 0o710 : 0o711);
}

/**
 * Makes the workspaces and gives each to the user that its commands run as. Throws `ConfigError`
 * when that user could not write there.
 */
export async function openWorkspaces(config: Config): Promise<void> {
  const plans = planAllCommands(config);
  for (const plan of plans) await openWorkspace(config, plan, plans);
}

async function openWorkspace(config: Config, plan: CommandPlan, plans: readonly CommandPlan[]): Promise<void> {
  const { workspaceDir, user } = plan;
  // What others made elsewhere keeps its mode.
  if (isOwn(config, workspaceDir) || !existsSync(workspaceDir)) await ensurePrivateFolder(workspaceDir);
  assertOwnPlace(plan, plans);
  if (user === null) return;
  const folder = plan.realDir;
  if (statSync(folder).uid === 0 && !SYSTEM_FOLDERS.has(folder)) await giveFolder(folder, user).catch(() => undefined);
  if (canWrite(folder, user)) return;
  const value = config.tools.exec.user ?? user.name;
  const allowed = `a user with write access to the workspace ${folder}`;
  const message = `is ${JSON.stringify(value)}; allowed: ${allowed}; make that user its owner (chown -R ${user.uid}:${user.gid} ${folder}), or name another one`;
  throw new ConfigError([{ path: 'tools.exec.user', value, allowed, message }]);
}

/**
 * Commands in one workspace can put a link in the place of another one that is below it. Throws
 * `ConfigError` where one leads out.
 */
function assertOwnPlace({ workspaceDir, realDir }: CommandPlan, plans: readonly CommandPlan[]): void {
  for (const outer of plans) {
    if (!isAtOrBelow(workspaceDir, outer.workspaceDir) || isAtOrBelow(realDir, outer.realDir)) continue;
    const allowed = `a folder that stays in the workspace ${outer.workspaceDir}, or one outside of it`;
    const message = `is ${workspaceDir}, which leads to ${realDir}; allowed: ${allowed}; remove the link`;
    throw new ConfigError([{ path: 'agents.list', value: workspaceDir, allowed, message }]);
  }
}

/**
 * Gives a user a folder of root with the files and folders in it. A file with several names stays
 * root's: another name may be outside.
 */
async function giveFolder(path: string, { uid, gid }: OsUser): Promise<void> {
  const folder = await HeldFolder.open(path);
  try {
    for (const { name } of await readdir(folder.at('.'), { withFileTypes: true })) {
      const facts = await lstat(folder.at(name));
      if (facts.isDirectory()) await giveFolder(join(path, name), { uid, gid });
      else if (facts.nlink === 1) await lchown(folder.at(name), uid, gid);
    }
    await chown(folder.at('.'), uid, gid);
  } finally {
    folder.close();
  }
}
