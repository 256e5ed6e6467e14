// The `glob` tool: files of the workspace whose path matches a pattern, newest first.
//
// The walk is our own and not the toolset's, which follows a symlink that the pattern names out of
// the workspace (for its whole length, before it drops the matches), cannot be aborted, and expands
// a pattern as short as `{a,b}{a,b}...` (sixteen times) for 40 s on the event loop, so that every
// lease of the process would expire.
import { lstat } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';
import { z } from 'zod';
import { withFileSlot } from '../files/file-slots.ts';
import { resolveInside } from '../files/confines.ts';
import { defineTool } from './define-tool.ts';
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
      // Resolved like any other path: the part of the pattern before its first wildcard may name a
      // symlink.
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

// The permitted cost of a glob pattern. Matching is done by backtracking on the event loop: braces
// multiply the pattern, and each `*` in a segment multiplies the work by the length of a file name
// (four of them on a name of 255 letters take a second, five a minute).

const PATTERN_CHARS_MAX = 500;
const ALTERNATIVES_MAX = 32;
const STARS_PER_SEGMENT_MAX = 3;
const RECURSIVE_SEGMENTS_MAX = 4;

/** Why a pattern is refused, in words for the model; undefined when it may be used. */
export function faultOfGlobPattern(pattern: string): string | undefined {
  if (pattern.length > PATTERN_CHARS_MAX) return `longer than ${PATTERN_CHARS_MAX} characters`;
  if (pattern.includes('\0')) return 'contains a NUL character';
  if (pattern.startsWith('/')) return 'must be relative; name the directory in path';
  if (pattern.includes('\\')) return 'must not contain a backslash';
  if (/[?*+@!]\(/.test(pattern)) return 'extended patterns such as *(a|b) are not supported; use {a,b}';
  if (/(^|[/{,])\.\.($|[/},])/.test(pattern)) return '".." is not permitted; name the directory in path';
  if (countChoices(pattern) > ALTERNATIVES_MAX) return `its braces stand for more than ${ALTERNATIVES_MAX} patterns`;
  if (pattern.split('**').length - 1 > RECURSIVE_SEGMENTS_MAX) return `more than ${RECURSIVE_SEGMENTS_MAX} times **`;
  const hasTooManyStars = splitSegments(pattern).some(
    (segment) => segment.split(/\*+/).length - 1 > STARS_PER_SEGMENT_MAX,
  );
  return hasTooManyStars ? `more than ${STARS_PER_SEGMENT_MAX} times * between two slashes` : undefined;
}

/**
 * Split at the slashes outside of braces: a slash inside of them may be one alternative among
 * others without.
 */
function splitSegments(pattern: string): string[] {
  const segments = [''];
  let depth = 0;
  for (const char of pattern) {
    if (char === '{') depth++;
    if (char === '}') depth--;
    if (char === '/' && depth <= 0) segments.push('');
    else segments[segments.length - 1] += char;
  }
  return segments;
}

/**
 * The directories before the first wildcard: `src/tools` of `src/tools/**\/*.ts`. Empty when there
 * are none.
 */
export function findLiteralPrefix(pattern: string): string {
  const segments = pattern.split('/');
  const firstWild = segments.findIndex((segment) => /[*?[\]{}!]/.test(segment));
  return segments.slice(0, firstWild === -1 ? -1 : firstWild).join('/');
}

/**
 * At least as many as the patterns that the braces expand to. A range such as `{1..9}` counts as
 * too many.
 */
function countChoices(pattern: string): number {
  let total = 1;
  const open: number[] = [];
  for (let index = 0; index < pattern.length; index++) {
    const char = pattern[index];
    if (char === '{') open.push(1);
    if (char === ',' && open.length > 0) open[open.length - 1] = (open.at(-1) ?? 1) + 1;
    // Nested groups add up rather than multiply; multiplying them overstates, which is safe.
    if (char === '}') total *= open.pop() ?? 1;
    if (char === '.' && open.length > 0 && pattern[index + 1] === '.') return Infinity;
  }
  return total;
}
