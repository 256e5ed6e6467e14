// A requested stop of a session's open turn. It is stored in the session's row, and the worker that runs the turn reads it.

export const STOP_KINDS = ['stopped', 'interrupted', 'rolledBack'] as const;

/**
 * `stopped`: a person, a parent or a deadline of the run asks for it. `interrupted`: a message of mode `interrupt` arrived, and is next.
 * `rolledBack`: a message of mode `rollback` arrived; the entries of the turn are hidden.
 */
export interface SessionStop {
  kind: (typeof STOP_KINDS)[number];
  /** For people. */
  message: string;
}
