// The tools `read`, `write` and `edit`: text files of the workspace.
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import {
  readLines,
  SCANNED_BYTES_MAX,
  TextFileError,
  WHOLE_BYTES_MAX,
  assertText,
  readText,
  type NamedFile,
} from './text-files.ts';
import { type Tool, errorOutcome } from './tool.ts';
import { PATH_ALIASES, runOnFile, runInWorkspace, useFile } from './workspace-files.ts';
import { isAbsent } from '../files/held-folder.ts';
import { replaceInside } from '../files/inside.ts';
import { replacePassage } from './rules/replace-passage.ts';
import { encodeTextLike } from '../core/text.ts';

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

// The `write` tool: creates or replaces a text file of the workspace, whole or not at all. A file
// that is not text is not replaced: the model has not seen what it would destroy.

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

// The `edit` tool: replaces one text in a file of the workspace by another, and leaves every other
// byte as it is. Not idempotent: what is put in may contain what was replaced, so a second run
// could edit again.

/** The longest text that replacing all occurrences may come to in the worst case. */
const RESULT_CHARS_MAX = 16 * 1024 * 1024;

export const editTool: Tool = defineTool({
  name: 'edit',
  description:
    'Replace old_string by new_string in a text file of the workspace (at most 256 KiB). old_string must occur exactly once unless replace_all is true. Line ends of the file are kept.',
  summary: 'Make precise edits to files',
  input: z.strictObject({
    file_path: z.string().min(1).describe('Path relative to the workspace'),
    old_string: z.string().min(1),
    new_string: z.string(),
    replace_all: z.boolean().optional(),
  }),
  aliases: PATH_ALIASES,
  isIdempotent: false,
  isReadOnly: false,
  async run(input, call) {
    const { old_string, new_string, replace_all } = input;
    if (old_string === new_string) {
      return errorOutcome(
        'edit: old_string and new_string are the same, so nothing would change; give a different new_string',
      );
    }
    if (replace_all && (WHOLE_BYTES_MAX / old_string.length) * new_string.length > RESULT_CHARS_MAX) {
      return errorOutcome(
        `edit: new_string: ${new_string.length} characters for each of an unknown number of occurrences of ${old_string.length} may exceed the size limit; use a longer old_string, or edit the places one by one`,
      );
    }
    const name = input.file_path;
    return runInWorkspace({ tool: 'edit', name, call }, async (confines) => {
      const { bytes, count } = await useFile(name, confines, (file) => edited(file, input));
      await replaceInside(name, confines, bytes);
      return `edited ${name} (${count} replacement(s))`;
    });
  },
});

interface Edit {
  old_string: string;
  new_string: string;
  replace_all?: boolean | undefined;
}

async function edited(file: NamedFile, edit: Edit): Promise<{ bytes: Uint8Array; count: number }> {
  if (file.size > WHOLE_BYTES_MAX) {
    throw new TextFileError(`${file.name} has ${file.size} bytes, more than the ${WHOLE_BYTES_MAX} that can be edited`);
  }
  const { bytes, text } = await readText(file);
  const after = replacePassage(text, { from: edit.old_string, to: edit.new_string });
  if (after.count === 0) throw new TextFileError(`old_string not found in ${file.name}`);
  if (after.count > 1 && edit.replace_all !== true) {
    throw new TextFileError(`old_string appears ${after.count} times in ${file.name} (must be unique)`);
  }
  if (after.text === text) {
    throw new TextFileError(
      `nothing would change in ${file.name}: edit keeps the line ends of the file; to change them, write the whole file`,
    );
  }
  return { bytes: encodeTextLike(bytes, after.text), count: after.count };
}
