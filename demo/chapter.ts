// The input and the results of a chapter of the demo: checks, and facts for the count at the end. A
// chapter runs a real case and then checks the result through the API, the model server and the
// files of the workspace.
import type { MessageView, TurnStatus } from '../src/contract/views.ts';
import type { Progress } from './progress.ts';
import type { Stage } from './stage.ts';

export interface Chapter {
  /** For the document of `--json`, and for the table at the end. */
  id: string;
  title: string;
  /** The facts that it has shown if all its checks passed; short, for the table at the end. */
  proves: string;
  /** Plays it. A failed check is noted and the demo continues; a rejection ends it. */
  play: (scene: Scene) => Promise<void>;
}

/** What all chapters share. */
export interface Scene {
  stage: Stage;
  progress: Progress;
  /** Everything that was accepted and done so far, for the numbers at the end. */
  record: DemoRecord;
  /** Notes whether something holds, and shows it. */
  check: (isTrue: boolean, text: string, detail?: unknown) => void;
}

/** The demo's own counts, which are compared with those of the service. */
export interface DemoRecord {
  /** Every session input that a chapter caused, by its id, with its expected end. */
  inputs: Map<string, MessageView['status']>;
  /** Turns that are expected to end with another status than `completed`, by their ids. */
  turnEnds: Map<string, TurnStatus>;
  /** Effects of tools that happened more than once. */
  doubledEffects: number;
  /**
   * From the kill of a worker to the first commit of its successor, in milliseconds; null before.
   */
  recoveryMs: number | null;
  /** The turn that another worker took over. */
  rescuedTurnId: string | null;
}
