// Four kinds of tests: `unit` (the pure core, no I/O), `integration` (real PostgreSQL, queues, HTTP, processes), `browser` (the dashboard in
// Chromium) and `crash` (real workers that are killed). `npm test` runs all of them in a short form, CI then the rest of a long one, `npm run
// test:full` a full one (test/servers/test-form.ts).
//
// No test is tried again: one that passes at the second try is broken, or shows a fault of the product. Time limits end a test that
// hangs; they are far above what a busy machine needs, and no test measures anything by them.
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig } from 'vitest/config';
import { dependsOnForm, isLongForm, isRestOfLongForm } from './test/servers/test-form.ts';

// The client and the references are those of these sources.
execFileSync(process.execPath, ['scripts/generate.ts'], { cwd: import.meta.dirname });

/** One after the other: each change between projects waits for the files that still run. */
const projectsInOrder = ['crash', 'browser', 'integration', 'unit'];

/**
 * Files of a project that take long begin first, by what they take in the long form, so that none of them runs alone at the end. Each is the
 * beginning of a path; the first that fits decides.
 */
const beginFirst = [
  'test/linear-patterns',
  'test/crash/scheduled-sweep',
  'test/batches/batch-costs',
  'test/crash/family-sweep',
  'test/crash/accept-sweep',
  'test/crash/turn-sweep',
  'test/cli/demo',
  'test/browser/accessibility',
  'test/browser/outage',
  'test/browser/walk',
  'test/crash/',
  'test/turn/interleaving/',
  'test/turn/rate-limits',
  'test/turn/hostile-provider',
  'test/workers/provider-lane',
  'test/service/',
  'test/cli/',
  'test/embedded-postgres/',
  'test/workers/queue/',
  'test/batches/',
  'test/tools/',
  'test/requests/',
];

/**
 * Files that only the long form has, which CI runs. The short form keeps almost everything that runs in one process. Of the suites that start
 * processes or a browser it keeps the ones that a change breaks first: a turn and a POST under crashes, a wiped queue, every kind of input,
 * tools, stops, deliveries, the common commands, and the dashboard's sign-in, main screens and live updates.
 */
const onlyInLongForm = [
  'test/api/erasure.test.ts',
  'test/api/other-providers.test.ts',
  'test/api/retention-and-erasure.test.ts',
  'test/batches/auto-batches.test.ts',
  'test/batches/batch-costs.test.ts',
  'test/batches/commands.test.ts',
  'test/batches/lane-budgets.test.ts',
  'test/batches/provider-batches.test.ts',
  'test/browser/approvals.test.ts',
  'test/browser/batches.test.ts',
  'test/browser/canvas.test.ts',
  'test/browser/channels.test.ts',
  'test/browser/charts.test.ts',
  'test/browser/columns.test.ts',
  'test/browser/compare.test.ts',
  'test/browser/costs.test.ts',
  'test/browser/crons.test.ts',
  'test/browser/deliveries.test.ts',
  'test/browser/drill.test.ts',
  'test/browser/edges.test.ts',
  'test/browser/environment.test.ts',
  'test/browser/events.test.ts',
  'test/browser/family.test.ts',
  'test/browser/filters.test.ts',
  'test/browser/history.test.ts',
  'test/browser/hostile.test.ts',
  'test/browser/keys.test.ts',
  'test/browser/long-parts.test.ts',
  'test/browser/many-events.test.ts',
  'test/browser/mcp.test.ts',
  'test/browser/outage.test.ts',
  'test/browser/setup.test.ts',
  'test/browser/palette.test.ts',
  'test/browser/reading.test.ts',
  'test/browser/sessions.test.ts',
  'test/browser/settings.test.ts',
  'test/browser/timeline.test.ts',
  'test/browser/transcript.test.ts',
  'test/browser/walk.test.ts',
  'test/browser/weight.test.ts',
  'test/browser/words.test.ts',
  'test/channels/sending-sweep.test.ts',
  'test/cli/backup.test.ts',
  'test/cli/bulk.test.ts',
  'test/cli/chat.test.ts',
  'test/cli/command-user.test.ts',
  'test/cli/costs.test.ts',
  'test/cli/demo.test.ts',
  'test/cli/every-command/refusals.test.ts',
  'test/cli/keys.test.ts',
  'test/cli/messages-and-turns.test.ts',
  'test/cli/newcomer.test.ts',
  'test/cli/pauses.test.ts',
  'test/cli/readme-examples.test.ts',
  'test/cli/relaunch.test.ts',
  'test/cli/restore-fails.test.ts',
  'test/cli/spawn.test.ts',
  'test/cli/wrong-databases.test.ts',
  'test/client/package.test.ts',
  'test/crash/channel-in.test.ts',
  'test/crash/channel-out.test.ts',
  'test/crash/chat-sweep.test.ts',
  'test/crash/compaction-sweep.test.ts',
  'test/crash/family-sweep.test.ts',
  'test/crash/keyed-sweep.test.ts',
  'test/crash/mcp-calls-sweep.test.ts',
  'test/crash/mcp-sweep.test.ts',
  'test/crash/mcp-task.test.ts',
  'test/crash/media-sweep.test.ts',
  'test/crash/paused-worker.test.ts',
  'test/crash/postgres-kill.test.ts',
  'test/crash/retention-and-erasure.test.ts',
  'test/crash/scheduled-sweep.test.ts',
  'test/embedded-postgres/start-embedded-postgres.test.ts',
  'test/model/conformance.test.ts',
  'test/mcp-server/conformance.test.ts',
  'test/mcp/browser.test.ts',
  'test/mcp/client-conformance.test.ts',
  'test/mcp/mcp-sweep.test.ts',
  'test/mcp/mcp-login.test.ts',
  'test/mcp/mcp-sandbox.test.ts',
  'test/mcp/mcp-tasks.test.ts',
  'test/mcp/mcp-tools.test.ts',
  'test/openai/files.test.ts',
  'test/openai/streams.test.ts',
  'test/requests/named-tools.test.ts',
  'test/service/deadlines.test.ts',
  'test/service/earlier-layouts.test.ts',
  'test/service/event-stream.test.ts',
  'test/service/fairness.test.ts',
  'test/service/large-messages.test.ts',
  'test/service/lost-connections.test.ts',
  'test/service/mcp.test.ts',
  'test/service/no-channel.test.ts',
  'test/service/model-outage.test.ts',
  'test/service/obedient-model.test.ts',
  'test/service/open-budgets.test.ts',
  'test/service/operators-drill.test.ts',
  'test/service/parked-turns.test.ts',
  'test/service/pauses.test.ts',
  'test/service/postgres-faults.test.ts',
  'test/service/queue-away.test.ts',
  'test/service/reconciler.test.ts',
  'test/service/rolling-restart.test.ts',
  'test/service/secrets.test.ts',
  'test/service/subagents.test.ts',
  'test/service/two-apis.test.ts',
  'test/service/upgrade.test.ts',
  'test/store/cheap-statistics.test.ts',
  'test/store/list-plans.test.ts',
  'test/telemetry/traces.test.ts',
  'test/tools/sandbox-canaries.test.ts',
  'test/turn/changing-models.test.ts',
  'test/turn/keys-of-many.test.ts',
  'test/turn/rate-limits.test.ts',
  'test/workers/provider-lane-crashes.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = beginFirst.findIndex((beginning) => moduleId.includes(`/${beginning}`));
      return found === -1 ? beginFirst.length : found;
    };
    const placeOf = ({ project }: TestSpecification): number => projectsInOrder.indexOf(project.name);
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b) || rank(a) - rank(b));
  }
}

const globalSetup = ['test/servers/global-setup.ts'];
/** Two for two cores, and two because every other test waits for a lease, a process or a server. */
const maxWorkers = 4;
const exclude = isRestOfLongForm() ? filesOfShortForm() : isLongForm() ? [] : onlyInLongForm;

/** The files that run the same tests in the short form as in the long one. */
function filesOfShortForm(): string[] {
  return globSync('test/**/*.test.ts').filter((path) => !onlyInLongForm.includes(path) && !dependsOnForm(path));
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/core/**/*.test.ts', 'test/coalesce/**/*.test.ts', 'test/*.test.ts'],
          exclude,
          // Pure functions: files share loaded modules, and nothing else.
          isolate: false,
          testTimeout: 300_000,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'integration',
          isolate: false,
          include: ['test/*/**/*.test.ts'],
          exclude: ['test/core/**', 'test/coalesce/**', 'test/crash/**', 'test/browser/**', ...exclude],
          globalSetup,
          testTimeout: 600_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 120_000 } },
          maxWorkers,
        },
      },
      {
        test: {
          name: 'browser',
          isolate: false,
          include: ['test/browser/**/*.test.ts'],
          exclude,
          globalSetup: [...globalSetup, 'test/browser/build-dashboard.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 120_000 } },
          maxWorkers,
        },
      },
      {
        test: {
          name: 'crash',
          include: ['test/crash/**/*.test.ts'],
          exclude,
          globalSetup,
          // The exhaustive form strikes hundreds of points in one test.
          testTimeout: 3_600_000,
          hookTimeout: 600_000,
          maxWorkers,
        },
      },
    ],
  },
});
