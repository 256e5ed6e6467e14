// Where a tool writes the file that a model has made: a new file of the workspace. The place is
// checked before the model is paid.
import { isAbsent } from '../../files/held-folder.ts';
import { confinedTo } from '../../files/confines.ts';
import { replaceInside, withFileInside } from '../../files/inside.ts';
import type { ToolCall } from '../../tools/tool.ts';
import { describeFault } from '../../tools/workspace-files.ts';
import { withSuffix } from './rules.ts';

/** Whether a file can be written there, if the model has named one. */
export async function planFile(call: ToolCall, file: string | undefined): Promise<{ fault: string } | object> {
  if (file === undefined) return {};
  if (file.endsWith('/')) return { fault: `${JSON.stringify(file)} names a folder; give the name of a file` };
  try {
    await withFileInside(file, confinedTo(call.workspaceDir), () => Promise.resolve());
    return { fault: `${file} exists; give the name of a new file` };
  } catch (error) {
    return isAbsent(error) ? {} : { fault: await describeFault(error, file) };
  }
}

/**
 * Where a file of this format goes: under a name that fits it. `mark`: for a name whose fitting
 * form another file has.
 */
export async function fittingPath(
  call: ToolCall,
  file: string,
  { format, mark }: { format: string; mark: string },
): Promise<string> {
  const fitting = withSuffix(file, format);
  if (fitting === file || !('fault' in (await planFile(call, fitting)))) return fitting;
  return withSuffix(`${file.replace(/\.\w+$/, '')}-${mark}`, format);
}

/** Writes it; resolves with why it could not be written, or null. */
export async function writeFile(call: ToolCall, file: string, bytes: Uint8Array): Promise<string | null> {
  call.lease.assertHeld();
  try {
    await replaceInside(file, confinedTo(call.workspaceDir), bytes);
    return null;
  } catch (error) {
    return `the file cannot be written: ${await describeFault(error, file)}`;
  }
}
