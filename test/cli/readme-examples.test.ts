// Every shell example and every request of the README and of the pages in docs/, as it is printed,
// at one service that was started as the README says.
import { execFile, spawnSync, type ChildProcess } from 'node:child_process';
import { globSync } from 'node:fs';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { playExample } from '../docs/play-example.ts';
import { codeBlocks, readPage, ROOT } from '../docs/read-page.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { makeFolder } from './make-folder.ts';
import { runCli } from './run-cli.ts';

const START_MS_MAX = 240_000;
const BLOCK_MS_MAX = 240_000;
/** Commands that are started once for all examples, on a free port, as processes that stay. */
const STARTED = {
  'npm start': ['start'],
  'npx holdfast scripted-model --port 4010': ['scripted-model'],
  'npx holdfast scripted-platform telegram --port 4020': ['scripted-platform', 'telegram'],
  'npx holdfast scripted-platform slack --port 4021': ['scripted-platform', 'slack'],
  'npx holdfast scripted-platform signal --port 4022': ['scripted-platform', 'signal'],
  'npx holdfast scripted-platform discord --port 4023': ['scripted-platform', 'discord'],
};

/** Examples that another test runs, by page and title: a file, and a text in it. */
const ELSEWHERE: Record<string, [file: string, found: string]> = {
  'docs/operations.md › Running it': ['test/servers/service-process.ts', "['--roles', options.roles]"],
  'docs/runbooks.md › Start a worker': ['test/service/operators-drill.test.ts', "rig.start('worker'"],
  'docs/runbooks.md › Start a scheduler': ['test/service/operators-drill.test.ts', "rig.start('scheduler'"],
  'docs/operations.md › Metrics': ['test/service/operators-drill.test.ts', 'HOLDFAST_METRICS_PORT'],
  'docs/deliveries.md › A receiver': [
    'test/examples/webhook-receiver.test.ts',
    'examples/webhook-receiver/receiver.mjs',
  ],
};

const pages = globSync(['README.md', 'docs/*.md', 'docs/how-to/*.md', 'scripted-model/README.md'], {
  cwd: resolve(import.meta.dirname, '../..'),
}).toSorted();
const blocks = pages.flatMap((page) =>
  codeBlocks(readPage(page))
    .filter(({ language }) => language === 'sh')
    .map(({ title, code }, at) => ({ page, title, at, code: withoutStarted(code) })),
);
/** `POST /path`, headers, an empty line and a body. */
const requests = pages.flatMap((page) =>
  codeBlocks(readPage(page))
    .filter(({ language, code }) => language === 'http' && /^[A-Z]+ \//.test(code))
    .map(({ title, code }, at) => ({ name: `${page} › ${title} (${at + 1})`, code })),
);
/** The pages whose examples the short form runs: those that a newcomer reads first. */
const FIRST_PAGES = ['README.md', 'docs/cli.md', 'docs/how-to/quick-start.md'];
const hasCurl = spawnSync('curl', ['--version']).status === 0;

let cwd: string;
let serviceUrl: string;
let modelUrl: string;
let telegramUrl: string;
let slackUrl: string;
let signalUrl: string;
let discordUrl: string;
/** The output of the started processes. */
const printed: string[] = [];

shareAmongTests(async (onEnd) => {
  cwd = await makeFolder('holdfast-readme-');
  onEnd(() => rm(cwd, { recursive: true }));
  const start = async (args: string[], env: Record<string, string>, address: RegExp): Promise<string> => {
    const { promise: spawned, resolve: isSpawned } = Promise.withResolvers<ChildProcess>();
    const ended = runCli(args, { cwd, env, onSpawn: isSpawned });
    const child = await spawned;
    onEnd(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    for await (const line of createInterface({ input: child.stdout! })) {
      printed.push(line);
      const url = address.exec(line)?.[1];
      if (url !== undefined) return url;
    }
    throw new Error(`${args.join(' ')} did not start: ${(await ended).stderr}`);
  };
  [serviceUrl, modelUrl, telegramUrl, slackUrl, signalUrl, discordUrl] = await Promise.all([
    start(STARTED['npm start'], { HOLDFAST_PORT: '0' }, /^holdfast +(http\S+)$/),
    start(STARTED['npx holdfast scripted-model --port 4010'], {}, /^(http\S+)$/),
    start(STARTED['npx holdfast scripted-platform telegram --port 4020'], {}, /^(http\S+)$/),
    start(STARTED['npx holdfast scripted-platform slack --port 4021'], {}, /^(http\S+)$/),
    start(STARTED['npx holdfast scripted-platform signal --port 4022'], {}, /^(http\S+)$/),
    start(STARTED['npx holdfast scripted-platform discord --port 4023'], {}, /^(http\S+)$/),
  ]);
}, START_MS_MAX);

test('examples that are not run here are run by the named test', () => {
  for (const [example, [file, found]] of Object.entries(ELSEWHERE)) {
    expect(blocks.map(({ page, title }) => `${page} › ${title}`)).toContain(example);
    expect(readPage(file)).toContain(found);
  }
});

test('the started processes print what the pages show', () => {
  const comments = pages.flatMap((page) =>
    Object.keys(STARTED).flatMap((command) =>
      codeBlocks(readPage(page)).flatMap(({ code }) => commentsBelow(command, code).map((line) => atHand(line))),
    ),
  );
  expect(comments.length).toBeGreaterThan(0);
  expect(printed).toEqual(expect.arrayContaining(comments));
});

describe('the example', () => {
  const run = blocks
    .filter(({ page, title, code }) => ELSEWHERE[`${page} › ${title}`] === undefined && code !== '')
    .filter(({ page }) => isLongForm() || FIRST_PAGES.includes(page));
  for (const { page, title, at, code } of run) {
    const canRun = hasCurl || !/^curl /m.test(code);
    test.skipIf(!canRun)(`${page} › ${title} (${at + 1})`, { timeout: BLOCK_MS_MAX }, () =>
      playExample(atHand(code), cwd),
    );
  }
});

async function apiKey(): Promise<string> {
  return (await readFile(join(cwd, '.holdfast/api-key'), 'utf8')).trim();
}

test.each(requests)('the request $name succeeds', async ({ code }) => {
  const [head = '', body = ''] = code.split(/\n\n(.*)/s);
  const [place = '', ...lines] = head.split('\n');
  const [method = '', path = ''] = place.split(' ');
  const headers = new Headers(lines.map((line): [string, string] => [line.split(': ')[0]!, line.split(': ')[1]!]));
  headers.set('authorization', `Bearer ${await apiKey()}`);
  headers.set('content-type', 'application/json');
  const answer = await fetch(new URL(path, serviceUrl), { method, headers, body });
  const text = await answer.text();
  expect(answer.status, text).toBeLessThan(300);
});

test('an item of a batch has the result that the page shows', async () => {
  const [item = '', result = ''] = codeBlocks(readPage('docs/batches.md'))
    .filter(({ language }) => language === 'json')
    .map(({ code }) => code);
  await writeFile(join(cwd, 'item.jsonl'), item);
  const { stdout } = await runCli(['batch', 'submit', 'item.jsonl'], { cwd });
  const id = stdout.trim();
  expect(await runCli(['batch', 'watch', id], { cwd })).toMatchObject({ code: 0 });
  const { stdout: lines } = await runCli(['batch', 'results', id], { cwd });
  const [shown, got] = [JSON.parse(result) as Record<string, unknown>, JSON.parse(lines) as Record<string, unknown>];
  expect(Object.keys(got)).toEqual(Object.keys(shown));
  expect(got).toMatchObject({ customId: shown['customId'], status: shown['status'] });
});

test("the example for OpenAI's client prints what the agent says", async () => {
  const code = codeBlocks(readPage('docs/openai-clients.md')).find(({ language }) => language === 'ts')?.code ?? '';
  await symlink(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
  await writeFile(join(cwd, 'openai.mts'), atHand(code));
  const env = { ...process.env, HOLDFAST_API_KEY: await apiKey() };
  const { stdout } = await promisify(execFile)(process.execPath, ['openai.mts'], { cwd, env });
  expect(stdout).toContain('Which files are in my workspace?');
});

/** The command with the addresses of the running processes. */
function atHand(script: string): string {
  const urls: Readonly<Record<string, string>> = {
    7420: serviceUrl,
    4010: modelUrl,
    4020: telegramUrl,
    4021: slackUrl,
    4022: signalUrl,
    4023: discordUrl,
  };
  // At once, and whole ports: an address that was put in can begin like another one of the pages.
  return script.replaceAll(/http:\/\/127\.0\.0\.1:(\d+)\b/g, (url, port: string) => urls[port] ?? url);
}

/**
 * Without commands that were already started, their output, and `npm ci`, which has installed the
 * tests themselves.
 */
function withoutStarted(code: string): string {
  let rest = code.replace(/^npm ci$/m, '');
  for (const command of Object.keys(STARTED)) {
    const said = commentsBelow(command, code).map((line) => `# ${line}`);
    rest = rest.replace([command, ...said].join('\n'), '');
  }
  return rest.trim();
}

/** The comments right below a command. */
function commentsBelow(command: string, code: string): string[] {
  const lines = code.split('\n');
  const at = lines.indexOf(command);
  if (at === -1) return [];
  const end = lines.findIndex((line, index) => index > at && !line.startsWith('#'));
  return lines.slice(at + 1, end === -1 ? undefined : end).map((line) => line.replace(/^# ?/, ''));
}
