// A background command: the stored facts, and how it ends. The rows are the store's, the processes
// the tools'.
import { cutTail } from '../../core/text.ts';

/**
 * The folder of outputs in the data directory; each command has its own folder in it, named by its
 * id.
 */
export const PROCESS_OUTPUTS = 'processes';

/**
 * `exited`: by itself. `killed`: ended by us. `lost`: its worker crashed, and its end is not known.
 */
export type ProcessStatus = 'running' | 'exited' | 'killed' | 'lost';

/** A command in the background, as its session sees it. */
export interface ProcessFacts {
  id: string;
  command: string;
  status: ProcessStatus;
  exitCode: number | null;
  exitSignal: string | null;
  /** Why it was killed or lost. */
  reason: string | null;
  /** How long it has run or ran, in milliseconds. */
  ranMs: number;
  /** The end of its output, once it has ended. */
  outputTail: string | null;
  /** Up to where the last poll has shown its output. */
  polledBytes: number;
  /** The call that polled last. */
  pollKey: string | null;
}

export interface NewProcess {
  id: string;
  sessionKey: string;
  /** The fencing number of the claim under which it is started. */
  epoch: number;
  turnId: string;
  causeKey: string;
  command: string;
  workdir: string;
  worker: string;
  machine: string;
  leaseMs: number;
  /** The most that may run in one session. */
  runningMax: number;
}

/** What leads the process group of a command. */
export interface ProcessStart {
  id: string;
  /** See `NewProcess`. */
  epoch: number;
  pid: number;
  startedTicks: number | null;
}

export interface ProcessLease {
  worker: string;
  leaseMs: number;
  ids: readonly string[];
}

export interface ProcessEnd {
  id: string;
  worker: string;
  status: 'exited' | 'killed';
  exitCode: number | null;
  exitSignal: string | null;
  reason: string | null;
  outputBytes: number;
  outputTail: string;
  /** The notice in the session's next prompt; null: none is needed. */
  notice: { text: string; isTrusted: boolean } | null;
}

/** A process of a lost worker: where it ran. */
export interface LostProcess {
  id: string;
  machine: string;
  pid: number | null;
  startedTicks: number | null;
}

/** The requests of others to a process. */
export interface ProcessControl {
  id: string;
  killReason: string | null;
  inputs: { n: number; data: string; isLast: boolean }[];
}

/** The end of an output, as it is shown to the session. */
const NOTICE_CHARS_MAX = 400;

/**
 * The notice of an end: the fact, and the end of the output when there is one, which makes it
 * untrusted text.
 */
export function endNotice(end: Pick<ProcessFacts, 'id' | 'exitCode' | 'exitSignal' | 'reason' | 'outputTail'>): {
  text: string;
  isTrusted: boolean;
} {
  const fact = `The command ${end.id} that ran in the background ${howEnded(end)}.`;
  const output = (end.outputTail ?? '').trim();
  if (output === '') return { text: `${fact} It printed nothing.`, isTrusted: true };
  return { text: `${fact} The end of its output:\n${cutTail(output, NOTICE_CHARS_MAX)}`, isTrusted: false };
}

function howEnded({ exitCode, exitSignal, reason }: Pick<ProcessFacts, 'exitCode' | 'exitSignal' | 'reason'>): string {
  if (reason !== null) return `was ended: ${reason}`;
  return exitSignal === null ? `ended with exit code ${exitCode}` : `was ended by ${exitSignal}`;
}
