// The `memory_get` tool: lines of MEMORY.md or of a file in memory/, and of nothing else (G30).
import { z } from 'zod';
import { cutHead } from '../../core/text.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { MEMORY_PATH, readMemoryFile } from './memory-files.ts';
import { notText } from '../../tools/text-files.ts';
import { errorOutcome, type Tool, textOutcome } from '../../tools/tool.ts';

const LINES_DEFAULT = 200;
const LINES_MAX = 2000;
const CHARS_MAX = 50_000;

export const memoryGetTool: Tool = defineTool({
  name: 'memory_get',
  description: `Read lines of MEMORY.md or of a file memory/<name>.md, ${LINES_DEFAULT} by default. Use the paths and line numbers that memory_search returns.`,
  summary: 'Read lines of a memory file',
  input: z.strictObject({
    path: z
      .string()
      .max(300)
      .overwrite((path) => path.replace(/^\.\//, ''))
      .refine((path) => MEMORY_PATH.test(path), {
        error: ({ input }) =>
          `${JSON.stringify(input)} is not a memory file; allowed: "MEMORY.md" or "memory/<name>.md"`,
      })
      .describe('MEMORY.md or memory/<name>.md'),
    from: z.int().min(1).optional().describe('First line, beginning with 1'),
    lines: z.int().min(1).max(LINES_MAX).optional().describe('How many lines'),
  }),
  isIdempotent: true,
  isReadOnly: true,
  async run({ path, from = 1, lines = LINES_DEFAULT }, call) {
    const file = await readMemoryFile(call.workspaceDir, path);
    if (file === null) return errorOutcome(`memory_get: path: the file ${path} does not exist in the workspace`);
    if (!file.isText) return errorOutcome(`memory_get: path: ${notText(path, 'read').message}`);
    const all = file.content.replace(/\r?\n$/, '').split('\n');
    if (from > all.length)
      return errorOutcome(`memory_get: from: ${path} has ${all.length} lines, and ${from} is after its end`);
    const shown = fitting(all.slice(from - 1, from - 1 + lines));
    const last = from - 1 + shown.lines.length;
    const total = file.isCut ? `more than ${all.length}` : `${all.length}`;
    const rest = last < all.length ? `; continue with from: ${last + 1}` : '';
    const cut = shown.isCut ? ' The last of them is cut.' : '';
    return textOutcome(`[${path}, lines ${from}-${last} of ${total}${rest}.${cut}]\n${shown.lines.join('\n')}`);
  },
});

/** The lines that fit into a result; a first line that does not is cut. */
function fitting(lines: readonly string[]): { lines: string[]; isCut: boolean } {
  const kept: string[] = [];
  let chars = 0;
  for (const line of lines) {
    chars += line.length + 1;
    if (chars > CHARS_MAX && kept.length > 0) break;
    kept.push(cutHead(line, CHARS_MAX));
    if (chars > CHARS_MAX) return { lines: kept, isCut: true };
  }
  return { lines: kept, isCut: false };
}
