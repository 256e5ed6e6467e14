// A row of the table of commands: how a command is called, and the data that it must print in each
// situation.
import { expect } from 'vitest';
import type { Names, Scene } from './scene.ts';

export interface CommandRow {
  /**
   * The command with its arguments. A name in braces is one of `Scene.names`, or one that `make`
   * returns.
   */
  line: string;
  /** Makes the objects that a run changes. Absent: the command only reads. */
  make?: (scene: Scene) => Promise<Names>;
  /** What a person reads, in a pipe and at a terminal. */
  shows: readonly (string | RegExp)[];
  /** On stderr in a pipe: a hint that a script does not read. */
  notes?: readonly (string | RegExp)[];
  /**
   * What `--json` prints: the document has these fields, and each list has these items. For
   * `isLines` it is a list, of which each is in some line.
   */
  json: unknown;
  /** `--json` prints lines of JSON instead of one document. */
  isLines?: boolean;
  /** Absent: 0. */
  exitCode?: number;
  /** Moves the cursor of a terminal: it draws progress, or reads lines. */
  isDrawing?: boolean;
  /** Acts while the command runs. Absent: its stdin is empty. */
  during?: (run: RunningCommand, names: Names, scene: Scene) => Promise<void>;
  /** Why it is not tried without a service and with a wrong key. */
  needsNoService?: string;
  /** Part of `npm test`; the others are part of the long form. */
  isCommon?: boolean;
}

export interface RunningCommand {
  /** Stdout and stderr so far. */
  output: () => string;
  /** Resolves when the output matches; rejects when the command ends without it. */
  until: (pattern: RegExp) => Promise<void>;
  /** What a person types, or a script writes; the end of stdin after the last text. */
  type: (text: string) => void;
  end: () => void;
  /** Ctrl-C. */
  interrupt: () => void;
}

/** A text with its names replaced. Throws for a name that nothing has made. */
export function fill(text: string, names: Names): string {
  return text.replaceAll(/\{([a-z]\w*)\}/gi, (_, name: string) => {
    const value = names[name];
    if (value === undefined) throw new Error(`${text}: there is no ${name}`);
    return value;
  });
}

/** The arguments of a row. */
export function argsOf({ line }: CommandRow, names: Names): string[] {
  return line.split(' ').map((word) => fill(word, names));
}

/** A matcher for a pattern of plain data: objects may have more fields, lists more items. */
export function matcherOf(pattern: unknown, names: Names): unknown {
  if (typeof pattern === 'string') return fill(pattern, names);
  if (pattern instanceof RegExp) return textMatcher(pattern, names);
  if (Array.isArray(pattern)) return expect.arrayContaining(pattern.map((item) => matcherOf(item, names)));
  if (pattern === null || typeof pattern !== 'object') return pattern;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(pattern).map(([name, value]) => [name, matcherOf(value, names)])),
  );
}

/** A matcher for a text that contains another one, or matches a pattern. */
export function textMatcher(part: string | RegExp, names: Names): unknown {
  if (typeof part === 'string') return expect.stringContaining(fill(part, names));
  return expect.stringMatching(new RegExp(fill(part.source, names), part.flags));
}
