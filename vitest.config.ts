// Three kinds of tests: `unit` (the pure core, no I/O), `integration` (real PostgreSQL, queues, HTTP, processes) and `crash` (real
// workers that are killed). All run with `npm test`; crash tests in a short form.
import { defineConfig } from 'vitest/config';

// No test is tried again: one that passes at the second try is broken, or shows a fault of the product. Time limits are there to end a
// test that hangs; they are far above what a busy machine needs, and no test measures anything by them.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/core/**/*.test.ts', 'test/*.test.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/*/**/*.test.ts'],
          exclude: ['test/core/**', 'test/crash/**'],
          globalSetup: ['test/servers/global-setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 120_000 } },
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'crash',
          include: ['test/crash/**/*.test.ts'],
          globalSetup: ['test/servers/global-setup.ts'],
          testTimeout: 1_800_000,
          hookTimeout: 600_000,
          // They mostly wait for leases to run out.
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
