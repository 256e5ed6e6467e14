import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { explainApiError } from '../../src/cli/explain-api-error.ts';
import { HoldfastError } from '../../src/client/create-client.ts';
import { runCli, type CliOptions } from './run-cli.ts';
import { KEY, startStandIn, TURN_ID, type StandIn } from './stand-in-service.ts';

let service: StandIn;
let cwd: string;

beforeEach(async () => {
  service = await startStandIn();
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-client-'));
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
  await rm(cwd, { recursive: true });
});

function run(args: string[], options: CliOptions = {}) {
  return runCli(args, { cwd, ...options, env: { HOLDFAST_URL: service.url, HOLDFAST_API_KEY: KEY, ...options.env } });
}

describe('sessions', () => {
  test('list is a table on stdout; everything except data is on stderr', async () => {
    const result = await run(['sessions', 'list']);
    expect(result.code).toBe(0);
    expect(result.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['SESSION', 'STATUS', 'WAITING', 'TOKENS', 'LAST WORDS', 'UPDATED', 'KEY'],
      'A label that takes some room,running,3,115,list the files,2026-01-12T20:19:17.000Z,agent:main:main'.split(','),
      [''],
    ]);
    expect(result.stderr).toBe('more: --cursor next-page\n');
  });

  test("list --json is the service's answer, on one line", async () => {
    const result = await run(['sessions', 'list', '--json']);
    expect(JSON.parse(result.stdout)).toMatchObject({ items: [{ key: 'agent:main:main' }], nextCursor: 'next-page' });
    expect(result.stdout.trimEnd()).not.toContain('\n');
    expect(result.stderr).toBe('');
  });

  test('list passes limit and cursor on', async () => {
    await run(['sessions', 'list', '--limit', '7', '--cursor', 'abc']);
    expect(service.requests[0]?.path).toBe('/v1/sessions?limit=7&cursor=abc');
  });

  test('show prints the fields that are set', async () => {
    const { stdout } = await run(['sessions', 'show', 'main']);
    expect(stdout).toMatch(/^status +running$/m);
    expect(stdout).not.toContain('parent');
  });

  test('transcript shows texts, calls and results', async () => {
    const { stdout } = await run(['sessions', 'transcript', 'main']);
    expect(stdout).toContain('  list the files');
    expect(stdout).toContain('  → exec {"command":"ls"}');
    expect(stdout).toContain('  ← a.txt');
  });

  test('abort prints what it stopped; --keep-queued keeps waiting messages (G24)', async () => {
    expect((await run(['sessions', 'abort', 'main'])).stdout).toBe(`stopped turn ${TURN_ID}; 2 cancelled\n`);
    await run(['sessions', 'abort', 'main', '--keep-queued']);
    expect(service.requests.map((request) => request.body)).toEqual([{}, { queued: 'keep' }]);
  });
});

describe('turns', () => {
  test('list passes its filters on', async () => {
    const { stdout } = await run([
      'turns',
      'list',
      '--session',
      'main',
      '--status',
      'failed',
      '--since',
      '2026-01-01T00:00:00Z',
    ]);
    expect(stdout).toContain(TURN_ID);
    expect(service.requests[0]?.path).toBe(
      '/v1/turns?limit=50&session=main&status=failed&since=2026-01-01T00%3A00%3A00.000Z',
    );
  });

  test('show has a line for each model call and tool call, with times', async () => {
    const { stdout } = await run(['turns', 'show', TURN_ID]);
    expect(stdout).toContain('   0.100  model #1  with the key team  tool_use  110 in (100 from the cache), 5 out  1s');
    expect(stdout).toContain('   1.200    tool exec  done  500ms  ls  → a.txt');
  });

  test('watch prints the events until the turn ends, across a broken stream', async () => {
    const result = await run(['turns', 'watch', TURN_ID]);
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('turn started  w1  attempt #1');
    expect(result.stdout).toContain('model #1  ok  end_turn');
    expect(result.stdout).toMatch(/turn {2}completed/);
  });
});

describe('the address and the key of a request', () => {
  test('--url and --api-key win over the environment', async () => {
    const env = { HOLDFAST_URL: 'http://127.0.0.1:1', HOLDFAST_API_KEY: 'wrong' };
    expect((await run(['sessions', 'list', '--url', service.url, '--api-key', KEY], { env })).code).toBe(0);
    expect((await run(['--url', service.url, '--api-key', KEY, 'sessions', 'list'], { env })).code).toBe(0);
  });

  test('without either the data directory says both', async () => {
    await mkdir(join(cwd, '.holdfast'));
    await writeFile(join(cwd, '.holdfast/api-url'), `${service.url}\n`);
    await writeFile(join(cwd, '.holdfast/api-key'), `${KEY}\n`);
    expect((await runCli(['sessions', 'list'], { cwd })).code).toBe(0);
  });

  test('host and port of the environment point to the service, too', async () => {
    const { port } = new URL(service.url);
    const env = { HOLDFAST_HOST: '0.0.0.0', HOLDFAST_PORT: port, HOLDFAST_API_KEY: KEY };
    expect((await runCli(['sessions', 'list'], { cwd, env })).code).toBe(0);
  });
});

describe('exit codes', () => {
  test.each([
    [['sessions', 'list', '--limit', '13'], 2, 'holdfast: limit: is unlucky\n  cursor: is unlucky\nFix: '],
    [['sessions', 'show', 'nobody'], 5, 'there is no session "nobody"'],
    [['sessions', 'show', 'broken'], 1, 'something broke (request request-7)'],
    [['sessions', 'show', 'down'], 4, 'the database is away'],
    [['sessions', 'list', '--api-key', 'wrong'], 10, 'a key is needed'],
    [['sessions', 'list', '--url', 'http://127.0.0.1:1'], 4, 'cannot reach http://127.0.0.1:1'],
    [['sessions', 'list', '--url', 'nonsense'], 2, 'is not a URL of a service'],
    [['turns', 'list', '--since', 'yesterday'], 2, '"yesterday" is not a time'],
    [['turns', 'list', '--since', '5'], 2, '"5" is not a time'],
  ])('%j exits %d and ends with a fix', async (args, code, words) => {
    const result = await run(args);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(words);
    expect(result.stderr).toMatch(/\nFix: .+\n$/);
  });

  test('with --json the error is one line of problem+json on stderr', async () => {
    const result = await run(['sessions', 'show', 'nobody', '--json']);
    expect(result).toMatchObject({ code: 5, stdout: '' });
    expect(JSON.parse(result.stderr)).toMatchObject({
      status: 404,
      code: 'not_found',
      exitCode: 5,
      fix: expect.any(String) as string,
    });
  });

  test.each([
    ['not_found', '/v1/sessions/nobody', 'sessions list'],
    ['not_found', '/v1/attention/work-unserved/acknowledge', 'attention list'],
    ['unknown_agent', '/v1/sessions/main/subagents', 'config show'],
  ])('a 404 %s of %s advises "holdfast %s"', (code, instance, list) => {
    const facts = { code, status: 404, title: '', detail: 'There is none.', fix: '', problem: { instance } };
    const settings = { url: 'http://127.0.0.1:1', urlSource: '--url', dataDir: '.holdfast' };
    const { fix } = explainApiError(new HoldfastError(facts), settings);
    expect(fix).toBe(`check the name; "holdfast ${list}" shows the existing ones`);
  });

  test('a server that is not Holdfast is said to be none', async () => {
    const result = await run(['sessions', 'list', '--url', 'https://127.0.0.1:1']);
    expect(result.code).toBe(4);
  });
});

test('colour is only for terminals, or when it is forced, and never with NO_COLOR', async () => {
  const plain = (await run(['sessions', 'list'])).stdout;
  const forced = (await run(['sessions', 'list'], { env: { FORCE_COLOR: '1' } })).stdout;
  const never = (await run(['sessions', 'list'], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).stdout;
  const flag = (await run(['sessions', 'list', '--no-color'], { env: { FORCE_COLOR: '1' } })).stdout;
  expect(forced).toContain('\u001b[32mrunning');
  expect([plain, never, flag].every((text) => !text.includes('\u001b'))).toBe(true);
});

describe('a file that cannot be used is named with its whole path, what is wrong with it and what to do', () => {
  test.each([
    ['read', 'there is no such file', ['batch', 'submit'], 'nope.jsonl', 'one JSON object per line'],
    ['read', 'it is not a file', ['batch', 'submit'], '.', 'one JSON object per line'],
    ['read', 'a part of its path is not a folder', ['batch', 'submit'], 'plain/x', 'one JSON object per line'],
    ['read', 'it is a folder', ['batch', 'results', TURN_ID, '--out'], '.', 'pass the name of a file'],
    ['write', 'there is no such folder', ['batch', 'results', TURN_ID, '--out'], 'no/x', 'this user may write'],
    ['write', 'there is no such folder', ['sessions', 'export', 'main', '--out'], 'no/x', 'this user may write'],
    ['write', 'a part of its path is not a folder', ['backup'], 'plain/x', 'this user may write'],
  ])('cannot %s: %s (%j %s)', async (act, reason, args, file, fix) => {
    await writeFile(join(cwd, 'plain'), 'x');
    const { code, stderr } = await run([...args, file]);
    expect(code).toBe(2);
    expect(stderr).toContain(`holdfast: cannot ${act} ${join(await realpath(cwd), file)}: ${reason}\nFix: `);
    expect(stderr).toContain(fix);
  });
});
