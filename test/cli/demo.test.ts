// The demo as its users run it: it plays, or it names the failed check; and however it ends,
// nothing of it remains.
import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isLongForm } from '../servers/test-form.ts';
import { runCli, type CliResult } from './run-cli.ts';

/** It takes a tenth of this on a quiet machine. */
const DEMO_MS_MAX = 720_000;
const GONE_MS_MAX = 120_000;

interface DemoDocument {
  ok: boolean;
  dataDir: string;
  chapters: { id: string; proven: string | null; checks: { ok: boolean; text: string }[] }[];
  numbers: Record<string, number>;
  failures: string[];
}

// The short form leaves it to `npm run demo`, which proves the same and fails when something does
// not hold.
test.runIf(isLongForm())(
  'the demo plays every chapter and proves it, and leaves nothing (G1, G2, G10, G11, G14, G15, G18, G20, G24)',
  { timeout: DEMO_MS_MAX },
  async () => {
    const { code, stdout, stderr } = await runCli(['demo', '--json']);
    const document = JSON.parse(stdout) as DemoDocument;
    const failed = document.chapters.flatMap(({ checks }) => checks.filter(({ ok }) => !ok));
    expect([...document.failures, ...failed.map((check) => JSON.stringify(check))]).toEqual([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const ids = document.chapters.map((chapter) => chapter.id);
    expect(ids).toEqual([
      'tool-loop',
      'steering',
      'cron',
      'heartbeat',
      'subagent',
      'take-over',
      'chat',
      'fallback',
      'system-event',
      'model-requests',
      'many-messages',
      'evaluation',
      'numbers',
    ]);
    expect(document.chapters.every(({ checks, proven }) => checks.length > 1 && proven !== null)).toBe(true);
    expect(document).toMatchObject({ ok: true, numbers: { lost: 0, doubled: 0 } });
    // Of a cron that ticks every second, there are at least three ticks, with a tool call each.
    expect(document.numbers['messages']).toBeGreaterThanOrEqual(40);
    expect(document.numbers['toolCalls']).toBeGreaterThanOrEqual(40);
    expect(leftOf(document.dataDir)).toEqual([]);
  },
);

test.runIf(isLongForm())('a failed check is named, and the exit code is 1', { timeout: DEMO_MS_MAX }, async () => {
  // Goal: a fault that is real. Method: the commands of the agent find no `sort`, so the list that
  // it writes stays unsorted.
  const programs = await mkdtemp(join(tmpdir(), 'holdfast-programs-'));
  await symlink('/bin/sleep', join(programs, 'sleep'));
  const { code, stdout } = await runCli(['demo'], { env: { PATH: programs } });
  await rm(programs, { recursive: true });
  expect(code).toBe(1);
  expect(stdout).toContain('✘ the tools are real: the file exists and is sorted');
  expect(stdout).toMatch(/✔ taken over .* after the kill/);
  expect(stdout).toMatch(/^✘ tool-loop +failed: three tool calls/m);
  expect(stdout).toMatch(/^✔ subagent +the parent continues/m);
  expect(stdout).not.toContain('npm start');
  expect(leftOf(/everything is in (\S+),/.exec(stdout)?.[1] ?? '')).toEqual([]);
});

test('Ctrl-C ends the demo and all that it started, in plain lines', { timeout: DEMO_MS_MAX }, async () => {
  const demo = startDemo();
  const dataDir = await demo.reaches('worker A: ');
  demo.child.kill('SIGINT');
  const { code, stdout } = await demo.ended;
  expect(code).toBe(130);
  expect(stdout).not.toContain('\u001b');
  expect(leftOf(dataDir)).toEqual([]);
});

test.runIf(isLongForm())(
  'a demo that is killed is cleaned up after',
  { timeout: DEMO_MS_MAX + GONE_MS_MAX },
  async () => {
    const demo = startDemo();
    const dataDir = await demo.reaches('charge invoice 1');
    expect(leftOf(dataDir).length).toBeGreaterThan(3);
    demo.child.kill('SIGKILL');
    await demo.ended;
    await expect.poll(() => leftOf(dataDir), { timeout: GONE_MS_MAX, interval: 100 }).toEqual([]);
  },
);

/** Starts a demo; `reaches` resolves with its directory when it has printed the text. */
function startDemo() {
  let spawned: ChildProcess | undefined;
  const ended: Promise<CliResult> = runCli(['demo'], { onSpawn: (process) => (spawned = process) });
  if (spawned === undefined) throw new Error('the demo was not started');
  const child: ChildProcess = spawned;
  onTestFinished(() => void child.kill('SIGINT'));
  let printed = '';
  return {
    child,
    ended,
    async reaches(text: string): Promise<string> {
      const reached = Promise.withResolvers<void>();
      child.stdout?.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        if (printed.includes(text)) reached.resolve();
      });
      void ended.then(() => reached.reject(new Error(`the demo did not come to "${text}":\n${printed}`)));
      await reached.promise;
      return /everything is in (\S+),/.exec(printed)?.[1] ?? '';
    },
  };
}

/** The directory, and every process that runs in it, on it or for it. */
function leftOf(dataDir: string): string[] {
  expect(dataDir).not.toBe('');
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && concerns(`/proc/${name}`, dataDir));
  return [...(existsSync(dataDir) ? [dataDir] : []), ...processes];
}

function concerns(processDir: string, dataDir: string): boolean {
  try {
    const command = readFileSync(join(processDir, 'cmdline'), 'utf8');
    const environment = readFileSync(join(processDir, 'environ'), 'utf8');
    return [command, environment, readlinkSync(join(processDir, 'cwd'))].some((text) => text.includes(dataDir));
  } catch {
    // It has ended meanwhile, or belongs to another run.
    return false;
  }
}
