// The confinement of the file tools to a call's workspace, which is that of the model provider's agent toolset: every symlink is
// resolved before a path is checked, and the work is done on the resolved path. The toolset is loaded at the first use: loading it
// brings in the whole client library (0.3 s cold), which a starting service need not wait for.
import { mkdir, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { giveToOwner } from './open-workspace.ts';
import { TextFileError, type NamedFile } from './text-files.ts';
import { errorOutcome, type ToolCall, type ToolOutcome, textOutcome } from './tool.ts';

type Toolset = typeof import('@anthropic-ai/sdk/tools/agent-toolset/node');
type ToolsetTool = ReturnType<Toolset['betaReadTool']>;

/** What models also call the path of a file. */
export const PATH_ALIASES = { path: 'file_path' } as const;

/** Loads the toolset; after the first time this costs nothing. */
function loadToolset(): Promise<Toolset> {
  return import('@anthropic-ai/sdk/tools/agent-toolset/node');
}

function loadFileFunctions(): Promise<typeof import('@anthropic-ai/sdk/tools/agent-toolset/fs-util')> {
  return import('@anthropic-ai/sdk/tools/agent-toolset/fs-util');
}

/**
 * Runs one tool of the toolset in the call's workspace. Its errors are expected failures (a missing file, a path outside), worded
 * without paths of the host. Rejects with the signal's reason when the call is aborted before it starts.
 */
export async function runToolsetTool<Input>(
  make: (toolset: Toolset, context: { workdir: string }) => ToolsetTool,
  input: Input,
  call: ToolCall,
): Promise<ToolOutcome> {
  const tool = make(await loadToolset(), { workdir: call.workspaceDir });
  call.signal.throwIfAborted();
  call.lease.assertHeld();
  const toolUse = { type: 'tool_use' as const, id: call.callId, name: '', input };
  try {
    const content = await tool.run(input, { toolUse, toolUseBlock: toolUse, signal: call.signal });
    // The file tools answer with text only; blocks are a possibility of the port they share with other tools.
    return textOutcome(typeof content === 'string' ? content : JSON.stringify(content));
  } catch (error) {
    call.signal.throwIfAborted();
    return errorOutcome(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Works on one file, at its real path in the workspace or in one of the roots. `work` answers with the text for the model. What it throws
 * is an expected failure, worded without paths of the host.
 */
export async function runFileTool(
  { tool, file, call, roots = [] }: { tool: string; file: string; call: ToolCall; roots?: readonly string[] },
  work: (file: NamedFile) => Promise<string>,
): Promise<ToolOutcome> {
  const { fsErrorMessage } = await loadFileFunctions();
  call.signal.throwIfAborted();
  call.lease.assertHeld();
  let path: string;
  try {
    path = await resolveInWorkspace(call.workspaceDir, file, roots);
  } catch (error) {
    return errorOutcome((error as Error).message);
  }
  try {
    return textOutcome(await work({ path, name: file }));
  } catch (error) {
    call.signal.throwIfAborted();
    return errorOutcome(`${tool}: ${error instanceof TextFileError ? error.message : fsErrorMessage(error, file)}`);
  }
}

/** Writes a file, whole or not at all. It belongs to the owner of the workspace afterwards, the user that commands run as. */
export async function writeWhole(path: string, content: string | Uint8Array, call: ToolCall): Promise<void> {
  const { atomicWriteFile, DIR_CREATE_MODE } = await loadFileFunctions();
  await mkdir(dirname(path), { recursive: true, mode: DIR_CREATE_MODE });
  // Declared for texts alone; bytes are passed on to Node as they are.
  await atomicWriteFile(path, content as string);
  await giveToOwner(await realpath(call.workspaceDir), path);
}

/**
 * The real path of `path` inside the workspace or one of the roots, every symlink resolved, whether it exists or not. Throws an error with a text
 * for the model when it leads outside or cannot be resolved.
 */
export async function resolveInWorkspace(
  workspaceDir: string,
  path: string,
  roots: readonly string[] = [],
): Promise<string> {
  const { resolvePath } = await loadToolset();
  return resolvePath({ workdir: workspaceDir, allowedRoots: [...roots] }, path);
}
