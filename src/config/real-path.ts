// Real paths, by which folders and files are compared and mounted.
import { existsSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';

/** The real path of what exists of a path. */
export function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return dirname(path) === path ? path : join(realPathOf(dirname(path)), basename(path));
}

/** A symbolic link: the real path of its folder with its name, and the real path that it leads to. */
export interface FoundLink {
  path: string;
  target: string;
}

/** The links that the kernel follows on the way to an absolute path, in their order; none where the path does not exist. */
export function linksOnTheWay(path: string): FoundLink[] {
  if (!existsSync(path)) return [];
  const links: FoundLink[] = [];
  let at = '/';
  for (let rest = path.split('/'); rest.length > 0;) {
    const [name = '', ...others] = rest;
    const next = join(at, name);
    const target = readLink(next);
    rest = target === null ? others : [...target.split('/'), ...others];
    if (target === null) at = next;
    else links.push({ path: next, target: realpathSync(next) });
    if (target !== null && isAbsolute(target)) at = '/';
  }
  return links;
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
