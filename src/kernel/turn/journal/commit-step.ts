// `commit-step`: one step in the middle of a turn. See journal.ts.
import type { Committed } from '../../queue/after-commit.ts';
import { estimateChars } from '../../../core/token-estimate.ts';
import { shareStatement, type RowSubmitter } from '../../../database/share-statement.ts';
import type { Database } from '../../../database/database.ts';
import { insertedEvents } from '../../events/events.ts';
import type { JournalWrite, Verdict } from './journal.ts';
import { buildChange } from '../../queue/rings.ts';
import { cte, optional, statement, type Cte, type PreparedQuery } from '../../../database/statement.ts';
import { fence, head, locked, PROGRESS_SQL, verdict, VIEW_SQL } from './fence.ts';
import { STEERED_SQL, steeredMessages } from './steered-messages.ts';
import { haveEvents, JOURNAL_EVENTS_SQL, newEvents, storedHeld, storedSteps } from './write-parts.ts';

/** What a feature stores with the calls that it holds: a CTE that reads `new_holds` and `fence`. */
export type StepPart = Cte<readonly JournalWrite[]>;

/** Makes the function that commits a step; steps of different turns share statements. */
export function createCommitStep(
  database: Database,
  parts: readonly StepPart[],
): RowSubmitter<JournalWrite, Committed<Verdict>> {
  const step = createStepStatement(parts);
  return shareStatement(
    'commit-step',
    (writes) => commitSteps(database, step.prepared(writes), writes),
    ({ entries }) => estimateChars(entries),
  );
}

const progressedTurns = cte(`progressed_turns as (
  update holdfast.turns t
  set status = 'running', park_code = case when t.steps = fence.steps then t.park_code end, ${PROGRESS_SQL}
  from fence where t.id = fence.turn_id
)`);

const updatedSessions = cte(`updated_sessions as (
  update holdfast.sessions s
  set entry_seq = fence.base_seq + fence.added, updated_at = clock_timestamp(),
    leaf_seq = case when fence.added > 0 then fence.base_seq + fence.added else s.leaf_seq end, ${VIEW_SQL},
    ${STEERED_SQL}
  from fence where s.id = fence.session_id
)`);

// A write without entries leaves the position as it was, so one that is sent again is applied again. That is harmless, since all of
// its values are absolute; but its events would be inserted twice. Such a write charges a call or stores one, which shows whether it was
// applied before.
const stepEvents = cte(`step_events as (
  ${JOURNAL_EVENTS_SQL}
  where fence.added > 0 or exists (select from holdfast.turns t where t.id = fence.turn_id and t.calls < fence.calls)
    or exists (select from stored_calls c where c.turn_id = fence.turn_id)
)`);

const FACTS = {
  name: 'commit-step',
  purpose: 'Store one step of each turn. Answers a verdict per write.',
  locking: 'The session rows in the order of their ids.',
};

/** The statement, with what features store by it. */
export const createStepStatement = (parts: readonly StepPart[]) =>
  statement<readonly JournalWrite[]>({
    ...FACTS,
    ctes: [
      head,
      locked,
      verdict,
      fence,
      ...storedSteps,
      ...storedHeld,
      ...parts,
      ...steeredMessages,
      progressedTurns,
      updatedSessions,
      ...optional('events', haveEvents)(newEvents, stepEvents, insertedEvents('step_events')),
    ],
    select: 'select n, is_ok, stop, waiting, steer_seq from verdict order by n',
  });

async function commitSteps(
  database: Database,
  query: PreparedQuery,
  writes: JournalWrite[],
): Promise<Committed<Verdict>[]> {
  const result = await database.hot.query(query);
  const verdicts = new Map(result.rows.map((row) => [Number(row.n), row]));
  return writes.map(({ fence: { sessionId } }, index) => {
    const row = verdicts.get(index + 1);
    if (row === undefined || !row.is_ok) return { kind: 'fenced' };
    const { stop, waiting, steer_seq: steerSeq } = row;
    return { kind: 'ok', stop, waiting, steerSeq: Number(steerSeq), after: buildChange(sessionId) };
  });
}
