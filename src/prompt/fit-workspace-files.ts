// The workspace files cut to what the prompt may spend on them. The budget is spent in the order in which the files are
// configured; they are shown in an order of their own. A file over its limit keeps its head and its tail.
import { withoutBoundary } from './prompt-parts.ts';
import { cutHead, cutTail } from '../core/text.ts';
import { literal } from './literal.ts';
import type { PromptMode, FittedFile, WorkspaceFile } from './system-input.ts';

const HEAD_SHARE = 0.7;
const TAIL_SHARE = 0.2;
/** With less than this left, nothing more is begun. */
const REMAINING_CHARS_MIN = 64;

const DISPLAY_ORDER: ReadonlyMap<string, number> = new Map([
  ['agents.md', 10],
  ['soul.md', 20],
  ['identity.md', 30],
  ['user.md', 40],
  ['tools.md', 50],
  ['bootstrap.md', 60],
  ['memory.md', 70],
]);
const DISPLAY_LAST = 1000;

/** The files that delegated work gets. */
const MINIMAL_FILES: ReadonlySet<string> = new Set(['agents.md', 'soul.md', 'tools.md', 'identity.md', 'user.md']);

export interface FileLimits {
  charsPerFileMax: number;
  charsTotalMax: number;
}

/** The files that a session of this mode may be shown: all of them, five in delegated work, or none. */
export function filesForMode(files: readonly WorkspaceFile[], mode: PromptMode): readonly WorkspaceFile[] {
  if (mode === 'none') return [];
  return mode === 'minimal' ? files.filter(({ name }) => MINIMAL_FILES.has(baseNameOf(name))) : files;
}

/** The texts of the files within the limits, in the order in which they are shown. Empty files are left out. */
export function fitWorkspaceFiles(files: readonly WorkspaceFile[], limits: FileLimits): FittedFile[] {
  const fitted: FittedFile[] = [];
  let remaining = limits.charsTotalMax;
  for (const file of files) {
    const one = fitFile(file, limits, remaining);
    if (one === null) continue;
    remaining -= one.text.length;
    fitted.push(one);
  }
  return fitted.toSorted(byDisplayOrder);
}

function fitFile(file: WorkspaceFile, limits: FileLimits, remaining: number): FittedFile | null {
  const whole = formatContent(file);
  if (whole === '') return null;
  const rawChars = file.content === null ? 0 : whole.length;
  const shown = { name: file.name, path: literal(file.path), rawChars };
  if (remaining < REMAINING_CHARS_MIN) return { ...shown, text: '', cutBy: 'total' };
  const charsMax = Math.min(limits.charsPerFileMax, remaining);
  const text = cutTo(file.content === null ? whole : truncate(baseName(file.name), whole, charsMax), remaining);
  if (text === whole) return { ...shown, text };
  return { ...shown, text, cutBy: charsMax < limits.charsPerFileMax ? 'total' : 'file' };
}

/** The last part of a path, in lower case, which identifies a file. */
export function baseNameOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1).toLowerCase();
}

// Memory is kept only once there is something to remember; any other file is expected.
function formatContent({ name, path, content }: WorkspaceFile): string {
  if (content !== null) return withoutBoundary(content.replaceAll('\0', '')).trimEnd();
  return baseNameOf(name) === 'memory.md' ? '' : `[MISSING] Expected at: ${literal(path)}`;
}

function baseName(name: string): string {
  return literal(name.slice(name.lastIndexOf('/') + 1));
}

// The marker is not counted: it says how much is missing.
function truncate(name: string, text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const head = cutHead(text, Math.floor(charsMax * HEAD_SHARE));
  const tail = cutTail(text, Math.floor(charsMax * TAIL_SHARE));
  const marker = [
    `[...truncated, read ${name} for full content...]`,
    `…(truncated ${name}: kept ${head.length}+${tail.length} chars of ${text.length})…`,
  ].join('\n');
  return [head, marker, tail].join('\n\n');
}

function cutTo(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${cutHead(text, charsMax - 1)}…`;
}

function byDisplayOrder(a: FittedFile, b: FittedFile): number {
  const rank = rankFile(a) - rankFile(b);
  if (rank !== 0) return rank;
  return compare(baseNameOf(a.name), baseNameOf(b.name)) || compare(a.path, b.path);
}

function rankFile({ name }: FittedFile): number {
  return DISPLAY_ORDER.get(baseNameOf(name)) ?? DISPLAY_LAST;
}

// By code unit: the order must not depend on a locale.
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
