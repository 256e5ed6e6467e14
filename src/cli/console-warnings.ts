// Libraries warn on the console, some of them at every call. In a process whose log is lines of
// JSON each such text is one line of it.
import { format } from 'node:util';
import type { Logger } from '../logger.ts';

/** The most different texts that are logged: a text with a value in it must not fill the log. */
const TEXTS_MAX = 100;

/** Logs texts of `console.warn` from now on, each once. Returns the function that ends this. */
export function logConsoleWarnings(logger: Pick<Logger, 'warn'>): () => void {
  const { warn } = console;
  const logged = new Set<string>();
  console.warn = (...parts: unknown[]): void => {
    const warning = format(...parts);
    if (logged.has(warning) || logged.size >= TEXTS_MAX) return;
    logged.add(warning);
    logger.warn({ warning }, 'A library printed a warning');
  };
  return () => {
    console.warn = warn;
  };
}
