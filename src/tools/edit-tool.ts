// The `edit` tool: replaces one text in a file of the workspace by another. Not idempotent: what is put in may contain what was
// looked for, so a second run could edit again.
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import { errorOutcome, type Tool } from './tool.ts';
import { PATH_ALIASES, runWritingTool } from './workspace-files.ts';

/** The toolset edits files up to this size. */
const FILE_CHARS_MAX = 256 * 1024;
/** The longest text that replacing all occurrences may come to in the worst case. */
const RESULT_CHARS_MAX = 16 * 1024 * 1024;

export const editTool: Tool = defineTool({
  name: 'edit',
  description:
    'Replace old_string by new_string in a text file of the workspace (at most 256 KiB). old_string must occur exactly once unless replace_all is true.',
  summary: 'Make precise edits to files',
  input: z.strictObject({
    file_path: z.string().min(1).describe('Path relative to the workspace'),
    old_string: z.string().min(1),
    new_string: z.string(),
    replace_all: z.boolean().optional(),
  }),
  aliases: PATH_ALIASES,
  isIdempotent: false,
  async run(input, call) {
    const { old_string, new_string, replace_all } = input;
    if (old_string === new_string) {
      return errorOutcome(
        'edit: old_string and new_string are the same, so nothing would change; give a different new_string',
      );
    }
    if (replace_all && (FILE_CHARS_MAX / old_string.length) * new_string.length > RESULT_CHARS_MAX) {
      return errorOutcome(
        `edit: new_string: ${new_string.length} characters for each of an unknown number of occurrences of ${old_string.length} may exceed the size limit; use a longer old_string, or edit the places one by one`,
      );
    }
    return runWritingTool((toolset, context) => toolset.betaEditTool(context), input, call);
  },
});
