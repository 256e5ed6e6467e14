// All faults of a configuration: path, value and what is allowed. Values of secrets are not repeated (G31).
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

/** The configuration cannot be used. The command line exits with 78, or 3 for commands that only read it. */
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

/** The value as a message repeats it: short JSON without the password of a URL, or only its length when it may be a secret (G31). */
export function describeValue(path: string, value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  const isText = typeof value === 'string';
  if (SECRET_PATH.test(path)) return isText ? `a text of ${value.length} characters` : typeof value;
  const plain = isText && URL_PATH.test(path) ? value.replace(/(:\/\/[^\s:/@]*:)[^\s/@]+@/, '$1[secret]@') : value;
  const shown = JSON.stringify(plain, (key, inner: unknown) => (SECRET_PATH.test(key) ? typeof inner : inner));
  return shown.length > 80 ? `${cutHead(shown, 77)}...` : shown;
}
