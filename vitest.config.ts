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
  'test/features/batches/batch-costs',
  'test/crash/family-sweep',
  'test/crash/accept-sweep',
  'test/crash/turn-sweep',
  'test/cli/demo',
  'test/browser/accessibility',
  'test/browser/outage',
  'test/browser/walk',
  'test/crash/',
  'test/turn/interleaving/',
  'test/features/limits/turns',
  'test/turn/hostile-provider',
  'test/features/provider-batches/lane',
  'test/service/',
  'test/cli/',
  'test/embedded-postgres/',
  'test/workers/queue/',
  'test/features/batches/',
  'test/tools/',
  'test/requests/',
];

/**
 * Files that only the long form has, which CI runs: what a change seldom breaks, or takes long to show. The short form has to end within five minutes. It
 * has every pure rule and almost everything that runs in one process. Of what starts processes or a browser it keeps a turn that crashes, every kind of
 * input, the conformance of the queues, the parts of a prompt, and signing in to the dashboard.
 */
const onlyInLongForm = globSync(
  [
    'test/linear-patterns.test.ts',
    'test/api/{database-away,keyed-requests,other-providers,retention-and-erasure,scope-matrix,scoped-lists}.test.ts',
    'test/features/batches/{auto-batches,batch-costs,bill,estimates,lane-budgets,provider-batches}.test.ts',
    'test/browser/!(figures|sign-in).test.ts',
    'test/cli/!(console-warnings|poll-until-end|table|waterfall).test.ts',
    'test/cli/every-command/*.test.ts',
    'test/client/package.test.ts',
    'test/crash/!(mutants*|turn-sweep).test.ts',
    'test/embedded-postgres/start-embedded-postgres.test.ts',
    'test/features/*/{commands,requests}.test.ts',
    'test/features/budgets/rounds.test.ts',
    'test/features/{erasure/*,retention/retention-cost}.test.ts',
    'test/features/channels/{add-channel,live,sending-sweep}.test.ts',
    'test/features/{gateway/gateway,limits/turns,traces/traces}.test.ts',
    'test/features/mcp/!(mcp-calls|odd-*).test.ts',
    'test/features/mcp-server/conformance.test.ts',
    'test/model/conformance.test.ts',
    'test/features/openai/{chat,earlier-sessions,files,responses,streams}.test.ts',
    'test/requests/!(system-prompt|user-prompt).test.ts',
    'test/servers/postgres-proxy.test.ts',
    'test/service/!(every-input-is-a-job|publish|reprice-past-calls).test.ts',
    'test/store/{cheap-statistics,list-plans,scope-plans}.test.ts',
    'test/tools/{process-guard,process-tool,sandbox-canaries}.test.ts',
    'test/turn/{changing-models,collected-length,compaction,crash-loop,hostile-provider,keys-of-many,large-messages}.test.ts',
    'test/turn/{model-outage,stream-handling}.test.ts',
    'test/features/provider-batches/lane*.test.ts',
    'test/workers/queue/postgres-queue.test.ts',
  ],
  { cwd: import.meta.dirname },
);

class LongestFirst extends BaseSequencer {
  /** Neighbours, which take about as long, go to different shares. */
  override shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index, count } = this.ctx.config.shard!;
    const inOrder = files.toSorted((a, b) => a.moduleId.localeCompare(b.moduleId));
    return Promise.resolve(inOrder.filter((_, at) => at % count === index - 1));
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = beginFirst.findIndex((beginning) => moduleId.includes(`/${beginning}`));
      return found === -1 ? beginFirst.length : found;
    };
    const placeOf = ({ project }: TestSpecification): number => projectsInOrder.indexOf(project.name);
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b) || rank(a) - rank(b));
  }
}

/** Tests of pure functions; those of a feature's rules stand with its other tests. */
const pure = ['test/core/**/*.test.ts', 'test/coalesce/**/*.test.ts', 'test/features/*/rules/**/*.test.ts'];
const globalSetup = ['test/servers/global-setup.ts'];
/** Two for two cores; in the short form two more, because every other test waits. Those of the long form keep several processes busy themselves. */
const maxWorkers = isLongForm() ? 2 : 4;
/** A failure in CI has to say what was found, since nothing of it can be looked at later. */
const chaiConfig = { truncateThreshold: 2_000 };
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
          include: ['test/*.test.ts', ...pure],
          exclude,
          // Pure functions: files share loaded modules, and nothing else.
          isolate: false,
          testTimeout: 300_000,
          maxWorkers,
          chaiConfig,
        },
      },
      {
        test: {
          name: 'integration',
          isolate: false,
          include: ['test/*/**/*.test.ts'],
          exclude: [...pure, 'test/crash/**', 'test/browser/**', ...exclude],
          globalSetup,
          testTimeout: 600_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 120_000 } },
          maxWorkers,
          chaiConfig,
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
          chaiConfig,
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
          chaiConfig,
        },
      },
    ],
  },
});
