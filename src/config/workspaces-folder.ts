// The folder of the workspaces that are not configured. It is the data directory, unless the user that runs commands cannot enter that: then the
// entry `workspaces` of the data directory is a link to another folder, which stays right when the data directory is moved or opened.
import { existsSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from './config-error.ts';

/** The link in the data directory. */
export function workspacesLinkOf(dataDir: string): string {
  return join(dataDir, 'workspaces');
}

/** Throws `ConfigError` when the link leads to a folder that does not exist. */
export function workspacesFolderOf(dataDir: string): string {
  const link = workspacesLinkOf(dataDir);
  const folder = readTarget(link);
  if (folder === null) return dataDir;
  if (existsSync(folder)) return folder;
  const allowed = `a folder that exists; put the workspaces back there, or delete the link ${link} to begin with an empty one`;
  const message = `is in ${folder}, which ${link} leads to; allowed: ${allowed}`;
  throw new ConfigError([{ path: 'workspace.path', value: folder, allowed, message }]);
}

function readTarget(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}
