// What commands are called with: the options that all of them take, and how option texts become values.
import { InvalidArgumentError, type Command } from 'commander';
import type { ExitCode } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

/** Options that every command takes, before or after its name. */
export interface GlobalFlags {
  json?: boolean;
  color: boolean;
  url?: string;
  apiKey?: string;
}

/** Runs a command with its terminal; its answer is the exit code of the process. */
export type RunCommand = (
  command: Command,
  run: (terminal: Terminal, flags: GlobalFlags) => Promise<ExitCode>,
) => Promise<void>;

/** What every list takes. */
export interface PageOptions {
  limit: number;
  cursor?: string;
}

export interface TurnListOptions extends PageOptions {
  session?: string;
  status?: string;
  kind?: string;
  lane?: string;
  since?: string;
  tag?: string;
}

/** Parses a whole number of an option. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,10}$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** Parses an amount of money of an option. */
export function dollars(text: string): number {
  const value = Number(text);
  if (!/^\d+(?:\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be an amount in dollars, such as 2.50.');
  return value;
}

/** Reads a part of a whole, from 0 to 1. */
export function rate(text: string): number {
  const value = Number(text);
  if (!/^[01](\.\d{1,6})?$/.test(text) || value > 1) throw new InvalidArgumentError('It must be a number from 0 to 1.');
  return value;
}

/** A tag as `key=value`. */
const TAG = /^([^:=]+)=(.*)$/s;
const TAG_HELP = 'It must be a key without a colon, an equals sign and a value, such as customer=42.';

/** The option of what gets tags: it may be repeated. */
export function tagged(command: Command): Command {
  return command.option(
    '--tag <key=value>',
    'a tag by which its turns are found again; may be repeated',
    (text, before: Record<string, string> | undefined) => {
      const [, key, value] = TAG.exec(text) ?? [];
      if (key === undefined || value === undefined) throw new InvalidArgumentError(TAG_HELP);
      if (before !== undefined && Object.hasOwn(before, key))
        throw new InvalidArgumentError(`The tag ${key} has a value already; pass each key once.`);
      return { ...before, [key]: value };
    },
  );
}

/** The option of a list that shows only what has a tag; its value is as the API takes it. */
export function filteredByTag(command: Command): Command {
  return command.option('--tag <key=value>', 'only with this tag', (text) => {
    if (!TAG.test(text)) throw new InvalidArgumentError(TAG_HELP);
    return text.replace('=', ':');
  });
}

const PAGE_ITEMS = 50;
const PAGE_ITEMS_MAX = 1000;

/** The options of a list. */
export function paged(command: Command): Command {
  return command
    .option('--limit <count>', 'the size of the page', wholeNumber(1, PAGE_ITEMS_MAX), PAGE_ITEMS)
    .option('--cursor <cursor>', 'continue after the page that printed this cursor');
}
