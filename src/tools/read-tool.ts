// The `read` tool: a text file of the workspace, or some of its lines.
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import { errorOutcome, type Tool } from './tool.ts';
import { PATH_ALIASES, resolveInWorkspace, runToolsetTool } from './workspace-files.ts';

/**
 * The largest file that lines are looked for in. Looking for a line reads the file from its start and cannot be aborted, so a sparse
 * file of a terabyte would still be read long after the deadline.
 */
const SCANNED_BYTES_MAX = 64 * 1024 * 1024;

/** The tool. `roots`: folders in addition to the workspace that it reads. */
export function createReadTool(roots: readonly string[]): Tool {
  return defineTool({
    name: 'read',
    description:
      'Read a UTF-8 text file of the workspace. A whole file may have at most 256 KiB; of a larger one (up to 64 MiB) ask for a view_range.',
    summary: 'Read file contents',
    input: z.strictObject({
      file_path: z.string().min(1).describe('Path relative to the workspace'),
      view_range: z
        .array(z.number().int().min(-1).max(1_000_000_000))
        .length(2)
        .optional()
        .describe('[start_line, end_line], 1-indexed, inclusive; an end_line of -1 reads to the end'),
    }),
    aliases: PATH_ALIASES,
    isIdempotent: true,
    isReadOnly: true,
    async run(input, call) {
      const bytes = await sizeOf(input.file_path, call.workspaceDir, roots);
      if (bytes > SCANNED_BYTES_MAX) {
        return errorOutcome(
          `read: ${input.file_path} has ${bytes} bytes, more than the ${SCANNED_BYTES_MAX} that can be read`,
        );
      }
      return runToolsetTool(
        (toolset, context) => toolset.betaReadTool({ ...context, allowedRoots: [...roots] }),
        input,
        call,
      );
    },
  });
}

/** The size of a file, or 0 when it cannot be read: then the toolset's own check words the error. */
async function sizeOf(path: string, workspaceDir: string, roots: readonly string[]): Promise<number> {
  try {
    return (await stat(await resolveInWorkspace(workspaceDir, path, roots))).size;
  } catch {
    return 0;
  }
}
