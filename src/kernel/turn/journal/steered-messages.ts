// Follow-ups do not use `putInputs`: they are fenced and numbered with the step that leaves them (G3). They and the waiting messages that join
// running turns are a part of `commit-step`.
import type { JournalWrite } from './journal.ts';
import { cte, optional, rows } from '../../../database/statement.ts';

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
export const steeredMessages = optional('steers', (writes: Writes) =>
  writes.some((write) => (write.steers?.ids ?? []).length > 0),
)(joiningMessages, steered, newFollowUps, followed);

/** The assignments that go with them: how many wait now. */
export const STEERED_SQL = `waiting = s.waiting - (select count(*) from steered where steered.session_id = s.id)::int
      + (select count(*) from followed where followed.session_id = s.id)::int,
    inbox_seq = s.inbox_seq + (select count(*) from followed where followed.session_id = s.id)`;
