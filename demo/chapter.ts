// What a chapter of the demo is given, and what it leaves: checks, and facts for the end. A chapter plays something for real and then
// asks the API, the model server and the files of the workspace whether it was as it should be.
import type { MessageAnswer, TurnStatus } from '../src/cli/api-types.ts';
import type { Progress } from './progress.ts';
import type { Stage } from './stage.ts';

export interface Chapter {
  /** For the document of `--json`, and for the table at the end. */
  id: string;
  title: string;
  /** What it has shown when all of its checks held; short, for the table at the end. */
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

/** What the demo did, in its own words, to be held against what the service says. */
export interface DemoRecord {
  /** Every input of a session that a chapter has brought about, by its id, with the end that it is to have. */
  inputs: Map<string, MessageAnswer['status']>;
  /** Turns that are to end in another way than `completed`, by their ids. */
  turnEnds: Map<string, TurnStatus>;
  /** Effects of tools that happened more than once. */
  doubledEffects: number;
  /** From the death of a worker to the first thing that its follower committed, in milliseconds; null before. */
  recoveryMs: number | null;
  /** The turn that outlived its worker. */
  rescuedTurnId: string | null;
}
