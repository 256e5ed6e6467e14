// Three kinds of tests: `unit` (the pure core, no I/O), `integration` (real PostgreSQL, queues, HTTP, processes) and `crash` (real
// workers that are killed). All run with `npm test`; crash tests in a short form.
import { defineConfig } from 'vitest/config';

// Tests with real processes have time limits, and the machines of CI are shared: what fails there twice is red.
const retry = process.env['CI'] === undefined ? 0 : 1;

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
          retry,
          testTimeout: 20_000,
          hookTimeout: 60_000,
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'crash',
          include: ['test/crash/**/*.test.ts'],
          globalSetup: ['test/servers/global-setup.ts'],
          retry,
          testTimeout: 600_000,
          hookTimeout: 120_000,
          // They mostly wait for leases to run out.
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
