// One check of the doctor: its subject and its finding.

export interface Finding {
  status: 'ok' | 'warning' | 'error' | 'skipped';
  /** The result, as text. */
  reason: string;
  /** The next step; absent when there is none. */
  fix?: string;
}

export const ok = (reason: string): Finding => ({ status: 'ok', reason });
export const skipped = (reason: string): Finding => ({ status: 'skipped', reason });
export const warning = (reason: string, fix: string): Finding => ({ status: 'warning', reason, fix });
export const failure = (reason: string, fix: string): Finding => ({ status: 'error', reason, fix });

export interface Check {
  /** Stable: for scripts and for the documentation. */
  code: string;
  title: string;
  /** Checks, changes nothing, never throws. */
  run(): Promise<Finding>;
}

/** A check may take this long before its subject counts as not answering. */
export const CHECK_TIMEOUT_MS = 3000;

/**
 * The message of an error, or its code when it has none, as those of several failed connections do.
 */
export function explain(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return explain(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return error.message || code || error.name;
}
