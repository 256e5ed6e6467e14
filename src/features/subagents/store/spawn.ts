// Spawning a subagent is one statement: its session, its run, its first input, the doorbell and the counts above it. A crash leaves all of
// that or nothing (G18). It is idempotent on its cause, the tool call or the key of the request: a second call returns what the first one
// inserted.
//
// Locking: the rows of the spawning session and of the top of its family (where the live runs are counted), in the order of their ids. So
// the limits hold for any number of simultaneous spawns.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import { sharedOptions, storedOptions } from '../../../core/input-options.ts';
import type { SpawnPlan, SpawnRefusal } from '../../../core/subagent-spawn.ts';
import type { MessageId, SessionId, SessionKey } from '../../../core/ids.ts';
import { newId } from '../../../ids.ts';
import { chargedBodySql, chargedPart, chargeOfTurnSql } from '../../../kernel/inbox/charged-inputs.ts';
import type { Database } from '../../../database/database.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import {
  isKeyTaken,
  isUniqueViolation,
  keyedPart,
  keyValues,
  type KeyedRequest,
} from '../../../database/idempotency.ts';
import { sendQuery } from '../../../database/send-query.ts';
import { TURN_RETRY_MS } from '../../../database/retry-passing-faults.ts';
import { buildRings, type RungColumns, ringSql } from '../../../kernel/queue/rings.ts';
import type { SessionPlace } from '../../../kernel/sessions/family-rows.ts';
import { literal } from '../../../database/statement.ts';

export interface NewSpawn {
  parent: SessionPlace;
  plan: SpawnPlan;
  /** The child's first input, as JSON text, and the route of its inputs. */
  body: string;
  route: string;
  /** The cause of the spawn, unique without a time limit; null: each call spawns another subagent. */
  causeKey: string | null;
  /** The turn whose tool call it is; null: it is spawned from outside. */
  turnId: string | null;
  /** The name of the API key of the request that spawns it; null or absent: none, or it is a tool call. */
  sentBy?: string | null;
  /** The way that the answer to its announcement goes when it is spawned from outside. */
  originRoute: string;
  limits: { depthMax: number; childrenMax: number; descendantsMax: number };
  /** The key of the request that spawns it. */
  idempotency?: KeyedRequest | null | undefined;
  /** Gives another task to a subagent that is done with its last. Absent: a new one. */
  again?: { childId: SessionId; childKey: SessionKey };
}

export type SpawnResult =
  | { kind: 'spawned'; runId: string; childId: SessionId; childKey: SessionKey }
  | { kind: 'refused'; code: SpawnRefusal; count: number };

export const SPAWN = literal({
  name: 'spawn',
  purpose: 'Spawn a subagent, or say why not or what the same cause has made before. Answers one row.',
  locking: 'The rows of the parent, of the session at the root and of the subagent, in the order of their ids.',
  text: `with input as materialized (
  select $1::uuid as parent_id, $2::uuid as run_id, $3::uuid as child_id, $4::text as child_key, $5::text as agent_id,
    $6::uuid as message_id, $7::json as body, $8::text as route, $9::text as task, $10::text as label, $11::text as model,
    $12::text as thinking, $13::text as cleanup, $14::text as mode, $15::int as timeout_seconds, $16::text as cause_key,
    $17::uuid as turn_id, $18::text as origin_route, $19::int as depth_max, $20::int as children_max, $21::int as descendants_max,
    $25::json as deliver, coalesce(${chargeOfTurnSql('$17::uuid')}, $26::json) as charged_to,
    $27::json as options
),
earlier as materialized (
  select r.id, c.id as child_id, c.key as child_key from (
    select r.id, r.child_id from input join holdfast.subagent_runs r on r.cause_key = input.cause_key
    union select r.id, r.child_id from input join holdfast.subagent_runs r on r.id = input.run_id
  ) as r join holdfast.sessions c on c.id = r.child_id
),
locked as materialized (
  select s.* from holdfast.sessions s
  where s.id = any (array[$1::uuid, $3::uuid] || (select p.ancestors[1:1] from holdfast.sessions p where p.id = $1::uuid))
  order by s.id for no key update
),
judged as materialized (
  select p.id, root.id as root_id, p.ancestors || p.id as ancestors, case
      when exists (select from earlier) then 'earlier'
      when p.archived_at is not null or cardinality(p.ancestors) > 0 and p.run_id is null then 'ended'
      when input.turn_id is not null and (p.turn_id is distinct from input.turn_id or p.stop_reason is not null) then 'stopped'
      when cardinality(p.ancestors) >= input.depth_max then 'depth'
      when p.live_children >= input.children_max then 'children'
      when root.live_descendants >= input.descendants_max then 'descendants'
      when exists (select from locked c where c.id = input.child_id and (c.run_id is not null or c.archived_at is not null)) then 'working'
      else 'spawned'
    end as verdict,
    cardinality(p.ancestors) as depth, p.live_children, root.live_descendants
  from input join locked p on p.id = input.parent_id join locked root on root.id = coalesce(p.ancestors[1], p.id)
),
granted as materialized (
  select input.*, judged.root_id, judged.ancestors, judged.depth + 1 as depth from input cross join judged where judged.verdict = 'spawned'
),
child as (
  insert into holdfast.sessions as s (id, key, agent_id, kind, lane, parent_id, label, model, thinking, ancestors, run_id, inbox_seq,
    waiting, last_message_at)
  select child_id, child_key, agent_id, 'subagent', 'subagent', parent_id, label, model, thinking, ancestors, run_id, 1, 1,
    clock_timestamp() from granted
  on conflict (id) do update set run_id = excluded.run_id, inbox_seq = s.inbox_seq + 1, waiting = s.waiting + 1,
    last_message_at = clock_timestamp(), updated_at = clock_timestamp()
  returning s.*
),
origin as materialized (
  select i.route, i.body -> 'deliver' as deliver, i.body -> 'options' as options, i.body -> 'exchange' -> 'origin' as exchange
  from input join holdfast.inbox i on i.turn_id = input.turn_id order by i.seq desc limit 1
),
run as (
  insert into holdfast.subagent_runs (id, parent_id, child_id, root_id, depth, label, task, cleanup, mode, deadline_at, cause_key, route,
    deliver, charged_to, options)
  select granted.run_id, granted.parent_id, child.id, granted.root_id, granted.depth, granted.label, granted.task, granted.cleanup,
    granted.mode, case when granted.timeout_seconds > 0 then clock_timestamp() + granted.timeout_seconds * interval '1 second' end,
    granted.cause_key, coalesce(origin.exchange ->> 'route', origin.route, granted.origin_route), coalesce(origin.exchange -> 'deliver', origin.deliver, granted.deliver), granted.charged_to,
    case when granted.turn_id is null then granted.options else origin.options end
  from child cross join granted left join origin on true
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, cause_key)
  select granted.message_id, child.id, child.inbox_seq, 'message', ${chargedBodySql('granted.body', 'granted.charged_to')}, granted.route, 'followup', 'spawn:' || granted.run_id
  from child cross join granted
  returning id, session_id, seq, kind, body -> 'chargedTo' as charged_to
),
${chargedPart('stored')},
rung_doorbells as (
  ${ringSql('child')}
),
counted as (
  update holdfast.sessions s
  set live_children = s.live_children + (s.id = granted.parent_id)::int,
    live_descendants = s.live_descendants + (s.id = granted.root_id)::int, updated_at = clock_timestamp()
  from granted where s.id in (granted.parent_id, granted.root_id)
),
inserted_events as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.accepted' as type,
    json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued') as data, 1 as n from stored`)}
),
${keyedPart(22, `select json_build_object('runId', granted.run_id, 'childSessionKey', child.key) from granted cross join child`)}
select judged.verdict, coalesce(earlier.id, input.run_id) as run_id, coalesce(earlier.child_id, input.child_id) as child_id,
  coalesce(earlier.child_key, input.child_key) as child_key, rung_doorbells.lane, rung_doorbells.rings,
  case judged.verdict when 'depth' then judged.depth when 'children' then judged.live_children
    when 'descendants' then judged.live_descendants else 0 end as count
from judged cross join input left join earlier on true left join rung_doorbells on true`,
});

/** Spawns, or returns what the same cause has made before. Throws when the parent does not exist. */
export async function storeSpawn(database: Database, spawn: NewSpawn): Promise<Committed<SpawnResult>> {
  const once = () => sendQuery<SpawnRow>(database.hot, SPAWN.prepared(toValues(spawn)), TURN_RETRY_MS);
  // A twin that was being committed is not seen by the statement that waited for it; the next one sees it.
  const [row] = await once().catch((error: unknown) => {
    if (!isUniqueViolation(error) || isKeyTaken(error)) throw error;
    return once();
  });
  if (row === undefined) throw new Error(`There is no session ${spawn.parent.id}.`);
  if (row.verdict !== 'spawned' && row.verdict !== 'earlier') {
    return { kind: 'refused', code: row.verdict, count: row.count };
  }
  const { child_id: childId } = row;
  return {
    kind: 'spawned',
    runId: row.run_id,
    childId,
    childKey: row.child_key,
    after: { changed: [spawn.parent.id, childId], rings: buildRings('inbound', childId, row) },
  };
}

interface SpawnRow extends RungColumns {
  verdict: 'spawned' | 'earlier' | SpawnRefusal;
  run_id: string;
  child_id: SessionId;
  child_key: SessionKey;
  count: number;
}

function toValues({
  parent,
  plan,
  body,
  route,
  causeKey,
  turnId,
  sentBy = null,
  originRoute,
  limits,
  again,
  idempotency,
}: NewSpawn): unknown[] {
  const childId = again?.childId ?? newId<SessionId>();
  return [
    parent.id,
    newId<string>(),
    childId,
    again?.childKey ?? `agent:${plan.agentId}:subagent:${newId<string>()}`,
    plan.agentId,
    newId<MessageId>(),
    body,
    route,
    plan.task,
    plan.label,
    plan.model,
    plan.thinking,
    plan.cleanup,
    plan.mode,
    plan.runTimeoutSeconds,
    causeKey,
    turnId,
    originRoute,
    limits.depthMax,
    limits.childrenMax,
    limits.descendantsMax,
    ...keyValues(idempotency),
    plan.deliver === undefined ? null : JSON.stringify(plan.deliver),
    sentBy === null ? null : JSON.stringify({ sentBy }),
    storedOptions(sharedOptions(plan.options ?? {})),
  ];
}
