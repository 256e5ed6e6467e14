// `holdfast demo`: plays the main job with real processes on a database of its own, shows what
// happens, and checks it through the API. Ends with 0 only if every check held; leaves nothing
// running and nothing on the disk, however it ends.
import { performance } from 'node:perf_hooks';
import { listCauses } from '../../database/passing-faults.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { CHAPTERS } from '../../../demo/chapters.ts';
import type { DemoRecord, Scene } from '../../../demo/chapter.ts';
import { countUp, type DemoNumbers } from '../../../demo/count-up.ts';
import { formatMs, Progress } from '../../../demo/progress.ts';
import { StageManager } from '../../../demo/stage.ts';
import type { Terminal } from '../terminal.ts';

/** The longest that the demo may take: on a machine that is this slow something is wrong. */
const DEMO_MS_MAX = 600_000;

const NEXT = [
  { command: 'npx holdfast start', does: 'the service, with its own database, until Ctrl-C' },
  { command: 'npx holdfast send main "Hello" --stream', does: 'talk to it, in another terminal' },
  { command: 'npx holdfast turns list', does: 'list its turns; then: npx holdfast turns show <turn>' },
];

/** What `--json` prints. */
interface DemoDocument {
  ok: boolean;
  ms: number;
  dataDir: string;
  chapters: PlayedChapter[];
  numbers: DemoNumbers | null;
  failures: string[];
  next: string[];
}

interface PlayedChapter {
  id: string;
  title: string;
  ms: number;
  /** The chapters that it has shown; null when a check failed or it was not played to its end. */
  proven: string | null;
  checks: { ok: boolean; text: string; detail?: unknown }[];
}

/**
 * Plays all chapters. Resolves with 0, with 1 when something did not hold, with 130 or 143 when it
 * was stopped.
 */
export async function runDemo(terminal: Terminal): Promise<ExitCode> {
  const startedAtMs = performance.now();
  const stop = stopSignals();
  const progress = new Progress(terminal);
  const manager = await StageManager.open(stop.signal);
  const document: DemoDocument = {
    ok: false,
    ms: 0,
    dataDir: manager.dataDir,
    chapters: [],
    numbers: null,
    failures: [],
    next: NEXT.map(({ command }) => command),
  };
  const shown = terminal.isJson ? null : terminal;
  shown?.print(
    `${terminal.paint('bold', 'Holdfast demo')}: real processes, a real database, real tools; only the model is scripted`,
  );
  progress.print(`everything is in ${manager.dataDir}, which is removed at the end`);
  try {
    document.numbers = await Promise.race([playAll(manager, progress, document), stop.stopped]);
  } catch (error) {
    // The chapter may continue briefly, without output, until its processes have ended.
    progress.mute();
    document.failures.push(stop.exitCode() === null ? describeEnd(document, error) : 'it was stopped');
    stop.halt();
  } finally {
    // What the processes have logged may say why.
    if (document.failures.length > 0 && stop.exitCode() === null) manager.logs().forEach(terminal.error);
    const left = await manager.strike();
    if (left.length > 0) document.failures.push(`could not be ended: ${left.join(', ')}`);
    stop.forget();
  }
  document.ms = Math.round(performance.now() - startedAtMs);
  document.ok = document.failures.length === 0 && document.numbers !== null;
  if (terminal.isJson) terminal.json(document);
  else report(document, terminal);
  return stop.exitCode() ?? (document.ok ? EXIT.ok : EXIT.failed);
}

async function playAll(manager: StageManager, progress: Progress, document: DemoDocument): Promise<DemoNumbers> {
  const stage = await manager.setUp(progress);
  const record: DemoRecord = {
    inputs: new Map(),
    turnEnds: new Map(),
    doubledEffects: 0,
    recoveryMs: null,
    rescuedTurnId: null,
  };
  const createScene = (played: PlayedChapter): Scene => ({
    stage,
    progress,
    record,
    check(isTrue, text, detail) {
      progress.check(isTrue, text);
      played.checks.push({ ok: isTrue, text, ...(isTrue ? {} : { detail }) });
      if (isTrue) return;
      progress.print(`found: ${JSON.stringify(detail)}`);
      document.failures.push(`${played.title}: ${text}`);
    },
  });
  const play = async <Value>({ id, title, proves, work }: Part<Value>): Promise<Value> => {
    const startedAtMs = performance.now();
    const played: PlayedChapter = { id, title, ms: 0, proven: null, checks: [] };
    document.chapters.push(played);
    progress.title(title);
    const value = await work(createScene(played));
    played.ms = Math.round(performance.now() - startedAtMs);
    if (played.checks.every(({ ok }) => ok)) played.proven = proves;
    return value;
  };
  for (const [index, { id, title, proves, play: work }] of CHAPTERS.entries()) {
    await play({ id, title: `${index + 1}. ${title}`, proves, work });
  }
  return play({
    id: 'numbers',
    title: 'In the end',
    proves: 'nothing is lost, nothing is doubled',
    work: countUp,
  });
}

/** A chapter, or the count at the end. */
interface Part<Value> {
  id: string;
  title: string;
  proves: string;
  work: (scene: Scene) => Promise<Value>;
}

/** The error with its causes, and where it ended the demo. */
function describeEnd({ chapters }: DemoDocument, error: unknown): string {
  const messages = listCauses(error).map(({ message }) => message);
  return `${chapters.at(-1)?.title ?? 'setting up'}: ${messages.join(': ') || String(error)}`;
}

function report({ ok, ms, chapters, numbers, failures }: DemoDocument, terminal: Terminal): void {
  if (chapters.length > 0) reportChapters(chapters, terminal);
  if (numbers !== null) {
    const { messages, turns, modelCalls, toolCalls, lost, doubled, recoveryMs } = numbers;
    terminal.print('');
    terminal.print(
      `  ${messages} messages · ${turns} turns · ${modelCalls} model calls · ${toolCalls} tool calls · ` +
        `lost ${terminal.paint('bold', String(lost))} · doubled ${terminal.paint('bold', String(doubled))}` +
        (recoveryMs === null ? '' : ` · taken over after ${terminal.paint('bold', formatMs(recoveryMs))}`),
    );
  }
  for (const failure of failures) terminal.print(`  ${terminal.paint('red', '✘')} ${failure}`);
  const verdict = ok ? 'every check passed' : 'some checks failed or were not reached';
  terminal.print(
    `  ${terminal.paint('dim', `${verdict}, ${formatMs(ms)}; every process has ended and every file is removed`)}`,
  );
  if (!ok) return;
  terminal.print('');
  terminal.print(terminal.paint('bold', 'Next'));
  const width = Math.max(...NEXT.map(({ command }) => command.length));
  for (const { command, does } of NEXT) terminal.print(`  ${command.padEnd(width)}  ${terminal.paint('dim', does)}`);
}

/** The chapters that were shown. */
function reportChapters(chapters: readonly PlayedChapter[], terminal: Terminal): void {
  terminal.print('');
  terminal.table<PlayedChapter>(
    [
      {
        title: 'CHAPTER',
        value: ({ id, proven }) => `${proven === null ? '✘' : '✔'} ${id}`,
        style: ({ proven }) => (proven === null ? 'red' : 'green'),
      },
      { title: 'RESULT', value: ({ proven, checks }) => proven ?? missing(checks) },
      { title: 'CHECKS', value: ({ checks }) => checks.length, dropOrder: 2 },
      { title: 'TOOK', value: ({ ms }) => formatMs(ms), align: 'right', dropOrder: 1 },
    ],
    chapters,
  );
}

function missing(checks: PlayedChapter['checks']): string {
  const fallen = checks.find(({ ok }) => !ok);
  return fallen === undefined ? 'not completed' : `failed: ${fallen.text}`;
}

/**
 * Signals such as Ctrl-C, and the time limit, stop the demo; its processes are still ended in
 * order.
 */
function stopSignals() {
  const controller = new AbortController();
  const stopped = Promise.withResolvers<never>();
  // The promise may have no awaiter.
  stopped.promise.catch(() => {});
  let exitCode: ExitCode | null = null;
  const halt = (why: string): void => {
    const reason = new Error(why);
    controller.abort(reason);
    stopped.reject(reason);
  };
  const stop = (code: ExitCode) => (): void => {
    exitCode ??= code;
    halt('the demo was stopped');
  };
  const handlers = [
    ['SIGINT', stop(EXIT.interrupted)],
    ['SIGTERM', stop(EXIT.terminated)],
    ['SIGHUP', stop(EXIT.terminated)],
  ] as const;
  for (const [signal, handler] of handlers) process.on(signal, handler);
  const timer = setTimeout(() => halt(`the demo took longer than ${formatMs(DEMO_MS_MAX)}`), DEMO_MS_MAX);
  return {
    signal: controller.signal,
    /** Rejects when the demo must stop. */
    stopped: stopped.promise,
    /** Ends what still waits for something. */
    halt: () => halt('the demo has ended'),
    /** The exit code of a signal; null when there was none. */
    exitCode: () => exitCode,
    forget() {
      clearTimeout(timer);
      for (const [signal, handler] of handlers) process.off(signal, handler);
    },
  };
}
