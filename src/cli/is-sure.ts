// The question before a command changes many things, or removes any.
import { createInterface } from 'node:readline/promises';
import { CliError, EXIT } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

/** Asks at a terminal. Throws `CliError` elsewhere, where --yes has to say it. */
export async function isSure(question: string, terminal: Terminal): Promise<boolean> {
  if (!terminal.isTty || !process.stdin.isTTY) {
    throw new CliError({
      code: 'not_confirmed',
      exitCode: EXIT.usage,
      message: question,
      fix: 'pass --yes to do it without a question, or --dry-run to count only',
    });
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await prompt.question(`${question} [y/N] `)).trim());
  } finally {
    prompt.close();
  }
}
