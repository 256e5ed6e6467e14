import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A fresh folder with the mode of a folder that a person makes. In one that only its owner can
 * enter, as mkdtemp makes it, a service of root would place its workspaces outside, where the
 * removal of the folder does not reach.
 */
export async function makeFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  await chmod(folder, 0o755);
  return folder;
}
