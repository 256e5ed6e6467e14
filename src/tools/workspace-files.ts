// The file tools of the model provider's agent toolset, confined to a call's workspace. The toolset resolves every symlink
// before it checks a path and then works on the resolved path. It is loaded at the first use: loading it brings in the whole
// client library (0.3 s cold), which a starting service need not wait for.
import { realpath } from 'node:fs/promises';
import { giveToOwner } from './open-workspace.ts';
import { errorOutcome, type ToolCall, type ToolOutcome } from './tool.ts';

type Toolset = typeof import('@anthropic-ai/sdk/tools/agent-toolset/node');
type ToolsetTool = ReturnType<Toolset['betaReadTool']>;

/** What models also call the path of a file. */
export const PATH_ALIASES = { path: 'file_path' } as const;

/** Loads the toolset; after the first time this costs nothing. */
function loadToolset(): Promise<Toolset> {
  return import('@anthropic-ai/sdk/tools/agent-toolset/node');
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
    return { content: typeof content === 'string' ? content : JSON.stringify(content), isError: false };
  } catch (error) {
    call.signal.throwIfAborted();
    return errorOutcome(error instanceof Error ? error.message : String(error));
  }
}

/** The same for a tool that writes a file: it belongs to the owner of the workspace afterwards, the user that commands run as. */
export async function runWritingTool<Input extends { file_path: string }>(
  make: (toolset: Toolset, context: { workdir: string }) => ToolsetTool,
  input: Input,
  call: ToolCall,
): Promise<ToolOutcome> {
  const outcome = await runToolsetTool(make, input, call);
  if (outcome.isError) return outcome;
  const { workspaceDir } = call;
  await giveToOwner(await realpath(workspaceDir), await resolveInWorkspace(workspaceDir, input.file_path));
  return outcome;
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
