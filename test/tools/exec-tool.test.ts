// The exec tool with real processes: a command's whole process group ends with its call, however
// that ends (G24, G25), memory stays bounded and text valid (G28), and its environment has no
// secret (G31). The end of processes is never guessed by waiting: they hold a named pipe open,
// which ends when the last of them does.
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createExecTool } from '../../src/tools/exec-tool.ts';
import { runTool } from '../../src/tools/run-tool.ts';
import type { ToolOutcome } from '../../src/tools/tool.ts';
import { aToolCall } from './tool-call.ts';
import { contentOf, createLifeline, createWorkspace, type Workspace } from './workspace.ts';
import { SUITE_SANDBOX } from './suite-sandbox.ts';
import { SLOWNESS_MAX } from '../servers/busy-machine.ts';

/** In a sandbox, what has left the group ends like all else. */
const ESCAPED =
  SUITE_SANDBOX === undefined
    ? '[processes that had left the command, as setsid does, were ended]'
    : '[processes left in the background were ended]';

let workspace: Workspace;
const options = { environment: { PATH: process.env['PATH'] }, sandbox: SUITE_SANDBOX };
const exec = createExecTool({ timeoutSeconds: 60, ...options });

beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(() => workspace.remove());

function run(input: Record<string, unknown>, signal?: AbortSignal): Promise<ToolOutcome> {
  return exec.run(input, aToolCall({ workspaceDir: workspace.dir, ...(signal && { signal }) }));
}

async function outputOf(command: string): Promise<string> {
  return contentOf(await run({ command }));
}

describe('a command', () => {
  test('gives both outputs in their order and the exit code', async () => {
    expect(await run({ command: 'echo a; echo b >&2; echo c' })).toEqual({
      content: 'a\nb\nc\n[exit code 0]',
      isError: false,
    });
  });

  test('that fails is an error result with its exit code', async () => {
    expect(await run({ command: 'echo no; exit 3' })).toEqual({ content: 'no\n[exit code 3]', isError: true });
  });

  test('that a signal ended names the signal', async () => {
    expect(await run({ command: 'kill -SEGV $$' })).toEqual({ content: '[ended by SIGSEGV]', isError: true });
  });

  test('with a syntax error is an error result that says so', async () => {
    const outcome = await run({ command: 'if' });
    expect(outcome.isError).toBe(true);
    expect(outcome.content).toContain('syntax error');
  });

  test('can begin with a dash, and keeps its quotes', async () => {
    expect(await outputOf('--none')).toContain('command not found');
    expect(await outputOf(`printf '%s\\n' "it's" '$HOME'`)).toBe("it's\n$HOME\n[exit code 0]");
  });

  test('finds its standard input empty', async () => {
    expect(await outputOf('cat')).toBe('[exit code 0]');
  });

  test('gets the idempotency key of its call', async () => {
    expect(await outputOf('echo "$HOLDFAST_IDEMPOTENCY_KEY"')).toMatch(/^key-[-0-9a-f]{36}\n\[exit code 0\]$/);
  });

  test('sees no secret of the service (G31)', async () => {
    const secretive = createExecTool({
      timeoutSeconds: 60,
      environment: { PATH: process.env['PATH'], LANG: 'C.UTF-8', ANTHROPIC_API_KEY: 's3cret', DATABASE_URL: 's3cret' },
    });
    const { content } = await secretive.run({ command: 'env' }, aToolCall({ workspaceDir: workspace.dir }));
    expect(content).toContain('LANG=C.UTF-8');
    expect(content).not.toContain('s3cret');
  });
});

describe('where a command runs (G30)', () => {
  test('is the workspace, or a directory in it', async () => {
    expect(await outputOf('mkdir sub; pwd')).toContain(workspace.dir);
    expect((await run({ command: 'pwd', workdir: 'sub' })).content).toBe(`${workspace.dir}/sub\n[exit code 0]`);
  });

  test.each([['..'], ['/'], ['link'], ['link/..']])('is never outside: %s', async (workdir) => {
    await symlink(workspace.outsideDir, join(workspace.dir, 'link'));
    const outcome = await run({ command: 'echo ran', workdir });
    // `..` is resolved before symlinks are followed, so `link/..` is the workspace.
    if (workdir === 'link/..') return expect(outcome.content).toContain('ran');
    expect(outcome.isError).toBe(true);
    expect(outcome.content).toMatch(/^exec: workdir: .*outside/);
  });

  test('exists', async () => {
    await writeFile(join(workspace.dir, 'file'), '');
    expect((await run({ command: 'pwd', workdir: 'none' })).content).toBe('exec: workdir: none: no such directory');
    expect((await run({ command: 'pwd', workdir: 'file' })).content).toBe('exec: workdir: file is not a directory');
  });
});

describe('output (G28)', () => {
  test('that is too long keeps its start and its end and says what is missing', async () => {
    const output = await outputOf(`echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last`);
    expect(output.length).toBeLessThan(36_200);
    expect(output).toMatch(/^first\nx+\n\[\.\.\. 2964012 bytes left out \.\.\.\]\nx+\nlast\n\[exit code 0\]$/);
  });

  test('that is not text becomes valid text, with NUL kept', async () => {
    const output = await outputOf(`printf 'a\\0b\\377\\303\\251'`);
    expect(output).toBe('a\u0000b\ufffdé\n[exit code 0]');
    expect(JSON.parse(JSON.stringify(output))).toBe(output);
  });
});

describe('a time limit (G25)', () => {
  /** Long enough that a command reaches its `echo`. */
  const echoSeconds = 6;

  test('ends the command with its grandchildren and returns what was printed', async () => {
    const lifeline = createLifeline(workspace.dir);
    const command = `${lifeline.hold}; echo started; (sleep 300 & sleep 300) & sleep 300`;
    const outcome = await run({ command, timeoutSeconds: echoSeconds });
    expect(outcome).toEqual({ content: 'started\n[exec timed out after 6 s and was stopped]', isError: true });
    await lifeline.gone;
  });

  test('holds for a command that ignores TERM, within a second', async () => {
    const lifeline = createLifeline(workspace.dir);
    const startMs = performance.now();
    const command = `${lifeline.hold}; trap '' TERM; (while :; do sleep 1; done) & while :; do sleep 1; done`;
    const outcome = await run({ command, timeoutSeconds: 0.3 });
    expect(performance.now() - startMs).toBeLessThan(1_300 * SLOWNESS_MAX);
    expect(outcome.content).toContain('timed out after 0.3 s');
    await lifeline.gone;
  });

  test('that is longer than the configured one is reduced to it', async () => {
    const limited = createExecTool({ timeoutSeconds: 0.3, ...options });
    const input = { command: 'sleep 300', timeoutSeconds: 600 };
    const { content } = await limited.run(input, aToolCall({ workspaceDir: workspace.dir }));
    expect(content).toBe('[exec timed out after 0.3 s and was stopped]');
  });

  test('that the runner of tools enforces returns what was printed, too', async () => {
    const limited = { ...exec, timeoutMs: echoSeconds * 1_000 };
    const call = aToolCall({ workspaceDir: workspace.dir });
    const outcome = await runTool(limited, { command: 'echo started; sleep 300' }, call, { timeoutMs: 240_000 });
    expect(outcome).toEqual({ content: 'started\n[exec timed out after 6 s and was stopped]', isError: true });
  });
});

describe('an abort (G24)', () => {
  test('ends the command with its grandchildren and rejects with the reason', async () => {
    const lifeline = createLifeline(workspace.dir);
    const stop = new AbortController();
    const reason = new Error('stop');
    const running = run({ command: `${lifeline.hold}; (sleep 300 & sleep 300) & sleep 300` }, stop.signal);
    const rejected = expect(running).rejects.toBe(reason);
    await lifeline.held;
    stop.abort(reason);
    await rejected;
    await lifeline.gone;
  });

  test('lets a command clean up before it is killed', async () => {
    const lifeline = createLifeline(workspace.dir);
    const stop = new AbortController();
    const command = `trap 'echo clean > result; exit' TERM; ${lifeline.hold}; sleep 300 & wait`;
    const running = expect(run({ command }, stop.signal)).rejects.toThrow('stop');
    await lifeline.held;
    stop.abort(new Error('stop'));
    await running;
    expect(await readFile(join(workspace.dir, 'result'), 'utf8')).toBe('clean\n');
  });

  test('kills a command that ignores TERM', async () => {
    const lifeline = createLifeline(workspace.dir);
    const stop = new AbortController();
    const command = `trap '' TERM; ${lifeline.hold}; while :; do sleep 1; done`;
    const running = expect(run({ command }, stop.signal)).rejects.toThrow('stop');
    await lifeline.held;
    stop.abort(new Error('stop'));
    await running;
    await lifeline.gone;
  });

  test('before the start starts nothing', async () => {
    await expect(run({ command: 'touch ran' }, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    await expect(readFile(join(workspace.dir, 'ran'))).rejects.toThrow('ENOENT');
  });
});

describe('background processes', () => {
  test('end with the command, and the result says so', async () => {
    const lifeline = createLifeline(workspace.dir);
    const outcome = await run({ command: `${lifeline.hold}; sleep 300 > /dev/null & echo done` });
    expect(outcome).toEqual({
      content: 'done\n[processes left in the background were ended]\n[exit code 0]',
      isError: false,
    });
    await lifeline.gone;
  });

  test('that left the group do not delay the end of the call', async () => {
    const outcome = await run({
      command: `setsid sh -c 'echo $$ > pid; exec sleep 300' & while [ ! -s pid ]; do :; done`,
    });
    expect(outcome).toEqual({ content: `${ESCAPED}\n[exit code 0]`, isError: false });
  });
});

describe('bad input is an error result that names the field', () => {
  test.each([
    ['no command', {}, 'exec: command: '],
    ['a NUL', { command: 'a\0b' }, 'exec: command: must not contain a NUL character'],
    [
      'a command too long to start',
      { command: 'é'.repeat(70_000) },
      'exec: command: must not be longer than 131000 bytes',
    ],
    ['no time', { command: 'true', timeoutSeconds: 0 }, 'exec: timeoutSeconds: '],
    ['an unknown field', { command: 'true', timeout: 3 }, '"timeout"'],
  ])('%s', async (_title, input, text) => {
    const outcome = await run(input);
    expect(outcome.isError).toBe(true);
    expect(outcome.content).toContain(text);
  });

  test('the longest allowed command starts', async () => {
    expect(await outputOf(`true ${'x'.repeat(130_990)}`)).toBe('[exit code 0]');
  });
});

test("processes that left the command's group end with it, and the result says so (G24)", async () => {
  const lifeline = createLifeline(workspace.dir);
  const { content, isError } = await run({
    command: `${lifeline.hold}; setsid sh -c 'echo > away; sleep 300' & until [ -e away ]; do sleep 0.01; done; echo left`,
  });
  await lifeline.gone;
  expect(content).toBe(`left\n${ESCAPED}\n[exit code 0]`);
  expect(isError).toBe(false);
});

test('a command whose lease expired while its shell started does not begin (G7)', async () => {
  const lease = {
    epoch: 1,
    assertHeld: () => {
      throw new Error('the lease ran out');
    },
  };
  const call = aToolCall({ workspaceDir: workspace.dir, lease });
  const lifeline = createLifeline(workspace.dir);
  await expect(exec.run({ command: `${lifeline.hold}; echo ran > late` }, call)).rejects.toThrow('the lease ran out');
  // The first command that begins holds the lifeline, so the one before it did not begin.
  await run({ command: lifeline.hold });
  await lifeline.gone;
  expect(await readdir(workspace.dir)).not.toContain('late');
});

test('a missing workspace is an error result', async () => {
  const call = aToolCall({ workspaceDir: join(workspace.dir, 'none') });
  const outcome = await runTool(exec, { command: 'true' }, call, { timeoutMs: 240_000 });
  expect(outcome.isError).toBe(true);
  expect(outcome.content).toBe('exec: workdir: .: no such directory');
});
