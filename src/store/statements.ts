// The statements of a turn, for `npm run sql` and for the tests that prepare, explain and compare them.
import { ACCEPT, ACCEPT_REASONS } from './accept-statement.ts';
import { CLAIM } from './claim-statement.ts';
import { BEGIN_COMPACTION } from './journal/begin-compaction.ts';
import { COMMIT_STEP } from './journal/commit-step.ts';
import { FINISH_TURN } from './journal/finish-turn.ts';
import { OPEN_TURN } from './journal/open-turn.ts';
import { PARK_TURN } from './journal/park-turn.ts';
import { COMPACTION_ANSWERED, COMPACTION_COMPLETED, COMPACTION_FAILED } from './journal/write-compaction.ts';
import { RELEASE, RENEW, WATCH } from './session-locks.ts';
import type { VisibleStatement } from './statement.ts';

export const STATEMENTS: readonly VisibleStatement[] = [
  ACCEPT,
  ACCEPT_REASONS,
  CLAIM,
  OPEN_TURN,
  COMMIT_STEP,
  BEGIN_COMPACTION,
  COMPACTION_ANSWERED,
  COMPACTION_COMPLETED,
  COMPACTION_FAILED,
  PARK_TURN,
  FINISH_TURN,
  RENEW,
  WATCH,
  RELEASE,
];
