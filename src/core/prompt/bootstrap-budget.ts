// Warns when workspace files do not fit into a prompt, or nearly fill it: the model then knows that it sees a part, and the user
// what to shorten. The same state gives the same text, so that it can be shown once.
import { literal } from './literal.ts';
import { ownPart, type PromptPart } from './prompt-parts.ts';
import type { FileLimits } from './fit-workspace-files.ts';
import type { FittedFile } from './system-input.ts';

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
  return { signature: signatureOf(files, limits), part: ownPart('bootstrap-warning', lines.join('\n')) };
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

function signatureOf(files: readonly FittedFile[], { charsPerFileMax, charsTotalMax }: FileLimits): string {
  return JSON.stringify([
    charsPerFileMax,
    charsTotalMax,
    ...files.map((file) => [file.path, file.rawChars, file.text.length]),
  ]);
}
