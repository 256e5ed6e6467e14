// Deadline, abort and errors of a call, with cooperative tools and others.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runTool } from '../../src/tools/run-tool.ts';
import { type Tool, type ToolCall, type ToolOutcome, ToolTimeoutError } from '../../src/tools/tool.ts';
import { aToolCall } from './tool-call.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  // A timer that is left over would keep a worker from exiting.
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

function aTool(run: (input: unknown, call: ToolCall) => Promise<ToolOutcome>, timeoutMs?: number): Tool {
  const spec = { name: 'probe', description: '', input_schema: { type: 'object' as const } };
  return { spec, summary: '', isIdempotent: false, run, ...(timeoutMs !== undefined && { timeoutMs }) };
}

const never = () => new Promise<never>(() => {});
const untilAborted = ({ signal }: ToolCall) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

function start(tool: Tool, signal = new AbortController().signal): Promise<ToolOutcome> {
  return runTool(tool, { a: 1 }, aToolCall({ workspaceDir: '/workspace', signal }), { timeoutMs: 30_000 });
}

test('a tool gets its input and its call, and its outcome is returned', async () => {
  const tool = aTool(async (input, call) => ({ content: `${JSON.stringify(input)} ${call.callId}`, isError: false }));
  expect(await start(tool)).toEqual({ content: '{"a":1} toolu_1', isError: false });
});

describe('a throw is an error result with its message', () => {
  test.each([
    ['rejected', () => Promise.reject(new Error('no disk')), 'probe failed: no disk'],
    [
      'thrown before the first await',
      () => {
        throw new Error('no disk');
      },
      'probe failed: no disk',
    ],
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- What plugins do.
    ['no Error', () => Promise.reject('no disk'), 'probe failed: no disk'],
    ['nothing', () => Promise.reject(), 'probe failed: undefined'],
  ])('%s', async (_title, run, content) => {
    expect(await start(aTool(run))).toEqual({ content, isError: true });
  });
});

test('an answer of the wrong shape is an error result', async () => {
  // Plugins may be plain JavaScript.
  const run = (() => Promise.resolve(undefined)) as unknown as Tool['run'];
  expect((await start(aTool(run))).isError).toBe(true);
});

test('a long result is cut (G28)', async () => {
  const outcome = await start(aTool(async () => ({ content: 'x'.repeat(1_000_000), isError: false })));
  expect(outcome.content.length).toBeLessThan(400_100);
});

describe('the deadline (G25)', () => {
  const timedOut = { content: expect.stringMatching(/^probe timed out after 30 s and was stopped/), isError: true };

  test('ends a tool that reacts to the signal immediately, and names the tool and the limit', async () => {
    const running = start(aTool((_input, call) => untilAborted(call)));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await running).toEqual(timedOut);
  });

  test('ends a tool that ignores the signal within a second', async () => {
    const running = start(aTool(never));
    await vi.advanceTimersByTimeAsync(31_000);
    expect(await running).toEqual(timedOut);
  });

  test('lets a tool report its progress', async () => {
    const tool = aTool(async (_input, call) => {
      await untilAborted(call).catch(() => undefined);
      return { content: 'half of it', isError: true };
    });
    const running = start(tool);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await running).toEqual({ content: 'half of it', isError: true });
  });

  test('is seen by the tool as a ToolTimeoutError', async () => {
    let reason: unknown;
    const tool = aTool(async (_input, call) => {
      reason = await untilAborted(call).catch((error: unknown) => error);
      return { content: 'x', isError: true };
    });
    const running = start(tool);
    await vi.advanceTimersByTimeAsync(30_000);
    await running;
    expect(reason).toBeInstanceOf(ToolTimeoutError);
  });

  test("is the tool's own where it declares one", async () => {
    const running = start(aTool((_input, call) => untilAborted(call), 5_000));
    await vi.advanceTimersByTimeAsync(5_000);
    expect((await running).content).toContain('probe timed out after 5 s');
  });

  test('can be longer than the maximum of a timer', async () => {
    const tool = aTool(async () => ({ content: 'x', isError: false }), Infinity);
    expect((await start(tool)).content).toBe('x');
  });
});

describe('an abort (G24)', () => {
  const reason = new Error('stop');

  test('rejects with its reason, for any error of the tool', async () => {
    const stop = new AbortController();
    const tool = aTool((_input, call) => untilAborted(call).catch(() => Promise.reject(new Error('AbortError'))));
    const running = expect(start(tool, stop.signal)).rejects.toBe(reason);
    stop.abort(reason);
    await running;
  });

  test('rejects within 3 s when the tool ignores the signal', async () => {
    const stop = new AbortController();
    const running = expect(start(aTool(never), stop.signal)).rejects.toBe(reason);
    stop.abort(reason);
    await vi.advanceTimersByTimeAsync(3_000);
    await running;
  });

  test('before the start runs nothing', async () => {
    const run = vi.fn<Tool['run']>(never);
    await expect(start(aTool(run), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(run).not.toHaveBeenCalled();
  });

  test('keeps the answer of a tool that finishes nevertheless', async () => {
    const stop = new AbortController();
    const tool = aTool(async (_input, call) => {
      await untilAborted(call).catch(() => undefined);
      return { content: 'done', isError: false };
    });
    const running = start(tool, stop.signal);
    stop.abort(reason);
    expect(await running).toEqual({ content: 'done', isError: false });
  });

  test("that arrives after a tool's deadline takes precedence", async () => {
    const stop = new AbortController();
    const running = expect(start(aTool(never), stop.signal)).rejects.toBe(reason);
    await vi.advanceTimersByTimeAsync(30_000);
    stop.abort(reason);
    await vi.advanceTimersByTimeAsync(3_000);
    await running;
  });

  test('has no effect when the abandoned tool throws later', async () => {
    const stop = new AbortController();
    const late = Promise.withResolvers<ToolOutcome>();
    const running = expect(
      start(
        aTool(() => late.promise),
        stop.signal,
      ),
    ).rejects.toBe(reason);
    stop.abort(reason);
    await vi.advanceTimersByTimeAsync(3_000);
    await running;
    // An unhandled rejection would fail the test run.
    late.reject(new Error('late'));
  });
});
