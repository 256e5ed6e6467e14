// The first run of an agent: as long as its workspace holds BOOTSTRAP.md, setup is pending, and a prompt says so. How much is asked
// for depends on whether the session is one in which setup can be done at all.
import type { SessionKind } from '../core/session-key.ts';
import { ownPart, type PromptPart } from './prompt-parts.ts';
import type { PromptKind } from './user-prompt.ts';
import { literal } from './literal.ts';
import type { FileLimits } from './fit-workspace-files.ts';
import type { FittedFile } from './system-input.ts';

/** `full`: carry setup out; `limited`: it cannot be carried out here, mention it; `none`: do not mention it. */
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

/** A person must be present to answer, so only messages count, and only in sessions of the agent's own. */
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
