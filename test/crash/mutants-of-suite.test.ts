// Goal: the suite fails when a safeguard of batches, the provider lane, budgets or rate limits is
// missing. Method: as in mutants.test.ts, one safeguard is switched off in a copy of the checkout.
// The test that is named beside it is run there and must fail; in a copy without a change all of
// these tests pass. Runs with `HOLDFAST_CRASH_SWEEP=mutants`.
import { describe, expect, test } from 'vitest';
import { makeMutant, testParts } from './rig/mutant.ts';
import { safeguards } from './rig/suite-mutants.ts';
import { runTest } from './rig/suite-run.ts';

const isWanted = process.env['HOLDFAST_CRASH_SWEEP'] === 'mutants';

describe.runIf(isWanted)('without', () => {
  test.each(safeguards.map((safeguard) => [safeguard.name, safeguard] as const))(
    '%s, its test fails',
    async (_name, { file, find, replace, more = [], ...failing }) => {
      const mutant = makeMutant([{ file, find, replace }, ...more], testParts);
      try {
        const { status, messages } = await runTest(mutant.rootDir, { file: failing.test, title: failing.title });
        expect(status).toBe('failed');
        // A copy that cannot run fails in another way.
        expect(messages).toMatch(/^(?:AssertionError|TestTimeoutError)\b/);
      } finally {
        mutant.remove();
      }
    },
  );
});

test.runIf(isWanted)('with every safeguard, the same tests pass', async () => {
  const copy = makeMutant([], testParts);
  try {
    const named = new Map(safeguards.map(({ test: file, title }) => [`${file} ${title}`, { file, title }]));
    for (const one of named.values()) {
      const { status, messages } = await runTest(copy.rootDir, one);
      expect(status, `${one.title}: ${messages}`).toBe('passed');
    }
  } finally {
    copy.remove();
  }
});
