// Pauses. A pause names a lane, an agent or a session, or several of them: it holds the sessions that match all of them, and
// one that names nothing holds every session. No turn of such a session begins or is taken over; a turn that a worker runs finishes.
import type { PauseView } from '../../contract/pauses.ts';
import { newId } from '../../ids.ts';
import type { Lane } from '../../config.ts';
import type { SessionId } from '../../core/ids.ts';
import type { Committed } from '../queue/after-commit.ts';
import type { Database } from '../../database/database.ts';
import { keyedPart, keyValues, type KeyedRequest } from '../../database/idempotency.ts';
import { buildRings } from '../queue/rings.ts';
import { sendQuery } from '../../database/send-query.ts';
import { literal } from '../../database/statement.ts';
import { PAUSE_JSON, PAUSES_MAX, type PauseScope } from '../views/pauses.ts';
import { holdsSql } from '../queue/pause-sql.ts';

/** This many sessions are rung for when a pause ends; the reconciler rings for the others. */
const RUNG_MAX = 1_000;

export const PAUSE = literal({
  name: 'pause',
  purpose: 'Pause what fits; one of the same scope stays. Answers the pause, and none when there are too many.',
  locking: 'The pause.',
  text: `with inserted as (
  insert into holdfast.pauses (id, lane, agent_id, session_key, reason, paused_by)
  select $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text
  where (select count(*) from (select from holdfast.pauses limit ${PAUSES_MAX}) as p) < ${PAUSES_MAX}
  -- It returns the row that there is only when it updates it.
  on conflict on constraint pauses_scope do update set reason = coalesce(excluded.reason, pauses.reason)
  returning *
),
answer as (
  select ${PAUSE_JSON} as pause from inserted p
),
${keyedPart(7, 'select pause from answer')}
select pause from answer`,
});

export const RESUME = literal({
  name: 'resume',
  purpose:
    'End the pause of exactly this scope, or all when the scope names nothing, and ring for sessions that nothing holds any more. Answers the pauses that have ended, and the rings.',
  locking: 'The pauses, then the doorbells in the order of their sessions.',
  text: `with ended as (
  delete from holdfast.pauses p
  where ($1::text is null and $2::text is null and $3::text is null)
    or (p.lane is not distinct from $1::text and p.agent_id is not distinct from $2::text and p.session_key is not distinct from $3::text)
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
${keyedPart(4, `select json_build_object('ended', ended) from answer`)}
select ended, coalesce((select json_agg(json_build_object('session_id', session_id, 'lane', lane, 'rings', rings)) from rung), '[]') as rings
from answer`,
});

/** Makes the pause. Null: there are `PAUSES_MAX`. Rejects with a violated primary key when another request has stored the key. */
export async function pause(
  database: Database,
  scope: PauseScope,
  facts: { reason: string | null; by: string; idempotency: KeyedRequest | null },
): Promise<PauseView | null> {
  const values = [newId(), scope.lane, scope.agent, scope.session, facts.reason, facts.by];
  const query = PAUSE.prepared([...values, ...keyValues(facts.idempotency)]);
  return (await sendQuery<{ pause: PauseView }>(database.views, query))[0]?.pause ?? null;
}

/** Ends pauses. Rejects with a violated primary key when another request has stored the key. */
export async function resume(
  database: Database,
  { lane, agent, session }: PauseScope,
  idempotency: KeyedRequest | null,
): Promise<Committed<{ ended: PauseView[] }>> {
  type Row = { ended: PauseView[]; rings: { session_id: SessionId; lane: Lane; rings: string }[] };
  const [row] = await sendQuery<Row>(
    database.views,
    RESUME.prepared([lane, agent, session, ...keyValues(idempotency)]),
  );
  const rings = (row?.rings ?? []).flatMap((rung) => buildRings('inbound', rung.session_id, rung));
  return { ended: row?.ended ?? [], after: { changed: [], rings } };
}
