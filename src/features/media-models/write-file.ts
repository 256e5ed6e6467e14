// Where a tool writes the file that a model has made: a new file of the workspace. The place is checked before the model is paid.
import { existsSync } from 'node:fs';
import type { ToolCall } from '../../tools/tool.ts';
import { resolveInWorkspace, writeWhole } from '../../tools/workspace-files.ts';

/** Whether a file can be written there, if the model has named one. */
export async function planFile(call: ToolCall, file: string | undefined): Promise<{ fault: string } | object> {
  if (file === undefined) return {};
  try {
    if (file.endsWith('/')) return { fault: `${JSON.stringify(file)} names a folder; give the name of a file` };
    const path = await resolveInWorkspace(call.workspaceDir, file);
    return existsSync(path) ? { fault: `${file} exists; give the name of a new file` } : {};
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

/** Writes it; resolves with why it could not be written, or null. */
export async function writeFile(call: ToolCall, file: string, bytes: Uint8Array): Promise<string | null> {
  call.lease.assertHeld();
  try {
    await writeWhole(await resolveInWorkspace(call.workspaceDir, file), bytes, call);
    return null;
  } catch (error) {
    return `the file cannot be written: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`;
  }
}
