// The question before a command changes many things, or removes any.
import { createInterface } from 'node:readline/promises';
import { CliError, EXIT, type ExitCode } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

/** Asks at a terminal. Throws `CliError` elsewhere, where --yes has to say it. */
export async function isSure(
  question: string,
  terminal: Terminal,
  fix = 'pass --yes to confirm, or --dry-run to count only',
): Promise<boolean> {
  if (!isAsked(terminal)) throw new CliError({ code: 'not_confirmed', exitCode: EXIT.usage, message: question, fix });
  return ask(question);
}

interface Plan {
  total: number;
  /** What the command does to how many things. */
  text: string;
  /** What the question has in addition. */
  of?: string;
  /** It is done without a question. */
  isSmall?: boolean;
}

/**
 * For a command that changes many things: prints its plan with `--dry-run`, and asks at a terminal
 * only, because scripts call it without --yes. Null: it may begin; otherwise it ends with this exit
 * code.
 */
export async function endOfPlan(
  { dryRun, yes }: { dryRun: boolean | undefined; yes: boolean | undefined },
  terminal: Terminal,
  plan: () => Promise<Plan>,
): Promise<ExitCode | null> {
  if (dryRun !== true && (yes === true || !isAsked(terminal))) return null;
  const { total, text, of = '', isSmall } = await plan();
  if (dryRun !== true) return isSmall || (await ask(`${text}${of}?`)) ? null : EXIT.interrupted;
  if (terminal.isJson) terminal.json({ dryRun: true, total });
  else terminal.print(`${text}; nothing was done`);
  return EXIT.ok;
}

/** True where a person can answer. */
export function isAsked(terminal: Terminal): boolean {
  return terminal.isTty && process.stdin.isTTY;
}

export async function ask(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await prompt.question(`${question} [y/N] `)).trim());
  } finally {
    prompt.close();
  }
}
