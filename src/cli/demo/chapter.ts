// What a chapter of the demo is given, and what it leaves: checks, and facts for the end. A chapter plays something for real and then
// asks the API, the model server and the files of the workspace whether it was as it should be.
import type { Progress } from './progress.ts';
import type { Stage } from './stage.ts';

export interface Chapter {
  /** For the document of `--json`. */
  id: string;
  title: string;
  /** Plays it. A check that does not hold is noted and the demo goes on; a rejection ends it. */
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

/** What the demo did, in its own words, to be held against what the service says. */
export interface DemoRecord {
  /** Ids of accepted messages. */
  messageIds: string[];
  /** Effects of tools that happened more than once. */
  doubledEffects: number;
  /** From the death of a worker to the first thing that its follower committed, in milliseconds; null before. */
  recoveryMs: number | null;
  /** The turn that outlived its worker. */
  rescuedTurnId: string | null;
}
