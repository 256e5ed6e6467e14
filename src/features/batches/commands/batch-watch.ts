// `holdfast batch watch`: a batch as it proceeds, until it is over. The exit code says how it ended.
import type { BatchView } from '../../../contract/batches.ts';
import type { ApiClient } from '../../../cli/api-client.ts';
import { decideExit, computePercent, progressBar, progressLine } from './batch-progress.ts';
import { EXIT, type ExitCode } from '../../../cli/cli-error.ts';
import { command } from '../../../cli/command.ts';
import { ITS_ID, wholeNumber } from '../../../cli/options.ts';
import { pollUntilEnd } from '../../../cli/poll-until-end.ts';
import { cut } from '../../../cli/table.ts';
import type { Terminal } from '../../../cli/terminal.ts';

/** A year. */
export const WAIT_SECONDS_MAX = 31_536_000;
const POLL_MS = 500;
/** In a pipe: one line per this much progress, or per this time. */
const STEP_PERCENT = 5;
const STEP_MS = 30_000;

export const watch = command({
  summary: 'follow a batch until it ends; the exit code says how it ended',
  takes: {
    ...ITS_ID,
    waitSeconds: ['--wait <seconds>', 'stop watching after this time', wholeNumber(0, WAIT_SECONDS_MAX)],
  },
  async run(input, api, terminal) {
    // A service that is not there now is an error; one that leaves later may be restarting.
    await api.getBatch({ id: input.id });
    return watchBatch(input, api, terminal);
  },
});

/** Watches a batch that is known to exist; without `waitSeconds`, until it ends. */
export async function watchBatch(
  { id, waitSeconds }: { id: string; waitSeconds: number | undefined },
  api: ApiClient,
  terminal: Terminal,
): Promise<ExitCode> {
  const show = createShow(terminal);
  const exit = await pollUntilEnd({ read: () => api.getBatch({ id }), everyMs: POLL_MS, waitSeconds }, (batch) => {
    const end = decideExit(batch);
    show(batch, end !== null);
    return end;
  });
  if (exit === EXIT.waitEnded || exit === EXIT.interrupted)
    terminal.note(`the batch continues: holdfast batch watch ${id}`);
  return exit;
}

/** Shows progress: a bar in place, a line now and then, or JSON lines. */
function createShow(terminal: Terminal): (batch: BatchView, isLast: boolean) => void {
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
    const percent = computePercent(batch);
    const isDue = percent >= shownPercent + STEP_PERCENT || performance.now() - shownAtMs >= STEP_MS;
    if (!isDue && !isLast) return;
    shownPercent = percent;
    shownAtMs = performance.now();
    if (terminal.isJson) terminal.jsonLine(batch);
    else terminal.print(progressLine(batch, terminal));
    if (isLast) printEnd(batch, terminal);
  };
}

function printEnd(batch: BatchView, terminal: Terminal): void {
  const { id, outcome, pauseReason, pauseDetail, errors } = batch;
  terminal.note(outcome === null ? `paused: ${pauseReason ?? ''}. ${pauseDetail ?? ''}` : `ended: ${outcome}`);
  for (const { code, count, sample } of errors) terminal.note(`${code}  ${count}×  ${sample}`);
  terminal.note(`results: holdfast batch results ${id}`);
}
