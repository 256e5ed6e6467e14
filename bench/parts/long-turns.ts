// (e) Whether a step stays as cheap as the first ones were, in a turn of a thousand steps and on a
// history of thousands of entries. What the model call itself costs grows with the request, for
// every sender: it is measured with the same bodies and the same client but no database, and taken
// off. A step's time is what the model sees: from the end of its answer to the next request. Of
// whole turns the time is taken off that the model saw itself.
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { longTurnText, turnText } from '../rig/prompts.ts';
import { median } from '../rig/statistics.ts';

export const longTurns: BenchPart = { letter: 'e', title: 'long turns', run };

const stepsMax = 1_010;
/** The long history is sent whole, without compaction. */
const contextTokens = 2_000_000;
const settings = { agents: { defaults: { maxSteps: stepsMax + 10, timeoutSeconds: 600, contextTokens } } };
const windowSteps = 31;
const earlyFrom = 5;
const warmUpSteps = 150;
const histories = { short: 10, long: 5_000 };
const callsPerTurn = 2;

async function run(context: BenchContext): Promise<BarLine[]> {
  return await withService(context, { settings }, async (service) => [
    await measureSteps(context, service),
    await measureHistories(context, service),
  ]);
}

/** Median times of a step in the two windows. */
interface StepTimes {
  earlyMs: number;
  lateMs: number;
}

async function measureSteps(context: BenchContext, service: BenchService): Promise<BarLine> {
  const steps = context.isQuick ? 310 : stepsMax;
  const text = longTurnText(steps);
  const { floor } = context;
  const [session, warmUp] = await service.seed(2, 0);
  context.say(`a turn of ${steps} steps: model alone, floor, service`);
  // Otherwise the first steps would measure cold code.
  await floor.runLoopAlone(longTurnText(warmUpSteps));
  const fresh = { sessions: 1, turnsEach: 1, historyEntries: 0 };
  await floor.run({ ...fresh, text: longTurnText(warmUpSteps) });
  await service.send(warmUp!, longTurnText(warmUpSteps));
  const bare = await timeSteps(context, steps, () => floor.runLoopAlone(text));
  const ofFloor = minus(await timeSteps(context, steps, () => floor.run({ ...fresh, text })), bare);
  const ofService = minus(await timeSteps(context, steps, () => service.send(session!, text)), bare);
  return {
    part: 'e',
    what: `added per step, around step ${Math.round((steps - 10) / 100) * 100} to step 10`,
    floor: describe(ofFloor),
    holdfast: `${describe(ofService)}; model client ${describe(bare)}`,
    measured: ofService.lateMs / ofService.earlyMs,
    unit: 'x',
    bar: 1.2,
    sense: 'atMost',
  };
}

async function timeSteps(context: BenchContext, steps: number, runTurn: () => Promise<unknown>): Promise<StepTimes> {
  await context.model.takeCalls();
  await runTurn();
  const calls = await context.model.takeCalls();
  if (calls.length !== steps + 1) throw new Error(`the model was asked ${calls.length} times instead of ${steps + 1}`);
  const gaps = calls.slice(1).map((call, index) => call.startedAtMs - calls[index]!.endedAtMs);
  return {
    earlyMs: median(gaps.slice(earlyFrom, earlyFrom + windowSteps)),
    lateMs: median(gaps.slice(-windowSteps)),
  };
}

function minus(times: StepTimes, bare: StepTimes): StepTimes {
  return { earlyMs: times.earlyMs - bare.earlyMs, lateMs: times.lateMs - bare.lateMs };
}

function describe({ earlyMs, lateMs }: StepTimes): string {
  return `${formatNumber(earlyMs)} -> ${formatNumber(lateMs)} ms`;
}

async function measureHistories(context: BenchContext, service: BenchService): Promise<BarLine> {
  const turns = context.isQuick ? 8 : 20;
  context.say(`turns on ${histories.short} and on ${histories.long} entries of history`);
  const short = await timeTurns(context, service, { entries: histories.short, turns });
  const long = await timeTurns(context, service, { entries: histories.long, turns });
  return {
    part: 'e',
    what: `added by a turn, ${histories.long} entries to ${histories.short}`,
    floor: '',
    holdfast:
      `${formatNumber(short.addedMs)} -> ${formatNumber(long.addedMs)} ms (model ${formatNumber(short.modelMs)} -> ` +
      `${formatNumber(long.modelMs)} ms; first turn ${formatNumber(short.firstMs)} -> ${formatNumber(long.firstMs)} ms)`,
    measured: long.addedMs / short.addedMs,
    unit: 'x',
    bar: 3,
    sense: 'atMost',
  };
}

/**
 * `modelMs`: from the head of a request to the end of its answer, all calls of a turn. `firstMs`:
 * what the turn adds that reads the history.
 */
async function timeTurns(
  context: BenchContext,
  service: BenchService,
  { entries, turns }: { entries: number; turns: number },
): Promise<{ modelMs: number; addedMs: number; firstMs: number }> {
  const sessions = await service.seed(1, entries);
  await context.model.takeCalls();
  const { latenciesMs } = await service.run({ sessions, turnsEach: turns, text: turnText });
  const calls = await context.model.takeCalls();
  if (calls.length !== turns * callsPerTurn) throw new Error(`the model was asked ${calls.length} times`);
  const modelMs = latenciesMs.map((_, turn) =>
    calls
      .slice(turn * callsPerTurn, (turn + 1) * callsPerTurn)
      .reduce((sum, { startedAtMs, endedAtMs }) => sum + endedAtMs - startedAtMs, 0),
  );
  const addedMs = latenciesMs.map((ms, turn) => ms - modelMs[turn]!);
  return { modelMs: median(modelMs), addedMs: median(addedMs), firstMs: addedMs[0]! };
}
