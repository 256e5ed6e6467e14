// The `write` tool: creates or replaces a text file of the workspace, whole or not at all. A file that is not
// text is not replaced: the model has not seen what it would destroy.
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import type { Tool } from './tool.ts';
import { assertReplaceable } from './text-files.ts';
import { PATH_ALIASES, runFileTool, writeWhole } from './workspace-files.ts';

/** A path whose last part can only be a folder; resolved, it would be a file without the slash. */
const FOLDER = /(?:^|\/)\.{0,2}$/;

export const writeTool: Tool = defineTool({
  name: 'write',
  description:
    'Write a UTF-8 text file of the workspace, creating parent directories as needed and replacing what was there.',
  summary: 'Create or overwrite files',
  input: z.strictObject({
    file_path: z
      .string()
      .min(1)
      .refine((path) => !FOLDER.test(path), {
        error: ({ input }) => `${JSON.stringify(input)} names a folder; give the name of a file`,
      })
      .describe('Path relative to the workspace'),
    content: z.string(),
  }),
  aliases: PATH_ALIASES,
  // Writing the same content again leaves the same file.
  isIdempotent: true,
  isReadOnly: false,
  run: ({ file_path, content }, call) =>
    runFileTool({ tool: 'write', file: file_path, call }, async (file) => {
      await assertReplaceable(file, call.signal);
      await writeWhole(file.path, content, call);
      return `wrote ${Buffer.byteLength(content)} bytes to ${file.name}`;
    }),
});
