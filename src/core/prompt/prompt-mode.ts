// How much of the system prompt a session gets.
import type { SessionKind } from '../session-key.ts';

/** `full`: all sections; `minimal`: what delegated work needs; `none`: the identity line alone. */
export type PromptMode = 'full' | 'minimal' | 'none';

export const EVERY_MODE: readonly PromptMode[] = ['full', 'minimal', 'none'];
export const FULL_AND_MINIMAL: readonly PromptMode[] = ['full', 'minimal'];
export const FULL_ONLY: readonly PromptMode[] = ['full'];

/** The mode of a session: subagents and cron sessions never get more than `minimal`, all others what is configured. */
export function promptModeOf(kind: SessionKind, configured: PromptMode): PromptMode {
  const isDelegated = kind === 'subagent' || kind === 'cron';
  return isDelegated && configured === 'full' ? 'minimal' : configured;
}
