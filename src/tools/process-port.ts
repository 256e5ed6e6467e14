// What commands in the background need of the database: a row for each, its owner, and the requests
// of other processes. Implemented by `src/kernel/turn/journal/processes.ts`.
import type {
  LostProcess,
  NewProcess,
  ProcessEnd,
  ProcessFacts,
  ProcessLease,
  ProcessStart,
  ProcessControl,
} from './rules/background-process.ts';

export interface ProcessStore {
  /**
   * The row of a command that is about to start. `closed`: its turn has ended, or the session was
   * claimed again.
   */
  begin(process: NewProcess): Promise<'begun' | 'known' | 'closed' | 'too-many'>;
  /**
   * Notes the process of a row; false: it must not begin, its session was stopped or claimed again
   * meanwhile.
   */
  noteStart(start: ProcessStart): Promise<boolean>;
  /** Closes the row, unless it is closed, and notifies the session. */
  end(end: ProcessEnd): Promise<void>;
  /**
   * Renews the leases of these processes of a worker; answers with those that are still its own.
   */
  renew(lease: ProcessLease): Promise<ReadonlySet<string>>;
  /**
   * The requests of other processes for these commands; commands without a request are left out.
   */
  readControls(processes: readonly { id: string; lastInput: number }[]): Promise<ProcessControl[]>;
  /** Closes the rows whose worker no longer renews them, and notifies their sessions. */
  takeLost(): Promise<LostProcess[]>;
  /** The processes of a session: those that run, then the latest of the others. */
  list(sessionKey: string, rowsMax: number): Promise<ProcessFacts[]>;
  /** One of them; null: the session has none of that id. */
  find(sessionKey: string, id: string): Promise<ProcessFacts | null>;
  /** Asks for the end of a process that runs. */
  askToKill(id: string, reason: string): Promise<void>;
  /** Adds to the input of a process, once for each cause. */
  addInput(input: { processId: string; causeKey: string; data: string; isLast: boolean }): Promise<void>;
  /** Deletes the input of processes that ended this long ago. */
  trimInputs(keptMs: number): Promise<void>;
  /**
   * Notes that a call is shown the output up to `until`; answers from where on. The same call is
   * answered the same.
   */
  notePoll(poll: { id: string; key: string; until: number }): Promise<{ from: number; until: number }>;
}
