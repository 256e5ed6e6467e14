// The question before a command changes many things, or removes any.
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { CliError, EXIT } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

/** The options of a command that changes many things. */
export interface CarefulOptions {
  dryRun?: boolean;
  yes?: boolean;
  reason?: string;
}

/** Adds them. */
export function careful(command: Command): Command {
  return command
    .option('--dry-run', 'only count the matching objects')
    .option('--yes', 'do not ask for confirmation')
    .option('--reason <text>', 'the reason, stored in the audit log');
}

/** Asks at a terminal. Throws `CliError` elsewhere, where --yes has to say it. */
export async function isSure(
  question: string,
  terminal: Terminal,
  fix = 'pass --yes to confirm, or --dry-run to count only',
): Promise<boolean> {
  if (!isAsked(terminal)) {
    throw new CliError({
      code: 'not_confirmed',
      exitCode: EXIT.usage,
      message: question,
      fix,
    });
  }
  return ask(question);
}

/** Asks at a terminal only: for commands that name what they change, which scripts call without --yes. */
export async function isSureAtTerminal(
  question: string,
  { yes }: CarefulOptions,
  terminal: Terminal,
): Promise<boolean> {
  return yes === true || !isAsked(terminal) || ask(question);
}

function isAsked(terminal: Terminal): boolean {
  return terminal.isTty && process.stdin.isTTY;
}

async function ask(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await prompt.question(`${question} [y/N] `)).trim());
  } finally {
    prompt.close();
  }
}
