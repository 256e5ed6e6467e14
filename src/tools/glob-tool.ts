// The `glob` tool: files of the workspace whose path matches a pattern, newest first.
//
// The walk is our own and not the toolset's, which follows a symlink that the pattern names out of the workspace (for its whole length,
// before it drops the matches), cannot be aborted, and expands a pattern as short as `{a,b}{a,b}...` (sixteen times) for 40 s on the
// event loop, so that every lease of the process would expire. Here only real directories are entered, at most WALKED_ENTRIES_MAX
// entries are read, and a pattern's cost is bounded before it is used.
import { opendir, stat } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import { faultOfGlobPattern, findLiteralPrefix } from './glob-pattern.ts';
import { errorOutcome, type Tool, textOutcome } from './tool.ts';
import { resolveInWorkspace } from './workspace-files.ts';

const WALKED_ENTRIES_MAX = 50_000;
const WALK_DEPTH_MAX = 40;
const RESULTS_MAX = 200;
/** Never entered: large, and without files of interest. */
const SKIPPED_DIRECTORIES = new Set(['.git', 'node_modules']);

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
  async run({ pattern, path }, call) {
    const fault = faultOfGlobPattern(pattern);
    if (fault !== undefined) return errorOutcome(`glob: pattern: ${fault}`);
    let root: string;
    try {
      root = await resolveInWorkspace(call.workspaceDir, path ?? '.');
      // Resolved like any other path: the part of the pattern before its first wildcard may name a symlink.
      await resolveInWorkspace(call.workspaceDir, join(root, findLiteralPrefix(pattern)));
    } catch (error) {
      return errorOutcome(`glob: ${error instanceof Error ? error.message : String(error)}`);
    }
    const found = await walk({ root, pattern, signal: call.signal });
    return textOutcome(await describeMatches(found));
  },
});

interface GlobMatches {
  paths: string[];
  /** False when the walk ended at its limit. */
  isComplete: boolean;
}

async function walk({
  root,
  pattern,
  signal,
}: {
  root: string;
  pattern: string;
  signal: AbortSignal;
}): Promise<GlobMatches> {
  const paths: string[] = [];
  const start = findLiteralPrefix(pattern);
  const waiting: { relative: string; depth: number }[] = [{ relative: start, depth: 0 }];
  let walked = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const directory = await opendir(join(root, next.relative)).catch(() => undefined);
    // Deleted meanwhile, not a directory, or not readable: it has no matches.
    if (directory === undefined) continue;
    for await (const entry of directory) {
      signal.throwIfAborted();
      if (++walked > WALKED_ENTRIES_MAX) return { paths, isComplete: false };
      const relative = join(next.relative, entry.name);
      if (entry.isDirectory() && next.depth < WALK_DEPTH_MAX && !SKIPPED_DIRECTORIES.has(entry.name)) {
        waiting.push({ relative, depth: next.depth + 1 });
      } else if (entry.isFile() && matchesGlob(relative, pattern)) {
        paths.push(join(root, relative));
      }
    }
  }
  return { paths, isComplete: true };
}

async function describeMatches({ paths, isComplete }: GlobMatches): Promise<string> {
  const dated = await Promise.all(
    paths.map(async (path) => ({ path, modifiedMs: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  // Equal times are put in the order of their names: the same files give the same answer.
  dated.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1));
  const lines = dated.slice(0, RESULTS_MAX).map(({ path }) => path);
  if (lines.length === 0) lines.push('no matches');
  if (paths.length > RESULTS_MAX) lines.push(`[${paths.length - RESULTS_MAX} older matches left out]`);
  if (!isComplete) lines.push(`[stopped after ${WALKED_ENTRIES_MAX} entries; search in a smaller path]`);
  return lines.join('\n');
}
