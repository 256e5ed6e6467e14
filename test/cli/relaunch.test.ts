// A service takes its secrets out of its environment while other threads of its process open and
// close files.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BIN } from './run-cli.ts';

const STARTS = 10;

/**
 * Threads that open and close files until one of them has had the number of standard input, for as
 * long as a read takes.
 */
const BUSY_THREADS = `
import { Worker } from 'node:worker_threads';
if (process.env.HOLDFAST_SECRETS_ON_STDIN !== '1') {
  const begun = new Int32Array(new SharedArrayBuffer(4));
  const code = \`
    const { closeSync, openSync } = require('node:fs');
    const begun = require('node:worker_threads').workerData;
    for (let file = -1; file !== 0; closeSync(file)) {
      file = openSync('/dev/null', 'r');
      Atomics.store(begun, 0, 1);
      Atomics.notify(begun, 0);
      if (file === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }\`;
  for (let thread = 1; thread <= 4; thread += 1) new Worker(code, { eval: true, workerData: begun });
  Atomics.wait(begun, 0, 0);
}`;

test('a start does not fail because another thread has opened a file meanwhile (G31)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-relaunch-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const busy = join(folder, 'busy.mjs');
  await writeFile(busy, BUSY_THREADS);
  for (let start = 1; start <= STARTS; start += 1) {
    const child = spawn(process.execPath, ['--import', busy, BIN, 'scripted-model'], {
      env: { PATH: process.env['PATH'], ANTHROPIC_API_KEY: 'a-secret-of-the-environment' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const errors: string[] = [];
    child.stderr.on('data', (text: Buffer) => errors.push(text.toString()));
    const [first] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    expect(String(first), errors.join('')).toContain('http://127.0.0.1');
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});
