// `commit-step`: one step in the middle of a turn, see journal.ts. It inserts follow-ups without
// `putInputs`: they are fenced and numbered with it (G3).
//
// The statement is shared by many turns. A step with calls that begin to wait, and of which a
// feature keeps something in a table of its own, is a transaction instead: the statement, then what
// the feature writes. So a request for an approval exists exactly when its call waits for it, and a
// crash between the two leaves neither.
import type { Committed } from '../../queue/after-commit.ts';
import type { HoldCode, SessionStop } from '../../../core/statuses.ts';
import type { TurnId } from '../../../core/ids.ts';
import { estimateChars } from '../../../core/content-size.ts';
import { TURN_RETRY_MS } from '../../../database/passing-faults.ts';
import { shareStatement, type RowSubmitter, cte, optional, rows, statement } from '../../../database/statement.ts';
import { transaction, type Transaction } from '../../../database/transaction.ts';
import type { Database } from '../../../database/database.ts';
import { insertedEvents } from '../../events/events.ts';
import type { HeldIntent, JournalWrite, Verdict } from './journal.ts';
import { buildChange } from '../../queue/rings.ts';
import {
  fence,
  head,
  locked,
  PROGRESS_SQL,
  verdict,
  VIEW_SQL,
  haveEvents,
  JOURNAL_EVENTS_SQL,
  newEvents,
  storedHeld,
  storedSteps,
} from './write-parts.ts';

/**
 * Stores what a feature keeps of calls of a turn that begin to wait. Called again with the same
 * calls when the write is sent again, and then writes the same.
 */
export type KeepHeld = (tx: Transaction, turnId: TurnId, calls: readonly HeldIntent[]) => Promise<void>;

/**
 * Makes the function that commits a step. `keeps`: the features that keep something of calls that
 * wait, by the code of the wait.
 */
export function createCommitStep(
  database: Database,
  keeps: ReadonlyMap<HoldCode, KeepHeld>,
): RowSubmitter<JournalWrite, Committed<Verdict>> {
  const commitShared = shareStatement(
    'commit-step',
    async (writes: JournalWrite[]) => {
      const { rows } = await database.hot.query<VerdictRow>(COMMIT_STEP.prepared(writes));
      const found = new Map(rows.map((row) => [Number(row.n), row]));
      return writes.map((write, index) => toVerdict(write, found.get(index + 1)));
    },
    ({ entries }) => estimateChars(entries),
  );
  return async (write) => {
    const { heldIntents = [] } = write;
    const kept = [...keeps]
      .map(([code, keep]) => ({ keep, calls: heldIntents.filter((held) => held.code === code) }))
      .filter(({ calls }) => calls.length > 0);
    return kept.length === 0 ? await commitShared(write) : await commitAndKeep(database, write, kept);
  };
}

async function commitAndKeep(
  database: Database,
  write: JournalWrite,
  kept: readonly { keep: KeepHeld; calls: readonly HeldIntent[] }[],
): Promise<Committed<Verdict>> {
  const commit = async (tx: Transaction) => {
    const [row] = await tx.query<VerdictRow>(COMMIT_STEP.prepared([write]));
    const verdict = toVerdict(write, row);
    // Before the commit: what a feature cannot write undoes the step.
    if (verdict.kind === 'ok') for (const { keep, calls } of kept) await keep(tx, write.progress.turnId, calls);
    return verdict;
  };
  return await transaction(database.hot, commit, { retryMs: TURN_RETRY_MS, isStep: true });
}

type Writes = readonly JournalWrite[];

const joiningMessages = rows(
  'joining_messages',
  (writes: Writes) => writes.flatMap((write, index) => (write.steers?.ids ?? []).map((id) => ({ n: index + 1, id }))),
  { n: ['int', ({ n }) => n], id: ['uuid', ({ id }) => id] },
);

const steered = cte(
  `steered as (
  update holdfast.inbox i set status = 'claimed', turn_id = fence.turn_id
  from joining_messages m join fence on fence.n = m.n
  where i.id = m.id and i.status = 'waiting'
  returning i.session_id
)`,
  { absent: 'steered as (select null::uuid as session_id where false)' },
);

const newFollowUps = rows(
  'new_followups',
  (writes: Writes) =>
    writes.flatMap((write, index) =>
      (write.steers?.followUps ?? []).map((followUp, place) => ({ n: index + 1, pos: place + 1, followUp })),
    ),
  {
    n: ['int', ({ n }) => n],
    pos: ['int', ({ pos }) => pos],
    id: ['uuid', ({ followUp }) => followUp.id],
    cause_key: ['text', ({ followUp }) => followUp.causeKey],
    body: ['json', ({ followUp }) => followUp.body],
    route: ['text', ({ followUp }) => followUp.route],
  },
);

const followed = cte(
  `followed as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, cause_key)
  select f.id, fence.session_id, locked.inbox_seq + f.pos, 'followup', f.body, f.route, f.cause_key
  from new_followups f join fence on fence.n = f.n join locked on locked.id = fence.session_id
  on conflict do nothing
  returning session_id
)`,
  { absent: 'followed as (select null::uuid as session_id where false)' },
);

/** The messages that join, and the follow-ups that they leave. */
const steeredMessages = optional('steers', (writes: Writes) =>
  writes.some((write) => (write.steers?.ids ?? []).length > 0),
)(joiningMessages, steered, newFollowUps, followed);

/** The assignments that go with them: how many wait now. */
const STEERED_SQL = `waiting = s.waiting - (select count(*) from steered where steered.session_id = s.id)::int
      + (select count(*) from followed where followed.session_id = s.id)::int,
    inbox_seq = s.inbox_seq + (select count(*) from followed where followed.session_id = s.id)`;

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

// A write without entries leaves the position as it was, so one that is sent again is applied
// again. That is harmless, since all of its values are absolute; but its events would be inserted
// twice. Such a write charges a call or stores one, which shows whether it was applied before.
const stepEvents = cte(`step_events as (
  ${JOURNAL_EVENTS_SQL}
  where fence.added > 0 or exists (select from holdfast.turns t where t.id = fence.turn_id and t.calls < fence.calls)
    or exists (select from stored_calls c where c.turn_id = fence.turn_id)
)`);

export const COMMIT_STEP = statement<Writes>({
  name: 'commit-step',
  purpose: 'Store one step of each turn. Answers a verdict per write.',
  locking: 'The session rows in the order of their ids.',
  ctes: [
    head,
    locked,
    verdict,
    fence,
    ...storedSteps,
    ...storedHeld,
    ...steeredMessages,
    progressedTurns,
    updatedSessions,
    ...optional('events', haveEvents)(newEvents, stepEvents, insertedEvents('step_events')),
  ],
  select: 'select n, is_ok, stop, waiting, steer_seq from verdict order by n',
});

interface VerdictRow {
  n: number;
  is_ok: boolean;
  stop: SessionStop | null;
  waiting: number;
  steer_seq: string;
}

function toVerdict({ fence: { sessionId } }: JournalWrite, row: VerdictRow | undefined): Committed<Verdict> {
  if (row === undefined || !row.is_ok) return { kind: 'fenced' };
  const { stop, waiting, steer_seq: steerSeq } = row;
  return { kind: 'ok', stop, waiting, steerSeq: Number(steerSeq), after: buildChange(sessionId) };
}
