// The file tools' work in the workspace of a call. When it fails, the model receives the reason
// without a path of the host.
import { FileSystemHangsError } from '../files/file-slots.ts';
import { PathRefusedError } from '../files/held-folder.ts';
import { confinedTo, loadLibrary, type Confines } from '../files/confines.ts';
import { withFileInside } from '../files/inside.ts';
import { TextFileError, type NamedFile } from './text-files.ts';
import { errorOutcome, type ToolCall, type ToolOutcome, textOutcome } from './tool.ts';

/** What models also call the path of a file. */
export const PATH_ALIASES = { path: 'file_path' } as const;

interface FileWork {
  tool: string;
  call: ToolCall;
  /** How the model named the file or folder. */
  name: string;
  /** Folders in addition to the workspace. */
  roots?: readonly string[];
}

/**
 * Works in the workspace. `work` answers with the text for the model; what it throws is an expected
 * failure.
 */
export async function runInWorkspace(
  { tool, call, name, roots }: FileWork,
  work: (confines: Confines) => Promise<string>,
): Promise<ToolOutcome> {
  call.signal.throwIfAborted();
  call.lease.assertHeld();
  try {
    return textOutcome(await work(confinedTo(call.workspaceDir, roots)));
  } catch (error) {
    call.signal.throwIfAborted();
    return errorOutcome(`${tool}: ${await describeFault(error, name)}`);
  }
}

/** Works on one file that is open, as `runInWorkspace` does. */
export function runOnFile(options: FileWork, work: (file: NamedFile) => Promise<string>): Promise<ToolOutcome> {
  return runInWorkspace(options, (confines) => useFile(options.name, confines, work));
}

/** Uses one file, and closes it. Throws what `withFileInside` and `use` throw. */
export function useFile<Result>(
  name: string,
  confines: Confines,
  use: (file: NamedFile) => Promise<Result>,
): Promise<Result> {
  return withFileInside(name, confines, ({ file, facts }) => use({ file, name, size: Number(facts.size) }));
}

/** Why the work on a file failed. */
export async function describeFault(error: unknown, name: string): Promise<string> {
  if ([TextFileError, PathRefusedError, FileSystemHangsError].some((known) => error instanceof known))
    return (error as Error).message;
  return (await loadLibrary()).fsErrorMessage(error, name);
}
