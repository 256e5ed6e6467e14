// The progress of a batch as text: a bar that is drawn again on a terminal, lines in a pipe; and what its end means for the exit code.
import type { BatchView } from '../../../contract/batches.ts';
import { EXIT, type ExitCode } from '../../../cli/cli-error.ts';
import type { Terminal } from '../../../cli/terminal.ts';

const BAR_CHARS_MAX = 30;
const BAR_CHARS_MIN = 5;
/** The text beside the bar. */
const FACTS_CHARS = 60;

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

export function dollarsText(amount: number | null): string {
  return amount === null ? '-' : `$${amount.toFixed(4)}`;
}

/** What a batch has cost, and whether that money was spent: the answers of the scripted model are priced, and free. */
export function costText({ costUsd, simulated }: Pick<BatchView, 'costUsd' | 'simulated'>): string {
  return `${dollarsText(costUsd)}${simulated && costUsd !== 0 ? ' simulated' : ''}`;
}

/** The percentage of items that have ended. */
export function computePercent(batch: Pick<BatchView, 'counts'>): number {
  return batch.counts.total === 0 ? 100 : Math.floor((countDone(batch) * 100) / batch.counts.total);
}

/** One line: progress, speed and cost. */
export function progressLine(batch: BatchView, terminal: Pick<Terminal, 'time'>): string {
  const { counts, eta, followUps, ratePerMinute } = batch;
  const failed = counts.failed + counts.expired;
  return [
    `${computePercent(batch)}%`,
    `${countDone(batch)}/${counts.total}`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(followUps === 0 ? [] : [`${followUps} follow-ups`]),
    ...(batch.status === 'paused' ? [`paused: ${batch.pauseReason ?? ''}`] : []),
    ...(ratePerMinute === null ? [] : [`${Math.round(ratePerMinute)}/min`]),
    ...(eta === null ? [] : [`ends ${terminal.time(eta.from)} to ${terminal.time(eta.to)}`]),
    costText(batch),
  ].join('  ');
}

/** The bar for a terminal with this many columns. */
export function progressBar(batch: Pick<BatchView, 'counts'>, width: number): string {
  const chars = Math.min(BAR_CHARS_MAX, Math.max(BAR_CHARS_MIN, width - FACTS_CHARS));
  const full = Math.floor((computePercent(batch) * chars) / 100);
  return `[${'#'.repeat(full)}${'.'.repeat(chars - full)}]`;
}
