// The `glob` tool: files of the workspace whose path matches a pattern, newest first.
//
// The walk is our own and not the toolset's, which follows a symlink that the pattern names out of the workspace (for its whole length,
// before it drops the matches), cannot be aborted, and expands a pattern as short as `{a,b}{a,b}...` (sixteen times) for 40 s on the
// event loop, so that every lease of the process would expire.
import { lstat } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';
import { z } from 'zod';
import { withFileSlot } from '../files/file-slots.ts';
import { resolveInside } from '../files/confines.ts';
import { defineTool } from './define-tool.ts';
import { faultOfGlobPattern, findLiteralPrefix } from './glob-pattern.ts';
import { errorOutcome, type Tool } from './tool.ts';
import { orUnreadable, walkFiles, WALKED_ENTRIES_MAX } from './walk-files.ts';
import { runInWorkspace } from './workspace-files.ts';

const RESULTS_MAX = 200;

export const globTool: Tool = defineTool({
  name: 'glob',
  description:
    'Find files whose path matches a glob pattern such as **/*.{ts,tsx}. Answers with paths, newest first, at most 200. Skips .git and node_modules and follows no symlinks.',
  summary: 'Find files by glob pattern',
  input: z.strictObject({
    pattern: z.string().min(1).describe('Relative to path; * ? ** [abc] {a,b}'),
    path: z.string().min(1).optional().describe('Directory to search in, relative to the workspace; default all of it'),
  }),
  isIdempotent: true,
  isReadOnly: true,
  async run({ pattern, path = '.' }, call) {
    const fault = faultOfGlobPattern(pattern);
    if (fault !== undefined) return errorOutcome(`glob: pattern: ${fault}`);
    return runInWorkspace({ tool: 'glob', call, name: path }, async (confines) => {
      const { path: root } = await resolveInside(path, confines);
      const start = findLiteralPrefix(pattern);
      // Resolved like any other path: the part of the pattern before its first wildcard may name a symlink.
      await resolveInside(join(root, start), confines);
      const found: Match[] = [];
      const isComplete = await walkFiles({ root, start, signal: call.signal }, async ({ folder, entry, relative }) => {
        if (!matchesGlob(relative, pattern)) return true;
        const facts = await withFileSlot(join(root, relative), () => lstat(folder.at(entry))).catch(orUnreadable);
        found.push({ path: join(root, relative), modifiedMs: facts?.mtimeMs ?? 0 });
        return true;
      });
      return describeMatches(found, isComplete);
    });
  },
});

interface Match {
  path: string;
  modifiedMs: number;
}

function describeMatches(found: Match[], isComplete: boolean): string {
  // Equal times are put in the order of their names: the same files give the same answer.
  found.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1));
  const lines = found.slice(0, RESULTS_MAX).map(({ path }) => path);
  if (lines.length === 0) lines.push('no matches');
  if (found.length > RESULTS_MAX) lines.push(`[${found.length - RESULTS_MAX} older matches left out]`);
  if (!isComplete) lines.push(`[stopped after ${WALKED_ENTRIES_MAX} entries; search in a smaller path]`);
  return lines.join('\n');
}
