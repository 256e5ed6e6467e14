const CAUSES_MAX = 5;

/** The error and what caused it, outermost first: views reject with an error of their library that wraps the driver's. */
export function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < CAUSES_MAX; cause = cause.cause) causes.push(cause);
  return causes;
}
