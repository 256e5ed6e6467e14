// The `edit` tool: replaces one text in a file of the workspace by another, and leaves every other byte as it is. Not idempotent: what is
// put in may contain what was replaced, so a second run could edit again.
import { z } from 'zod';
import { replacePassage } from './rules/replace-passage.ts';
import { encodeTextLike } from '../core/text.ts';
import { replaceInside } from '../files/inside.ts';
import { defineTool } from './define-tool.ts';
import { readText, TextFileError, WHOLE_BYTES_MAX, type NamedFile } from './text-files.ts';
import { errorOutcome, type Tool } from './tool.ts';
import { PATH_ALIASES, runInWorkspace, useFile } from './workspace-files.ts';

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
