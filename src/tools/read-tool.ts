// The `read` tool: a text file of the workspace, or some of its lines.
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import { readLines, SCANNED_BYTES_MAX, TextFileError, WHOLE_BYTES_MAX } from './text-files.ts';
import type { Tool } from './tool.ts';
import { PATH_ALIASES, runOnFile } from './workspace-files.ts';

/** The tool. `roots`: folders in addition to the workspace that it reads. */
export function createReadTool(roots: readonly string[]): Tool {
  return defineTool({
    name: 'read',
    description:
      'Read a text file of the workspace, in UTF-8 or in UTF-16 with a byte order mark. A whole file may have at most 256 KiB; of a larger one (up to 64 MiB) ask for a view_range.',
    summary: 'Read file contents',
    input: z.strictObject({
      file_path: z.string().min(1).describe('Path relative to the workspace'),
      view_range: z
        .array(z.number().int().min(-1).max(1_000_000_000))
        .length(2)
        .refine(([start = 0, end = 0]) => start >= 1 && (end === -1 || end >= start), {
          error: 'must be [start_line, end_line], with a start_line from 1 on, and an end_line from there on or -1',
        })
        .optional()
        .describe('[start_line, end_line], 1-indexed, inclusive; an end_line of -1 reads to the end'),
    }),
    aliases: PATH_ALIASES,
    isIdempotent: true,
    isReadOnly: true,
    async run({ file_path, view_range: range }, call) {
      return runOnFile({ tool: 'read', name: file_path, call, roots }, async (file) => {
        const { name, size } = file;
        if (range === undefined && size > WHOLE_BYTES_MAX && size <= SCANNED_BYTES_MAX) {
          throw new TextFileError(
            `${name} has ${size} bytes, more than the ${WHOLE_BYTES_MAX} that can be read at once; ask for a view_range, for example [1, 500]`,
          );
        }
        const [first = 1, end = -1] = range ?? [];
        return await readLines(file, { first, last: end > 0 ? end : Infinity, signal: call.signal });
      });
    },
  });
}
