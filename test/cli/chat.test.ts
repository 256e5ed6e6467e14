// `holdfast chat` against a whole service of real processes: in a pipe, at a terminal, and while
// the service is down.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countInputs } from '../rows/inputs.ts';
import { readTurns } from '../rows/turns.ts';
import { apiKey, openServiceRig, type RunningProcess, type ServiceRig } from '../service/rig/service-rig.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { BIN, runCli } from './run-cli.ts';

const SOON_MS = 240_000;

const holder = {} as { rig: ServiceRig; worker: RunningProcess; api: RunningProcess };
shareAmongTests(async (onEnd) => {
  holder.rig = await openServiceRig({ queue: 'postgres' });
  onEnd(() => holder.rig.close());
  holder.worker = await holder.rig.start('worker,scheduler');
  holder.api = await holder.rig.start('api');
});

const env = () => ({ HOLDFAST_URL: holder.api.url, HOLDFAST_API_KEY: apiKey });

test('in a pipe, each line is a message that waits for the answer to the one before', async () => {
  const stdin = 'one [[reply: First.]]\n\n/status\ntwo [[tool: session_status {}]] [[reply: Second.]]\n';
  const chat = await runCli(['chat', 'piped', '--show-context'], { env: env(), stdin });
  expect(chat.code).toBe(0);
  const [first, ...rest] = chat.stdout.trimEnd().split('\n');
  expect(first).toBe('First.');
  expect(rest.at(-1)).toBe('Second.');
  expect(chat.stdout.match(/First\.|Second\./g)).toHaveLength(2);
  expect(rest.join('\n')).toContain('agent:main:piped');
  expect(chat.stderr).toContain('[session_status]');
  expect(chat.stderr).toMatch(/^PART +FROM +TRUST +TOKENS/m);
});

test('a request of a turn is printed part by part, or whole as JSON', async () => {
  await runCli(['chat', 'asked'], { env: env(), stdin: 'what was I asked? [[reply: That.]]\n' });
  const [turn] = await readTurns(holder.rig, { sessionKey: 'agent:main:asked' }, 'id');
  const request = ['turns', 'request', turn?.id ?? '', '1'];
  const shown = await runCli(request, { env: env() });
  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(/^PART +FROM +TRUST +TOKENS +PLACE\n/);
  expect(shown.stdout).toMatch(/^body \(cached up to here\) +sender +untrusted +\d+ +messages\[0\]/m);
  expect(shown.stderr).toContain('this body has the hash of what was sent');
  const whole = JSON.parse((await runCli([...request, '--json'], { env: env() })).stdout) as { request: object };
  expect(JSON.stringify(whole.request)).toContain('what was I asked?');
  expect((await runCli(['turns', 'request', turn?.id ?? '', '9'], { env: env() })).code).toBe(5);
});

test('the log files of the service have its actions, and no text of the conversation', async () => {
  await runCli(['chat', 'logged'], { env: env(), stdin: 'a secret word [[reply: Fine.]]\n' });
  const logs = await runCli(['logs', '--json', '--session', 'logged'], {
    env: { HOLDFAST_DATA_DIR: holder.rig.dataDir },
  });
  expect(logs).toMatchObject({ code: 0, stdout: expect.stringContaining('"Turn ended"') as string });
  expect(logs.stdout).not.toContain('a secret word');
});

test('with --json it prints events and results as lines; a turn that fails is the exit code', async () => {
  const stdin = 'fails [[error: 400 times=always]]\n';
  const chat = await runCli(['chat', 'failing', '--json'], { env: env(), stdin });
  expect(chat.code).toBe(7);
  const lines = chat.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string });
  expect(lines.map(({ type }) => type)).toContain('message.settled');
  expect(lines.find(({ type }) => type === 'result')).toMatchObject({ message: { status: 'failed' } });
});

test('a wrong key and a missing service end it immediately', async () => {
  const wrong = await runCli(['chat'], { env: { ...env(), HOLDFAST_API_KEY: 'hf_wrong' }, stdin: 'a\n' });
  expect(wrong.code).toBe(10);
  const away = await runCli(['chat'], { env: { ...env(), HOLDFAST_URL: 'http://127.0.0.1:9' }, stdin: 'a\n' });
  expect(away.code).toBe(4);
});

test('while the service is away it waits, and nothing is sent twice, lost or printed again (G2)', async () => {
  const { rig } = holder;
  const command = JSON.stringify({ command: 'until [ -e go-on ]; do sleep 0.05; done' });
  const child = spawn(process.execPath, [BIN, 'chat', 'patient'], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env() },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const seen = collect(child);
  child.stdin.write(`held [[reply: Before.]] [[tool: exec ${command}]] [[reply: After.]]\n`);
  await waitUntil('the first text is there', SOON_MS, () => Promise.resolve(seen.out.includes('Before.')));
  const port = Number(new URL(holder.api.url).port);
  await holder.api.end('SIGKILL');
  await waitUntil('it says so', SOON_MS, () => Promise.resolve(seen.err.includes('the connection was lost')));
  child.stdin.end('next [[reply: Next.]]\n');
  await writeFile(join(rig.dataDir, 'workspace', 'go-on'), '');
  holder.api = await rig.start('api', { port });
  const [code] = (await once(child, 'close')) as [number];
  expect({ code, out: seen.out }).toEqual({ code: 0, out: 'Before.\nAfter.\nNext.\n' });
  expect(await countInputs(rig, { sessionKey: 'agent:main:patient' })).toBe(2);
});

function collect(child: ChildProcess): { out: string; err: string } {
  const seen = { out: '', err: '' };
  child.stdout?.on('data', (bytes: Buffer) => (seen.out += bytes.toString()));
  child.stderr?.on('data', (bytes: Buffer) => (seen.err += bytes.toString()));
  return seen;
}
