// How much of a test that has many cases is run. `npm test` runs the short form, `npm run test:full` and CI the long one. A case that is
// missing from the short form is part of the long form.

/** True for the long form: `HOLDFAST_TESTS=long`, or the exhaustive sweeps of `HOLDFAST_CRASH_SWEEP=full`. */
export function isLongForm(): boolean {
  const form = process.env['HOLDFAST_TESTS'] ?? 'short';
  if (form !== 'short' && form !== 'long') throw new Error(`HOLDFAST_TESTS is "${form}"; allowed: short, long`);
  return form === 'long' || process.env['HOLDFAST_CRASH_SWEEP'] === 'full';
}
