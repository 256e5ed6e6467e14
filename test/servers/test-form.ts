// How much of a test that has many cases is run. `npm test` runs the short form, CI the long one, and `npm run test:full` the full one. A case that
// is missing from a form is part of the next.

/** True for the long form and for the full one: `HOLDFAST_TESTS=long` or `full`, or the exhaustive sweeps of `HOLDFAST_CRASH_SWEEP=full`. */
export function isLongForm(): boolean {
  return formOfTests() !== 'short' || process.env['HOLDFAST_CRASH_SWEEP'] === 'full';
}

/** True when every figure has the size that its promise states, however long it takes: `HOLDFAST_TESTS=full`. */
export function isFullForm(): boolean {
  return formOfTests() === 'full';
}

function formOfTests(): string {
  const form = process.env['HOLDFAST_TESTS'] ?? 'short';
  if (!['short', 'long', 'full'].includes(form)) {
    throw new Error(`HOLDFAST_TESTS is "${form}"; allowed: short, long, full`);
  }
  return form;
}
