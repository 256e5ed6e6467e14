// Pauses. A pause names a lane, an agent or a session, or several of them: it holds the sessions
// that match all of them, and one that names nothing holds every session. No turn of such a session
// begins or is taken over; a turn that a worker runs finishes.
import type { PauseView } from '../../contract/pauses.ts';
import { newId } from '../../ids.ts';
import type { SessionId } from '../../core/ids.ts';
import type { Committed } from '../queue/after-commit.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { buildRings, type RungColumns } from '../queue/rings.ts';
import { PAUSE_JSON, PAUSES_MAX, type PauseScope } from '../views/pauses.ts';
import { holdsSql } from '../queue/pause-sql.ts';
import { literalQuery } from '../../database/literal-query.ts';

/** This many sessions are rung for when a pause ends; the reconciler rings for the others. */
const RUNG_MAX = 1_000;

/**
 * Null: there are `PAUSES_MAX`. Rejects with a violated primary key when another request has stored
 * the key.
 */
export const pause = literalQuery({
  name: 'pause',
  purpose: 'Pause what fits; one of the same scope stays. Answers the pause, and none when there are too many.',
  locking: 'The pause.',
  pool: 'views',
  text: `with inserted as (
  insert into holdfast.pauses (id, lane, agent_id, session_key, reason, paused_by)
  select $id::uuid, $lane::text, $agent::text, $session::text, $reason::text, $by::text
  where (select count(*) from (select from holdfast.pauses limit ${PAUSES_MAX}) as p) < ${PAUSES_MAX}
  -- It returns the row that there is only when it updates it.
  on conflict on constraint pauses_scope do update set reason = coalesce(excluded.reason, pauses.reason)
  returning *
),
answer as (
  select ${PAUSE_JSON} as pause from inserted p
),
${keyedSql('select pause from answer')}
select pause from answer`,
  values: (
    scope: PauseScope,
    { idempotency, ...facts }: { reason: string | null; by: string; idempotency: KeyedRequest | null },
  ) => ({ id: newId(), ...scope, ...facts, ...idempotency }),
  answer: ([row]: { pause: PauseView }[]) => row?.pause ?? null,
});

/** Rejects with a violated primary key when another request has stored the key. */
export const resume = literalQuery({
  name: 'resume',
  purpose:
    'End the pause of exactly this scope, or all when the scope names nothing, and ring for sessions that nothing holds any more. Answers the pauses that have ended, and the rings.',
  locking: 'The pauses, then the doorbells in the order of their sessions.',
  pool: 'views',
  text: `with ended as (
  delete from holdfast.pauses p
  where ($lane::text is null and $agent::text is null and $session::text is null)
    or (p.lane is not distinct from $lane::text and p.agent_id is not distinct from $agent::text and p.session_key is not distinct from $session::text)
  returning p.*
),
freed as materialized (
  select d.session_id from holdfast.doorbells d cross join lateral (select * from holdfast.sessions where id = d.session_id limit 1) as s
  where d.due_at <= clock_timestamp() and exists (select from ended p where ${holdsSql('p', 's')})
    and not exists (select from holdfast.pauses p where p.id not in (select id from ended) and ${holdsSql('p', 's')})
  order by d.due_at limit ${RUNG_MAX}
),
locked as materialized (
  select d.session_id from holdfast.doorbells d where d.session_id in (select session_id from freed) order by d.session_id for update skip locked
),
rung as (
  update holdfast.doorbells d set rings = d.rings + 1, rung_at = clock_timestamp() from locked where d.session_id = locked.session_id
  returning d.session_id, d.lane, d.rings
),
answer as (
  select coalesce((select json_agg(${PAUSE_JSON} order by p.id) from ended p), '[]') as ended
),
${keyedSql(`select json_build_object('ended', ended) from answer`)}
select ended, coalesce((select json_agg(json_build_object('session_id', session_id, 'lane', lane, 'rings', rings)) from rung), '[]') as rings
from answer`,
  values: (scope: PauseScope, idempotency: KeyedRequest | null) => ({ ...scope, ...idempotency }),
  answer([row]: { ended: PauseView[]; rings: ({ session_id: SessionId } & RungColumns)[] }[]): Committed<{
    ended: PauseView[];
  }> {
    const rings = (row?.rings ?? []).flatMap((rung) => buildRings('inbound', rung.session_id, rung));
    return { ended: row?.ended ?? [], after: { changed: [], rings } };
  },
});
