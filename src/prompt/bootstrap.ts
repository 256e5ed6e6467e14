// What a prompt shows of the files of the workspace, and the first run of an agent: as long as its
// workspace holds BOOTSTRAP.md, setup is pending, and a prompt says so. How much is asked for
// depends on whether the session is one in which setup can be done at all.
import { withoutBoundary, ownPart, type PromptPart } from './prompt-parts.ts';
import { cutHead, cutTail } from '../core/text.ts';
import { literal } from './untrusted-text.ts';
import type { PromptMode, FittedFile, WorkspaceFile } from './system-input.ts';
import type { SessionKind } from '../core/session-key.ts';
import type { PromptKind } from './user-prompt.ts';

// The workspace files cut to what the prompt may spend on them. The budget is spent in the order in
// which the files are configured; they are shown in an order of their own. A file over its limit
// keeps its head and its tail.

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

/**
 * The files that a session of this mode may be shown: all of them, five in delegated work, or none.
 */
export function filesForMode(files: readonly WorkspaceFile[], mode: PromptMode): readonly WorkspaceFile[] {
  if (mode === 'none') return [];
  return mode === 'minimal' ? files.filter(({ name }) => MINIMAL_FILES.has(baseNameOf(name))) : files;
}

/**
 * The texts of the files within the limits, in the order in which they are shown. Empty files are
 * left out.
 */
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

/**
 * `full`: carry setup out; `limited`: it cannot be carried out here, mention it; `none`: do not
 * mention it.
 */
export type BootstrapMode = 'full' | 'limited' | 'none';

export interface BootstrapSituation {
  /** True while BOOTSTRAP.md is there and says something. */
  isPending: boolean;
  /** The inputs that the turn answers. */
  kind: PromptKind;
  sessionKind: SessionKind;
  /** True when the agent works in its own workspace, and not in a copy that is thrown away. */
  isOwnWorkspace: boolean;
  /** True when it can read the file and change others. */
  hasFileAccess: boolean;
}

const DELEGATED: ReadonlySet<SessionKind> = new Set(['subagent', 'cron', 'heartbeat']);

/**
 * A person must be present to answer, so only messages count, and only in sessions of the agent's
 * own.
 */
export function chooseBootstrapMode(situation: BootstrapSituation): BootstrapMode {
  const { isPending, kind, sessionKind, isOwnWorkspace, hasFileAccess } = situation;
  const isInteractive = kind === 'message' || kind === 'followup';
  if (!isPending || !isInteractive || DELEGATED.has(sessionKind)) return 'none';
  return isOwnWorkspace && hasFileAccess ? 'full' : 'limited';
}

/** The text before the user prompt while setup is pending. */
export function bootstrapParts(mode: BootstrapMode): PromptPart[] {
  if (mode === 'none') return [];
  return [ownPart('bootstrap-pending', (mode === 'full' ? FULL : LIMITED).join('\n'))];
}

const FULL = [
  '[Bootstrap pending]',
  'The workspace still holds BOOTSTRAP.md: you have not been set up yet.',
  'Read BOOTSTRAP.md from the workspace and follow it now, before you answer in any other way.',
  'If you can finish all of it in this session, do. If something prevents that, do as much as you can and say what it is.',
  'Neither say nor imply that setup is finished before it is, and do not replace it with a stock greeting.',
  'When all of it is done, remove BOOTSTRAP.md as it tells you to: its presence is what makes setup pending.',
];

const LIMITED = [
  '[Bootstrap pending]',
  'The workspace still holds BOOTSTRAP.md, but setup cannot be carried out from this session.',
  'Say so briefly, answer what can be answered anyway, and do not claim that setup is finished.',
  'Name the simplest next step: a session in which you can read and change the files of your own workspace.',
];

/** From this share of a limit on, a file or all together are near it. */
const NEAR_SHARE = 0.85;
const FILES_NAMED_MAX = 3;

export interface BudgetReport {
  /** Equal for equal limits and sizes; not short. */
  signature: string;
  part: PromptPart;
}

/** The warning about the workspace's size; null when everything fits with room to spare. */
export function reportBudget(files: readonly FittedFile[], limits: FileLimits): BudgetReport | null {
  const cut = files.filter(({ cutBy }) => cutBy !== undefined);
  const near = files.filter(({ cutBy, rawChars }) => cutBy === undefined && isNear(rawChars, limits.charsPerFileMax));
  const shownChars = files.reduce((sum, { text }) => sum + text.length, 0);
  const isTotalNear = isNear(shownChars, limits.charsTotalMax);
  if (cut.length === 0 && near.length === 0 && !isTotalNear) return null;
  const lines = [
    cut.length > 0
      ? '⚠️ Bootstrap budget: some workspace files are not shown in full under Project Context.'
      : '⚠️ Bootstrap budget: the workspace files nearly reach the limits of Project Context.',
    ...cut.slice(0, FILES_NAMED_MAX).map(cutLine),
    ...(cut.length > FILES_NAMED_MAX ? [`+${cut.length - FILES_NAMED_MAX} more truncated file(s).`] : []),
    ...near.slice(0, FILES_NAMED_MAX).map((file) => nearLine(nameOf(file), file.rawChars, limits.charsPerFileMax)),
    ...(isTotalNear ? [nearLine('all files', shownChars, limits.charsTotalMax)] : []),
    'Read the file itself for the missing part. The limits are agents.defaults.bootstrapMaxChars for one file and agents.defaults.bootstrapTotalMaxChars for all.',
  ];
  return { signature: deriveSignature(files, limits), part: ownPart('bootstrap-warning', lines.join('\n')) };
}

function cutLine(file: FittedFile): string {
  const { rawChars, text, cutBy } = file;
  const removed = Math.round((1 - text.length / Math.max(rawChars, 1)) * 100);
  return `- ${nameOf(file)}: ${rawChars} raw -> ${text.length} injected (~${Math.max(removed, 0)}% removed; max/${cutBy}).`;
}

function nearLine(name: string, chars: number, charsMax: number): string {
  return `- ${name}: ${chars} of ${charsMax} characters (${Math.round((chars / Math.max(charsMax, 1)) * 100)}%).`;
}

function isNear(chars: number, charsMax: number): boolean {
  return chars > 0 && chars >= charsMax * NEAR_SHARE;
}

function nameOf({ name }: FittedFile): string {
  return literal(name);
}

function deriveSignature(files: readonly FittedFile[], { charsPerFileMax, charsTotalMax }: FileLimits): string {
  return JSON.stringify([
    charsPerFileMax,
    charsTotalMax,
    ...files.map((file) => [file.path, file.rawChars, file.text.length]),
  ]);
}
