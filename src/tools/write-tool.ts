// The `write` tool: creates or replaces a text file of the workspace, whole or not at all. A file that is not
// text is not replaced: the model has not seen what it would destroy.
import { z } from 'zod';
import { isAbsent } from '../files/held-folder.ts';
import { replaceInside } from '../files/inside.ts';
import { defineTool } from './define-tool.ts';
import type { Tool } from './tool.ts';
import { assertText } from './text-files.ts';
import { PATH_ALIASES, runInWorkspace, useFile } from './workspace-files.ts';

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
  run: ({ file_path: name, content }, call) =>
    runInWorkspace({ tool: 'write', name, call }, async (confines) => {
      await useFile(name, confines, (file) => assertText(file, call.signal)).catch((error: unknown) => {
        if (!isAbsent(error)) throw error;
      });
      await replaceInside(name, confines, content);
      return `wrote ${Buffer.byteLength(content)} bytes to ${name}`;
    }),
});
