// Runs once before the browser tests: builds the dashboard as it is in the sources, and unpacks
// Chromium.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import sparticuz from '@sparticuz/chromium';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    chromiumPath: string;
  }
}

/** Both, unless they were done before. */
export async function setup(project: TestProject): Promise<void> {
  const script = resolve(import.meta.dirname, '../../web/build.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--if-needed']);
  if (stdout.includes('was not built')) throw new Error(stdout);
  project.provide('chromiumPath', await sparticuz.executablePath());
}
