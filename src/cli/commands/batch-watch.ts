// `holdfast batch watch`: a batch as it proceeds, until it is over. The exit code says how it ended.
import { setTimeout as delay } from 'node:timers/promises';
import type { BatchAnswer } from '../../api/answer-types.ts';
import { connectApi, type ApiClient, type ClientFlags } from '../api-client.ts';
import { exitOf, percentOf, progressBar, progressLine } from '../batch-progress.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { cut } from '../table.ts';
import type { Terminal } from '../terminal.ts';

const LOOK_MS = 500;
/** In a pipe: one line per this much progress, or per this time. */
const STEP_PERCENT = 5;
const STEP_MS = 30_000;

/** Watches a batch; `waitSeconds` absent: without a limit. */
export function runBatchWatch(
  id: string,
  waitSeconds: number | undefined,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  return watchBatch(connectApi(flags), { id, waitSeconds }, terminal);
}

/** The same with a client. */
export async function watchBatch(
  api: ApiClient,
  { id, waitSeconds }: { id: string; waitSeconds: number | undefined },
  terminal: Terminal,
): Promise<ExitCode> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const endsAtMs = waitSeconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + waitSeconds * 1000;
  const show = createShow(terminal);
  let seen: BatchAnswer | null = null;
  for (;;) {
    // It may be restarting, if it was there before.
    const batch: BatchAnswer | null = seen === null ? await api.getBatch({ id }) : await look(api, id);
    seen ??= batch;
    const exit = batch === null ? null : exitOf(batch);
    if (batch !== null) show(batch, exit !== null);
    if (exit !== null) return exit;
    if (performance.now() >= endsAtMs) return left(terminal, id, EXIT.waitEnded);
    await delay(Math.min(LOOK_MS, endsAtMs - performance.now()), undefined, { signal: stop.signal }).catch(
      () => undefined,
    );
    if (stop.signal.aborted) return left(terminal, id, EXIT.interrupted);
  }
}

/** The batch, or null while the service cannot be reached. */
async function look(api: ApiClient, id: string): Promise<BatchAnswer | null> {
  try {
    return await api.getBatch({ id });
  } catch (error) {
    if (error instanceof CliError && error.code === 'service_unreachable') return null;
    throw error;
  }
}

function left(terminal: Terminal, id: string, exit: ExitCode): ExitCode {
  terminal.note(`the batch continues: holdfast batch watch ${id}`);
  return exit;
}

/** Shows progress: a bar in place, a line now and then, or JSON lines. */
function createShow(terminal: Terminal): (batch: BatchAnswer, isLast: boolean) => void {
  let shownPercent = -STEP_PERCENT;
  let shownAtMs = Number.NEGATIVE_INFINITY;
  return (batch, isLast) => {
    if (terminal.isTty && !terminal.isJson) {
      // A line that the terminal wraps would be two.
      terminal.redraw([
        cut(`${progressBar(batch, terminal.width)} ${progressLine(batch, terminal)}`, terminal.width - 1),
      ]);
      if (isLast) printEnd(batch, terminal);
      return;
    }
    const percent = percentOf(batch);
    const isDue = percent >= shownPercent + STEP_PERCENT || performance.now() - shownAtMs >= STEP_MS;
    if (!isDue && !isLast) return;
    shownPercent = percent;
    shownAtMs = performance.now();
    if (terminal.isJson) terminal.jsonLine(batch);
    else terminal.print(progressLine(batch, terminal));
    if (isLast) printEnd(batch, terminal);
  };
}

function printEnd(batch: BatchAnswer, terminal: Terminal): void {
  const { id, outcome, pauseReason, pauseDetail, errors } = batch;
  terminal.note(outcome === null ? `paused: ${pauseReason ?? ''}. ${pauseDetail ?? ''}` : `ended: ${outcome}`);
  for (const { code, count, sample } of errors) terminal.note(`${code}  ${count}×  ${sample}`);
  terminal.note(`results: holdfast batch results ${id}`);
}
