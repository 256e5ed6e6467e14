// Goal: a newcomer reaches each goal with the pages alone. Method: in an empty folder, the commands
// of the quick start, of a batch of 20 lines and of backing up are typed as the pages print them;
// then the backup is restored into another empty folder as its page says, and what waited is
// answered there. The commands of all other pages: readme-examples.test.ts; a database of the first
// release: test/service/earlier-layouts.test.ts.
import type { ChildProcess } from 'node:child_process';
import { copyFile, readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test, type TestContext } from 'vitest';
import { playExample } from '../docs/play-example.ts';
import { codeBlocks, readPage, type CodeBlock } from '../docs/read-page.ts';
import { makeFolder } from './make-folder.ts';
import { runCli } from './run-cli.ts';

interface Started {
  url: string;
  stop(): Promise<void>;
}

/** `npm start`, in the folder. */
async function start(cwd: string): Promise<Started> {
  const { promise: spawned, resolve: isSpawned } = Promise.withResolvers<ChildProcess>();
  const ended = runCli(['start'], { cwd, env: { HOLDFAST_PORT: '0' }, onSpawn: isSpawned });
  const child = await spawned;
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^holdfast +(http\S+)$/.exec(line)?.[1];
    if (url !== undefined) return { url, stop };
  }
  throw new Error(`It did not start: ${(await ended).stderr}`);
}

/** The blocks of a page; those with `language` sh are commands that a shell takes as they are. */
function blocksOf(page: string): CodeBlock[] {
  return codeBlocks(readPage(`docs/how-to/${page}.md`));
}

/** Types the commands of a page, except those that start the service. */
async function follow(page: string, { cwd, url }: { cwd: string; url: string }): Promise<void> {
  for (const { title, language, code } of blocksOf(page)) {
    if (language !== 'sh' || title === 'Start the service') continue;
    await playExample(code.replaceAll('http://127.0.0.1:7420', url), cwd);
  }
}

async function emptyFolder({ onTestFinished }: TestContext): Promise<string> {
  const folder = await makeFolder('holdfast-newcomer-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function started(cwd: string, { onTestFinished }: TestContext): Promise<Started> {
  const service = await start(cwd);
  onTestFinished(() => service.stop());
  return service;
}

test('quick start, a batch, a backup, and its restore into a new folder', async (context) => {
  const cwd = await emptyFolder(context);
  const first = await started(cwd, context);
  await follow('quick-start', { cwd, url: first.url });
  await follow('batch-a-file', { cwd, url: first.url });
  expect((await readFile(join(cwd, 'results.jsonl'), 'utf8')).match(/"status":"answered"/g)).toHaveLength(20);

  // A message waits when the backup is made.
  expect(await runCli(['pause', '--session', 'later'], { cwd })).toMatchObject({ code: 0 });
  expect(await runCli(['send', 'later', 'Are you there? [[reply: Still here.]]'], { cwd })).toMatchObject({ code: 0 });
  await follow('back-up-and-restore', { cwd, url: first.url });
  await first.stop();

  const elsewhere = await emptyFolder(context);
  const restore = blocksOf('back-up-and-restore').find(({ title }) => title === 'Restore into a new folder');
  // Its name has the date of its day, and that on the page another.
  const made = (await readdir(cwd)).find((name) => name.endsWith('.backup'));
  const named = /\S+\.backup/.exec(restore?.code ?? '')?.[0];
  await copyFile(join(cwd, String(made)), join(elsewhere, String(named)));
  expect(restore?.code).toMatch(/npx holdfast start\n$/);
  await playExample(restore!.code.replace('npx holdfast start\n', ''), elsewhere);
  await started(elsewhere, context);
  const transcript = await runCli(['sessions', 'transcript', 'main'], { cwd: elsewhere });
  expect(transcript.stdout).toContain('What day is it?');
  expect(await runCli(['resume', '--session', 'later'], { cwd: elsewhere })).toMatchObject({ code: 0 });
  await expect
    .poll(async () => (await runCli(['sessions', 'transcript', 'later'], { cwd: elsewhere })).stdout)
    .toContain('Still here.');
  const batches = await runCli(['batch', 'list', '--json'], { cwd: elsewhere });
  expect(JSON.parse(batches.stdout).items).toMatchObject([{ name: 'tickets', counts: { answered: 20 } }]);
});
