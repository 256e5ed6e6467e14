// The final checks of the soak, as a table for a person.

export interface Check {
  what: string;
  /** How many things were looked at. */
  count: number;
  /** The faults, one sentence each. */
  faults: string[];
}

/** This many faults of each check are shown. */
const shownMax = 5;

/** One line for each check, followed by its first faults. */
export function formatChecks(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ what }) => what.length));
  return checks.flatMap((check) => [formatCheck(check, width), ...formatFaults(check)]).join('\n');
}

function formatCheck({ what, count, faults }: Check, width: number): string {
  const verdict = faults.length === 0 ? 'ok' : `${faults.length} WRONG`;
  return `${what.padEnd(width)}  ${String(count).padStart(7)}  ${verdict}`;
}

function formatFaults({ faults }: Check): string[] {
  const more = faults.length > shownMax ? [`and ${faults.length - shownMax} more`] : [];
  return [...faults.slice(0, shownMax), ...more].map((line) => `    ${line}`);
}
