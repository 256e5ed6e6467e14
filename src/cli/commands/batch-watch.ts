// `holdfast batch watch`: a batch as it proceeds, until it is over. The exit code says how it ended.
import type { BatchView as BatchAnswer } from '../../contract/batches.ts';
import { connectApi, type ApiClient, type ClientFlags } from '../api-client.ts';
import { exitOf, percentOf, progressBar, progressLine } from '../batch-progress.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { pollUntilEnd } from '../poll-until-end.ts';
import { cut } from '../table.ts';
import type { Terminal } from '../terminal.ts';

const LOOK_MS = 500;
/** In a pipe: one line per this much progress, or per this time. */
const STEP_PERCENT = 5;
const STEP_MS = 30_000;

/** Watches a batch; `waitSeconds` absent: without a limit. */
export async function runBatchWatch(
  id: string,
  waitSeconds: number | undefined,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  // A service that is not there now is an error; one that leaves later may be restarting.
  await api.getBatch({ id });
  return watchBatch(api, { id, waitSeconds }, terminal);
}

/** The same for a batch that is known to exist. */
export async function watchBatch(
  api: ApiClient,
  { id, waitSeconds }: { id: string; waitSeconds: number | undefined },
  terminal: Terminal,
): Promise<ExitCode> {
  const show = createShow(terminal);
  const exit = await pollUntilEnd({ read: () => api.getBatch({ id }), everyMs: LOOK_MS, waitSeconds }, (batch) => {
    const end = exitOf(batch);
    show(batch, end !== null);
    return end;
  });
  if (exit === EXIT.waitEnded || exit === EXIT.interrupted)
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
