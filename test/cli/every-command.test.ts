// Every command in each situation that a person or a script meets: at a terminal, in a pipe, with --json, without a service, with a wrong key. The table
// below has every command, so a new one fails here until it is in it. What each command does: the other tests of this folder.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { ADMIN_KEY } from '../api/api-rig.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { readPage } from '../docs/read-page.ts';
import { BIN, runCli, type CliResult } from './run-cli.ts';
import { startStandIn } from './stand-in-service.ts';

const NO_SERVICE = 'http://127.0.0.1:1';
const ID = '019a0000-0000-7000-8000-000000000001';
const ESC = String.fromCodePoint(27);

/** Commands that read, with their arguments; names in braces are those of the objects that the test makes. */
const READS = [
  'sessions list',
  'sessions show {session}',
  'sessions transcript {session}',
  'sessions export {session}',
  'messages list',
  'messages show {message}',
  'turns list',
  'turns show {turn}',
  'turns request {turn} 1',
  'turns watch {turn}',
  'deliveries list',
  'batch list',
  'batch show {batch}',
  'batch items {batch}',
  'batch results {batch}',
  'cron list',
  'cron next {cron}',
  'cron fires {cron}',
  'heartbeats list',
  'subagents list {session}',
  'dead list',
  'dead show {code}',
  'bulk list',
  'usage',
  'prices list',
  'budgets list',
  'keys list',
  'waiting',
  'why {session}',
  'workers list',
  'pauses',
];

/** Commands that change something, or stay. */
const OTHERS = [
  'send {session} hello',
  'chat {session}',
  'sessions abort {session}',
  'sessions compact {session}',
  'sessions reset {session}',
  'sessions fork {session} copy',
  'sessions delete {session} --yes',
  'subjects delete ada --yes',
  'turns abort {turn}',
  'turns retry {turn}',
  `deliveries redrive ${ID}`,
  `deliveries discard ${ID}`,
  'events',
  'batch submit -',
  'batch watch {batch}',
  'batch pause {batch}',
  'batch resume {batch}',
  'batch cancel {batch}',
  'batch retry-failed {batch}',
  'cron add --every 1h --message x',
  'cron edit {cron} --name y',
  'cron rm {cron}',
  'cron pause {cron}',
  'cron resume {cron}',
  'cron run {cron}',
  'heartbeats poll main',
  'spawn {session} task',
  `subagents kill ${ID}`,
  `subagents steer ${ID} text`,
  'dead redrive {code}',
  'dead discard {code}',
  'bulk run retry turns --all --yes',
  `bulk show ${ID}`,
  `bulk cancel ${ID}`,
  'budgets add all day 1',
  `budgets rm ${ID}`,
  'open --print',
  'keys create other',
  'keys revoke other',
  `workers drain ${ID}`,
  'pause',
  'resume',
  'prices check',
  'config diff',
  'config reload',
];

/** Commands that need no running service, and the tests that they have. */
const WITHOUT_SERVICE: Record<string, string> = {
  start: 'test/cli/start.test.ts',
  migrate: 'test/cli/wrong-databases.test.ts',
  backup: 'test/cli/newcomer.test.ts',
  restore: 'test/cli/newcomer.test.ts',
  demo: 'test/cli/demo.test.ts',
  'scripted-model': 'test/cli/readme-examples.test.ts',
  doctor: 'test/cli/doctor.test.ts',
  'config show': 'test/cli/command-line.test.ts',
  'config validate': 'test/cli/command-line.test.ts',
  'prices reprice': 'test/cli/costs.test.ts',
  version: 'test/cli/command-line.test.ts',
  logs: 'test/cli/logs.test.ts',
  completion: 'test/cli/completion.test.ts',
  __complete: 'test/cli/completion.test.ts',
};

const holder = useApiRig();

test('the table has every command', () => {
  const paths = (command: Command, before: string[]): string[] => {
    const below = command.commands.filter((each) => each.name() !== 'help');
    return below.length === 0 ? [before.join(' ')] : below.flatMap((each) => paths(each, [...before, each.name()]));
  };
  const all = paths(
    buildProgram(() => {}),
    [],
  );
  const lines = [...READS, ...OTHERS];
  const known = [
    ...Object.keys(WITHOUT_SERVICE),
    ...all.filter((path) => lines.some((line) => line === path || line.startsWith(`${path} `))),
  ];
  expect(known.toSorted()).toEqual(all.toSorted());
  for (const [command, file] of Object.entries(WITHOUT_SERVICE))
    expect(readPage(file)).toContain(command.split(' ')[0]);
});

/** The objects that the arguments name. */
async function makeScene(): Promise<Record<string, string>> {
  const { rig } = holder;
  const sent = await rig.post('/v1/sessions/seen/messages', { text: '[[tool: echo {"say": "x"}]] [[reply: y]]' });
  await rig.work('seen');
  await rig.post('/v1/sessions/failing/messages', { text: '[[error: 400 message="no"]]' });
  await rig.work('failing');
  await rig.post('/v1/sessions/waits/messages', { text: 'waits' });
  const cron = await rig.post('/v1/crons', {
    name: 'hourly',
    schedule: { kind: 'every', everyMs: 3_600_000 },
    payload: { kind: 'agentTurn', message: 'x' },
  });
  await rig.post('/v1/budgets', { scope: 'all', per: 'day', limitUsd: 100 });
  await rig.post('/v1/keys', { name: 'viewer', role: 'viewer' });
  await rig.post('/v1/pause', { agent: 'main', reason: 'a test' });
  const batch = await rig.post('/v1/batches', { items: [{ text: 'one' }] });
  return {
    session: 'seen',
    message: sent.body.message.id,
    turn: (await rig.get('/v1/turns?session=seen')).body.items[0].id,
    cron: cron.body.id,
    batch: batch.body.id,
    code: 'model_invalid_request',
  };
}

let scene: Promise<Record<string, string>> | undefined;
async function argsOf(line: string): Promise<string[]> {
  const names = await (scene ??= makeScene());
  return line.split(' ').map((word) => word.replace(/\{(\w+)\}/, (_, name: string) => names[name] ?? ''));
}

async function run(args: readonly string[], more: { url?: string; key?: string } = {}): Promise<CliResult> {
  const { url = await holder.rig.listen(), key = ADMIN_KEY } = more;
  return runCli(args, { env: { HOLDFAST_URL: url, HOLDFAST_API_KEY: key } });
}

/** At a terminal: `script` gives the command one. */
async function runAtTerminal(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const quoted = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', quoted, '/dev/null'], {
    cwd: '/tmp',
    env: {
      PATH: process.env['PATH'] ?? '',
      TERM: 'xterm',
      HOLDFAST_URL: await holder.rig.listen(),
      HOLDFAST_API_KEY: ADMIN_KEY,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { code: child.exitCode, output };
}

describe.each(READS)('%s', (line) => {
  test('in a pipe has no escape sequences, and with --json is JSON', async () => {
    const args = await argsOf(line);
    const [piped, json] = await Promise.all([run(args), run([...args, '--json'])]);
    expect(piped).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Error') });
    expect(piped.stdout).not.toContain(ESC);
    expect(json.code).toBe(0);
    const documents = json.stdout.trimEnd().split('\n');
    for (const each of documents.filter((text) => text !== '')) expect(() => void JSON.parse(each)).not.toThrow();
  });

  test('at a terminal shows the same to a person', async () => {
    const { code, output } = await runAtTerminal(await argsOf(line));
    expect({ code, output }).toMatchObject({ code: 0, output: expect.not.stringContaining('holdfast:') });
  });
});

describe.each([...READS, ...OTHERS])('%s', (line) => {
  test('without a service names the address and the next step, and with a wrong key that the key is wrong', async () => {
    const args = await argsOf(line);
    // The service itself refuses further wrong keys after ten of them.
    await using other = await startStandIn();
    const [away, refused] = await Promise.all([
      run(args, { url: NO_SERVICE }),
      run(args, { url: other.url, key: 'wrong-key' }),
    ]);
    expect(away).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining(NO_SERVICE) });
    expect(away.stderr).toContain('Fix:');
    expect(refused).toMatchObject({ code: 10, stdout: '', stderr: expect.stringContaining('Fix:') });
  });
});
