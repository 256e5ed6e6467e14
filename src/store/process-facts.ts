// What a row of `processes` says of a command in the background.
import type { ProcessFacts } from '../core/background-process.ts';

/** The columns of `ProcessFactsRow`, of the row `p`. */
export const PROCESS_FACTS_SQL = `p.id, p.command, p.status, p.exit_code, p.exit_signal, p.reason, p.output_tail, p.poll_key, p.poll_until,
  (extract(epoch from coalesce(p.ended_at, clock_timestamp()) - p.started_at) * 1000)::bigint as ran_ms`;

export interface ProcessFactsRow {
  id: string;
  command: string;
  status: ProcessFacts['status'];
  exit_code: number | null;
  exit_signal: string | null;
  reason: string | null;
  output_tail: string | null;
  poll_key: string | null;
  poll_until: string;
  ran_ms: string;
}

export function processFactsOf(row: ProcessFactsRow): ProcessFacts {
  const { id, command, status, reason } = row;
  const exit = { exitCode: row.exit_code, exitSignal: row.exit_signal };
  const output = { outputTail: row.output_tail, polledBytes: Number(row.poll_until), pollKey: row.poll_key };
  return { id, command, status, reason, ...exit, ...output, ranMs: Number(row.ran_ms) };
}
