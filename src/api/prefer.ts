// The `Prefer` header (RFC 7240), of which `wait` is understood: how many seconds the client is willing to wait for an end.

const WAIT = /^wait\s*=\s*"?(\d{1,6})"?$/i;

/** The seconds of `wait`, at most `secondsMax`; 0 when the header requests no wait or is invalid, as the RFC requires. */
export function waitSecondsOf(prefer: string | string[] | undefined, secondsMax: number): number {
  if (prefer === undefined) return 0;
  const preferences = (Array.isArray(prefer) ? prefer.join(',') : prefer).split(',');
  for (const preference of preferences) {
    const seconds = WAIT.exec(preference.split(';')[0]?.trim() ?? '')?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds), secondsMax);
  }
  return 0;
}
