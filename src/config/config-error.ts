// The faults of a configuration: path, value and what is allowed, with the known name that is
// nearest to a misspelt one. Values of secrets are not repeated (G31).
import { cutHead } from '../core/text.ts';

export interface ConfigIssue {
  /** Where: `agents.defaults.maxSteps`, or the name of an environment variable. */
  path: string;
  /** The value. Not for printing: it may be a secret. `message` is. */
  value: unknown;
  /** The allowed values, as text. */
  allowed: string;
  /** The whole sentence after the path. */
  message: string;
}

/** Receives a fault: its path, its value, and what is allowed. */
export type Refuse = (path: string, value: unknown, allowed: string) => void;

/** The faults that a check refuses. */
export function collectFaults(check: (refuse: Refuse) => void): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  check((path, value, allowed) => {
    issues.push({ path, value, allowed, message: `is ${describeValue(path, value)}; allowed: ${allowed}` });
  });
  return issues;
}

/** Throws `ConfigError` with every fault that a check refuses. */
export function refuseFaults(check: (refuse: Refuse) => void): void {
  const issues = collectFaults(check);
  if (issues.length > 0) throw new ConfigError(issues);
}

/**
 * The configuration cannot be used. The command line exits with 78, or 3 for commands that only
 * read it.
 */
export class ConfigError extends Error {
  readonly code = 'config_invalid';
  readonly issues: readonly ConfigIssue[];

  constructor(issues: readonly ConfigIssue[]) {
    const lines = issues.map((issue) => `  ${issue.path} ${issue.message}`);
    super(`the configuration has ${issues.length === 1 ? 'a fault' : `${issues.length} faults`}:\n${lines.join('\n')}`);
    this.name = 'ConfigError';
    this.issues = issues;
  }
}

const SECRET_PATH =
  /^mcp\.servers\.[^.]+\.env\.|secret|password|token(?!s)|api[_-]?key|\bkeys?\b|\bheaders\b|authorization/i;
const URL_PATH = /url$/i;

/**
 * The value as a message repeats it: short JSON without the password of a URL, or only its length
 * when it may be a secret (G31).
 */
export function describeValue(path: string, value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  const isText = typeof value === 'string';
  if (SECRET_PATH.test(path)) return isText ? `a text of ${value.length} characters` : typeof value;
  const plain = isText && URL_PATH.test(path) ? value.replace(/(:\/\/[^\s:/@]*:)[^\s/@]+@/, '$1[secret]@') : value;
  const shown = JSON.stringify(plain, (key, inner: unknown) => (SECRET_PATH.test(key) ? typeof inner : inner));
  return shown.length > 80 ? `${cutHead(shown, 77)}...` : shown;
}

/**
 * The candidate that is nearest to `name` by edit distance, if it is near enough to be intended;
 * otherwise undefined.
 */
export function findClosest(name: string, candidates: readonly string[]): string | undefined {
  const wanted = simplify(name);
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, simplify(candidate));
    if (best === undefined || distance < best.distance) best = { candidate, distance };
  }
  const allowance = Math.max(1, Math.floor(wanted.length * 0.4));
  return best !== undefined && best.distance <= allowance ? best.candidate : undefined;
}

/** For a name that is not known: the one that may have been meant, or all. */
export function hintFor(name: string, known: readonly string[]): string {
  const close = findClosest(name, known);
  if (close !== undefined) return `did you mean ${JSON.stringify(close)}?`;
  return known.length === 0 ? 'there is none' : `known: ${known.join(', ')}`;
}

/** Values of which one is allowed, with the one that may have been meant. */
export function describeChoices(value: unknown, choices: readonly unknown[]): string {
  const all = choices.map((choice) => JSON.stringify(choice)).join(', ');
  const texts = choices.filter((choice) => typeof choice === 'string');
  const close = typeof value === 'string' ? findClosest(value, texts) : undefined;
  return close === undefined ? all : `${all} (did you mean ${JSON.stringify(close)}?)`;
}

function simplify(name: string): string {
  return cutHead(name, 100).toLowerCase().replaceAll(/[-_]/g, '');
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
 */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
