// Which sessions an erasure is about: a session with all subagents below it. What its turns have scheduled goes with it.
import type { SessionId } from '../../../core/ids.ts';
import { ERASING } from '../../../core/session-key.ts';
import { literalQuery } from '../../../database/literal-query.ts';

export interface FamilyMember {
  id: SessionId;
  /** As it is stored: with `ERASING` in front once the erasure has begun. */
  key: string;
  /** A turn is open or messages wait. */
  hasWork: boolean;
  /** A turn is open, or a command runs in the background. */
  isBusy: boolean;
}

export const findErasedFamily = literalQuery({
  name: 'erased-family',
  purpose: 'Read the session of a stored key with all sessions below it.',
  text: `with recursive family as (
  select s.id from holdfast.sessions s where s.key = $1
  union select r.child_id from family join holdfast.subagent_runs r on r.parent_id = family.id
)
select s.id, s.key, s.turn_id is not null or s.waiting > 0 as "hasWork", s.turn_id is not null or exists (
    select from holdfast.processes p where p.session_id = s.id and p.status = 'running') as "isBusy"
from family join holdfast.sessions s on s.id = family.id order by s.id`,
  pool: 'views',
  values: (storedKey: string) => [storedKey],
  answer: (family: FamilyMember[]) => family,
});

// A target names its session as it was typed.
const TARGET_KEY_SQL = `case when c.target like 'session:%' then case when lower(substr(c.target, 9)) like 'agent:%' then lower(substr(c.target, 9))
      else 'agent:' || c.agent_id || ':' || lower(substr(c.target, 9)) end end`;

/** The `crons` that target the sessions ($1), or that a tool of their turns has made: such a cron has the turn in its cause, `<turn>:<call>`. */
const CRONS_SQL = `c.origin = 'api' and (
    ${TARGET_KEY_SQL} in (select replace(s.key, '${ERASING}', '') from holdfast.sessions s where s.id = any ($1::uuid[]))
    or (select t.session_id from holdfast.turns t
      where t.id = case when c.cause_key ~ '^[0-9a-f-]{36}:' then left(c.cause_key, 36)::uuid end) = any ($1::uuid[]))`;

export const stopCrons = literalQuery({
  name: 'stop-crons-of-sessions',
  purpose:
    'Disable the crons of sessions, so that they fire no more. Answers them with the keys of the sessions that isolated ones run in.',
  locking: 'The crons.',
  text: `update holdfast.crons c
set is_enabled = false, disabled_reason = 'erased', next_slot_at = null, due_at = null, revision = c.revision + 1
where ${CRONS_SQL} returning c.id, 'agent:' || c.agent_id || ':cron:' || c.id as key`,
  pool: 'views',
  values: (ids: readonly SessionId[]) => [ids],
  answer: (crons: { id: string; key: string }[]) => crons,
});
