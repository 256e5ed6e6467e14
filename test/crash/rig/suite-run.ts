// Runs a test of the suite in a copy of the checkout, as a person would, and reports how it ended.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/**
 * A test that has not ended by then has failed: without a safeguard, what it waits for may never
 * happen.
 */
const TEST_MS_MAX = 60_000;

export interface NamedTest {
  /** From the root of the checkout. */
  file: string;
  /** Its title, or the beginning of it; one test of the file has it. */
  title: string;
}

export interface TestEnd {
  status: string;
  messages: string;
}

interface Report {
  testResults: { assertionResults: { title: string; status: string; failureMessages: string[] }[] }[];
}

/**
 * Runs one integration test. Throws when the run ends without a report of exactly one such test.
 */
export async function runTest(rootDir: string, { file, title }: NamedTest): Promise<TestEnd> {
  const report = join(rootDir, 'report.json');
  rmSync(report, { force: true });
  const timeout = String(TEST_MS_MAX);
  const choice = ['--project', 'integration', file, '-t', title, '--testTimeout', timeout, '--hookTimeout', timeout];
  const child = spawn(
    process.execPath,
    [join(rootDir, 'node_modules/vitest/vitest.mjs'), 'run', ...choice, '--reporter=json', '--outputFile', report],
    { cwd: rootDir, env: { ...outerEnvironment(), HOLDFAST_TESTS: 'long' }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const [, output, errors] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  const printed = `${output}${errors}`;
  const ends = readReport(report, printed).testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter((end) => end.title.startsWith(title)),
  );
  const [end, ...others] = ends;
  if (end === undefined || others.length > 0)
    throw new Error(`${file} has ${ends.length} tests "${title}"; expected one:\n${printed}`);
  return { status: end.status, messages: end.failureMessages.join('\n') };
}

function readReport(path: string, printed: string): Report {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report;
  } catch (error) {
    throw new Error(`The run has no report:\n${printed}`, { cause: error });
  }
}

/** Without what the run around it has set for its own processes. */
function outerEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')));
}
