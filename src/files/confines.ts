// Where names may lead: into folders, through links that stay in them.
import { resolve } from 'node:path';
import { withFileSlot } from './file-slots.ts';
import { PathRefusedError } from './held-folder.ts';

/** Where a name may lead. */
export interface Confines {
  /** The folder that relative names are relative to. */
  base: string;
  /** Absolute folders; the name leads into one of them. */
  roots: readonly string[];
}

/** A folder that relative names are relative to, and further ones. */
export function confinedTo(folder: string, roots: readonly string[] = []): Confines {
  return { base: folder, roots: [folder, ...roots] };
}

/** Where a name leads, and the real path of the folder that it is in. */
export interface ResolvedPath {
  path: string;
  root: string;
}

/**
 * The real path of a name, whether it exists or not, and the real path of the folder that it is in.
 * It says where the name leads now; to use the file, open it by its name. Throws `PathRefusedError`
 * or the error of the file system.
 */
export function resolveInside(name: string, confines: Confines): Promise<ResolvedPath> {
  return withFileSlot(resolve(confines.base, name), () => resolveName(name, confines));
}

/** Resolves a name for work that has a slot already. */
export async function resolveName(name: string, confines: Confines): Promise<ResolvedPath> {
  if (name.includes('\0'))
    throw new PathRefusedError('invalid', `path ${JSON.stringify(name)} contains a NUL character`);
  const { canonicalize } = await loadLibrary();
  const path = await canonicalize(resolve(confines.base, name));
  return { path, root: await findRoot(path, name, confines) };
}

/**
 * The real path of the folder that a real path is in. Throws `PathRefusedError` if it is in none;
 * `name`: for errors.
 */
export async function findRoot(path: string, name: string, { roots }: Confines): Promise<string> {
  const { canonicalize, isWithin } = await loadLibrary();
  for (const root of roots.map((each) => resolve(each))) {
    // A real path has no links, so if it begins with the root as it is named, there are none in
    // that either.
    if (isWithin(root, path)) return root;
    const real = await canonicalize(root);
    if (isWithin(real, path)) return real;
  }
  const permitted = roots.length > 1 ? 'the workspace and the other permitted folders' : 'the workspace';
  throw new PathRefusedError('outside', `path ${JSON.stringify(name)} is outside ${permitted}`);
}

type Library = typeof import('@anthropic-ai/sdk/tools/agent-toolset/fs-util');
let library: Promise<Library> | undefined;

/** Loaded at the first use: 20 ms that a start need not wait for. */
export function loadLibrary(): Promise<Library> {
  return (library ??= import('@anthropic-ai/sdk/tools/agent-toolset/fs-util'));
}
