// The file that an agent sends with a message: a URL for its receiver to fetch, or a file of the agent's workspace or of another allowed
// folder (G30). The delivery only names it; the receiver of the delivery reads it.
import { realpath, stat } from 'node:fs/promises';
import { basename, isAbsolute, relative, resolve, sep } from 'node:path';
import type { OutgoingMedia } from '../core/delivery-payload.ts';

/** `refused` is a reason for the model. */
export type ChosenMedia = { kind: 'media'; media: OutgoingMedia } | { kind: 'refused'; reason: string };

/** Checks the media that an agent names. `roots` are the absolute folders, in addition to the workspace, from which files can be sent. */
export async function chooseMedia(
  named: string,
  { workspaceDir, roots }: { workspaceDir: string; roots: readonly string[] },
): Promise<ChosenMedia> {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(named)) return chooseUrl(named);
  const path = await realpath(resolve(workspaceDir, named)).catch(() => null);
  const isAllowed = path !== null && (await isInside(path, [workspaceDir, ...roots]));
  // A file outside must be indistinguishable from one that does not exist.
  if (!isAllowed || !(await stat(path)).isFile()) {
    return refused(`${JSON.stringify(named)} is not a file of the workspace; give a path inside it or an http(s) URL`);
  }
  return { kind: 'media', media: { path, name: basename(path) } };
}

function chooseUrl(named: string): ChosenMedia {
  const url = URL.canParse(named) ? new URL(named) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    return refused(`${JSON.stringify(named)} cannot be sent: give an http(s) URL without user and password`);
  }
  return { kind: 'media', media: { url: url.href } };
}

async function isInside(path: string, folders: readonly string[]): Promise<boolean> {
  for (const folder of folders) {
    const real = await realpath(folder).catch(() => null);
    if (real === null) continue;
    const way = relative(real, path);
    if (way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return true;
  }
  return false;
}

function refused(reason: string): ChosenMedia {
  return { kind: 'refused', reason };
}
