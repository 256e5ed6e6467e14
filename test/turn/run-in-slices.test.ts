// Goal: long messages leave the process time for everything else. Method: a loop of the event loop
// measures, in processor time of the thread, how long the work runs in one piece.
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { buildUserPrompt, type UserPromptInput } from '../../src/prompt/user-prompt.ts';
import { runInSlices } from '../../src/kernel/turn/open/write-prompt.ts';
import { runToEnd } from '../core/run-to-end.ts';

const MESSAGES = 72;
const SLICE_MS_MAX = 50;
/**
 * A collection of garbage, or another user of the machine, lengthens a piece of one time; a piece
 * that is too long is so each time.
 */
const TIMES = 3;

function promptOf(texts: readonly string[]): UserPromptInput {
  return {
    kind: 'message',
    messages: texts.map((text) => ({ text })),
    events: [],
    zone: 'utc',
    isNewSession: false,
    wasAborted: false,
    thinking: null,
    resetTriggers: [],
    ownerIds: [],
    now: { epochMs: 0, timezone: 'UTC' },
  };
}

/** The processor time of the longest piece, in milliseconds, until the work is done. */
async function longestPieceMs(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  void work.finally(() => (isDone = true));
  let longestMs = 0;
  while (!isDone) {
    const before = process.threadCpuUsage();
    await setImmediate();
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1000);
  }
  return longestMs;
}

test('a prompt of four million characters is written in slices of at most 50 ms of a processor', async () => {
  const texts = Array.from({ length: MESSAGES }, (_, n) => `${n} ${'wörd '.repeat(11_000)}`);
  // The first long texts also compile the code.
  const whole = runToEnd(buildUserPrompt(promptOf(texts)));
  const longest: number[] = [];
  for (let n = 0; n < TIMES; n += 1) {
    const work = setImmediate().then(() => runInSlices(systemClock, buildUserPrompt(promptOf(texts))));
    longest.push(await longestPieceMs(work));
    expect(await work).toEqual(whole);
  }
  expect(Math.min(...longest)).toBeLessThan(SLICE_MS_MAX);
});

test('short messages cost no turn of the event loop', async () => {
  let hasTurned = false;
  const turn = setImmediate().then(() => (hasTurned = true));
  await runInSlices({ ...systemClock, monotonicMs: () => 0 }, buildUserPrompt(promptOf(['Hello', 'again'])));
  expect(hasTurned).toBe(false);
  await turn;
});
