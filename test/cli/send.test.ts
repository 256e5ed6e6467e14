import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCli, type CliOptions } from './run-cli.ts';
import { KEY, startStandIn, type StandIn } from './stand-in-service.ts';

let service: StandIn;
let cwd: string;

beforeEach(async () => {
  service = await startStandIn();
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-send-'));
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
  await rm(cwd, { recursive: true });
});

function run(args: string[], options: CliOptions = {}) {
  return runCli(args, { cwd, ...options, env: { HOLDFAST_URL: service.url, HOLDFAST_API_KEY: KEY, ...options.env } });
}

test('without --wait it prints the id of the message and nothing else on stdout', async () => {
  const result = await run(['send', 'main', 'hello']);
  expect(result).toMatchObject({ code: 0, stdout: '019a0000-0000-7000-8000-000000000001\n' });
  expect(result.stderr).toContain('queued for agent:main:main; 3 waiting');
});

test('with --wait it prints the reply', async () => {
  expect(await run(['send', 'main', 'hello', '--wait', '120'])).toEqual({
    code: 0,
    stdout: 'you said: hello\n',
    stderr: '',
  });
});

test("with --json it prints the service's answer", async () => {
  const result = await run(['send', 'main', 'hello', '--wait', '120', '--json']);
  expect(JSON.parse(result.stdout)).toMatchObject({
    reply: 'you said: hello',
    turn: { status: 'completed' },
    message: { status: 'answered' },
  });
  expect(result.stderr).toBe('');
});

test('"-" reads the message from stdin', async () => {
  const result = await run(['send', 'main', '-', '--wait'], { stdin: 'from a pipe' });
  expect(result.stdout).toBe('you said: from a pipe\n');
});

test('stdin that is not text is a usage error, and nothing is sent', async () => {
  const result = await run(['send', 'main', '-'], { stdin: Buffer.from('Gr\xfc\xdfe', 'latin1') });
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toContain('stdin is not text in UTF-8');
  expect(result.stderr).toContain('iconv');
});

test('every send has an idempotency key, its own or the one it is given (G2)', async () => {
  await run(['send', 'main', 'a']);
  await run(['send', 'main', 'b', '--idempotency-key', 'mine']);
  const keys = service.requests.map((request) => request.headers['idempotency-key']);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(keys[1]).toBe('mine');
});

test('a message that was sent and settled before is not sent again, and the end of it is noted', async () => {
  const result = await run(['send', 'main', 'again', '--idempotency-key', 'mine']);
  expect(result).toMatchObject({ code: 0, stdout: '019a0000-0000-7000-8000-000000000001\n' });
  expect(result.stderr).toContain('sent before; it is answered');
  const streamed = await run(['send', 'main', 'again', '--idempotency-key', 'mine', '--stream', '--json']);
  expect(JSON.parse(streamed.stdout)).toMatchObject({ type: 'result', reply: 'you said: again' });
});

test('options of the message are sent with it', async () => {
  await run([
    'send',
    'main',
    'a',
    '--mode',
    'steer',
    '--model',
    'fast',
    '--thinking',
    'high',
    '--deliver',
    'http://127.0.0.1:1/hook',
  ]);
  expect(service.requests[0]?.body).toEqual({
    text: 'a',
    mode: 'steer',
    model: 'fast',
    thinking: 'high',
    deliver: { url: 'http://127.0.0.1:1/hook' },
  });
});

test.each([
  ['fail', 7, 'it was told to (because)'],
  ['time out', 8, 'the turn timedOut'],
  ['abort', 8, 'cancelled'],
  ['drop', 1, 'dropped'],
  ['hush', 0, 'no reply, by decision of the agent'],
  ['busy', 6, 'is busy and its queue mode is reject'],
  ['conflict', 6, 'the key was used for another body'],
])('a message that ends like %j exits %d', async (said, code, words) => {
  const result = await run(['send', 'main', said, '--wait', '120']);
  expect(result.code).toBe(code);
  expect(result.stderr).toContain(words);
});

test('a wait that times out exits 124 and names the command to check again', async () => {
  const result = await run(['send', 'main', 'wait', '--wait', '1']);
  expect(result).toMatchObject({ code: 124, stdout: '' });
  expect(result.stderr).toContain('holdfast turns list --session agent:main:main');
});

test('Ctrl-C during the wait exits 130 and cancels nothing', async () => {
  const result = await run(['send', 'main', 'wait', '--wait', '60'], {
    onSpawn: (child) => void service.seen('/v1/messages/').then(() => child.kill('SIGINT')),
  });
  expect(result.code).toBe(130);
  expect(service.requests.some((request) => request.path.includes('abort'))).toBe(false);
});

test('--stream prints the text as it arrives and resumes a broken stream where it ended', async () => {
  const result = await run(['send', 'main', 'wait', '--stream', '--wait', '120']);
  expect(result).toMatchObject({ code: 0, stdout: 'you said\n' });
  const streams = service.requests.filter((request) => request.path.startsWith('/v1/events'));
  expect(streams.map((request) => request.headers['last-event-id'])).toEqual([undefined, '2']);
});

test('--stream --json prints each event as a line and the result last', async () => {
  const result = await run(['send', 'main', 'wait', '--stream', '--wait', '120', '--json']);
  const lines = result.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string });
  expect(lines.map((line) => line.type)).toEqual([
    'turn.started',
    'model.delta',
    'model.delta',
    'model.ended',
    'result',
  ]);
});

test('an empty message is a usage error', async () => {
  expect(await run(['send', 'main', '-'], { stdin: ' \n' })).toMatchObject({ code: 2, stdout: '' });
  expect(service.requests).toEqual([]);
});
