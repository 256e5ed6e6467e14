// The place of the workspaces where root runs the service in a data directory that the user of the commands cannot enter, for example below
// /root: there commands could only run as root. A new data directory then gets a folder for its workspaces outside, with a link to it.
import { readdirSync, statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { ensurePrivateFolder } from '../config/private-folder.ts';
import { workspacesLinkOf } from '../config/workspaces-folder.ts';
import { PLACES, planAllCommands, planCommands } from './command-user.ts';

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
