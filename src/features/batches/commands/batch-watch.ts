// `holdfast batch watch`: a batch as it proceeds, until it is over. Its progress as text is a bar
// on a terminal, and lines in a pipe. The exit code says how it ended.
import type { BatchView } from '../contract.ts';
import { costText } from '../../../core/words.ts';
import { EXIT, type ExitCode } from '../../../cli/cli-error.ts';
import type { Terminal } from '../../../cli/terminal.ts';
import type { ApiClient } from '../../../cli/api-client.ts';
import { command } from '../../../cli/command.ts';
import { ITS_ID, wholeNumber } from '../../../cli/options.ts';
import { pollUntilEnd } from '../../../cli/poll-until-end.ts';
import { createProgress } from '../../../cli/progress.ts';

const END_EXITS: Record<NonNullable<BatchView['outcome']>, ExitCode> = {
  completed: EXIT.ok,
  partly: EXIT.partly,
  failed: EXIT.turnFailed,
  cancelled: EXIT.turnAborted,
};

/** The exit code of a batch that is over; null: it continues, or may. */
export function decideExit(batch: Pick<BatchView, 'outcome' | 'pauseReason' | 'reservedUsd'>): ExitCode | null {
  if (batch.outcome !== null) return END_EXITS[batch.outcome];
  // Calls in flight may cost less than they have reserved: then it resumes by itself.
  return batch.pauseReason === 'cost_cap' && batch.reservedUsd === 0 ? EXIT.turnAborted : null;
}

/** How many items have ended. */
export function countDone({ counts }: Pick<BatchView, 'counts'>): number {
  return counts.answered + counts.silent + counts.failed + counts.cancelled + counts.expired;
}

/** The percentage of items that have ended. */
function computePercent(batch: Pick<BatchView, 'counts'>): number {
  return batch.counts.total === 0 ? 100 : Math.floor((countDone(batch) * 100) / batch.counts.total);
}

/** One line: progress, speed and cost. */
function describeProgress(batch: BatchView, terminal: Pick<Terminal, 'time'>): string {
  const { counts, eta, followUps, ratePerMinute } = batch;
  const failed = counts.failed + counts.expired;
  return [
    `${countDone(batch)}/${counts.total}`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(followUps === 0 ? [] : [`${followUps} follow-ups`]),
    ...(batch.status === 'paused' ? [`paused: ${batch.pauseReason ?? ''}`] : []),
    ...(ratePerMinute === null ? [] : [`${Math.round(ratePerMinute)}/min`]),
    ...(eta === null ? [] : [`ends ${terminal.time(eta.from)} to ${terminal.time(eta.to)}`]),
    costText(batch),
  ].join('  ');
}

/** A year. */
export const WAIT_SECONDS_MAX = 31_536_000;
const POLL_MS = 500;

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
  const show = createProgress(terminal);
  return (batch, isLast) => {
    show({ percent: computePercent(batch), facts: describeProgress(batch, terminal), json: batch }, isLast);
    if (isLast) printEnd(batch, terminal);
  };
}

function printEnd(batch: BatchView, terminal: Terminal): void {
  const { id, outcome, pauseReason, pauseDetail, errors } = batch;
  terminal.note(outcome === null ? `paused: ${pauseReason ?? ''}. ${pauseDetail ?? ''}` : `ended: ${outcome}`);
  for (const { code, count, sample } of errors) terminal.note(`${code}  ${count}×  ${sample}`);
  terminal.note(`results: holdfast batch results ${id}`);
}
