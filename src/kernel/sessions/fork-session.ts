// A fork: a new session that begins with a copy of another's active path, up to one of its entries.
// The two have nothing to do with each other afterwards; the copy remembers where it came from.
import type { Lane } from '../../config.ts';
import type { SessionId, SessionKey } from '../../core/ids.ts';
import { newId } from '../../ids.ts';
import type { Database } from '../../database/database.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';

export interface Fork {
  sourceKey: SessionKey;
  /** The last entry that is copied; null: the end of the path. */
  entryId: string | null;
  /**
   * The copy ends before the prompt of this turn, as the turn found the path; absent: the path is
   * that of now.
   */
  beforeTurnId?: string;
  target: { key: SessionKey; agentId: string; kind: string; lane: Lane; channel: string | null };
  idempotency?: KeyedRequest | null;
}

/**
 * `ok`: made, with so many entries. `exists`: there is a session of that key; `entries`: what the
 * copy would have. `unknown`: no such session. `unknown-entry`: the entry is not on its active
 * path.
 */
export type ForkResult =
  | { kind: 'ok'; sessionId: SessionId; entries: number }
  | { kind: 'exists'; entries: number }
  | { kind: 'unknown' | 'unknown-entry' };

// Renumbered in the order of the path, a summary first. An answer whose calls have no results yet
// is left out: its results will be stored in the source, never here.
export const copySession = literalQuery({
  name: 'fork-session',
  purpose: "Make a session that begins with a copy of another's active path. Answers how far it came.",
  locking: 'None: what is committed is copied.',
  text: `with source as materialized (select s.* from holdfast.sessions s where s.key = $sourceKey),
path as materialized (
  select e.*, row_number() over (order by e.kind <> 'summary', e.seq) as place
  from holdfast.entries e join source on e.session_id = source.id
  where $beforeTurnId::uuid is null and e.state = 'active' and e.transcript_no = source.transcript_no
  union all
  select e.*, row_number() over (order by e.kind <> 'summary', e.seq) as place
  from source join holdfast.turns t on t.id = $beforeTurnId and t.session_id = source.id
  join holdfast.entries p on p.session_id = source.id and p.seq = t.prompt_seq
  join holdfast.entries e on e.session_id = source.id and e.transcript_no = p.transcript_no and e.seq < p.seq
  where (e.state = 'active' or e.retired_seq > p.seq) and not coalesce(e.absences @> p.seq, false)
),
target as materialized (
  select max(path.place) as place from path where $entryId::uuid is null or path.id = $entryId
),
chosen as materialized (
  select path.* from path, target where path.place <= target.place + (
    -- The results of the chosen answer belong to it.
    select count(*) from path as next join path as last on last.place = target.place
    where next.place = target.place + 1 and last.kind = 'answer' and next.kind = 'results'
  )
),
whole as materialized (
  select chosen.* from chosen
  where not (chosen.kind = 'answer' and chosen.place = (select max(place) from chosen)
    and exists (select from json_array_elements(chosen.content) as block where block ->> 'type' = 'tool_use'))
),
made as (
  insert into holdfast.sessions (id, key, agent_id, kind, lane, channel, label, model, thinking, reasoning, queue_mode, queue_debounce_ms,
    queue_cap, queue_drop, entry_seq, leaf_seq, forked_from_id, forked_from_seq)
  select $copyId, $targetKey, $agentId, $kind, $lane, $channel, source.label, source.model, source.thinking, source.reasoning, source.queue_mode, source.queue_debounce_ms,
    source.queue_cap, source.queue_drop, (select count(*) from whole), (select nullif(count(*), 0) from whole), source.id,
    (select seq from whole order by place desc limit 1)
  from source, target where $entryId::uuid is null or target.place is not null
  on conflict (key) do nothing
  returning id
),
copied as (
  insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id, parts, provenance)
  select made.id, whole.place, whole.copy_id, 1, nullif(whole.place - 1, 0), whole.kind, whole.role, whole.content, whole.turn_id,
    whole.parts, whole.provenance
  from (select whole.*, gen_random_uuid() as copy_id from whole) as whole, made
),
${keyedSql(`select json_build_object('entries', (select count(*) from whole)) from made`)}
select target.place, made.id as made_id, (select count(*) from whole)::int as entries,
  (select s.id from holdfast.sessions s where s.key = $targetKey) as twin_id
from source cross join target left join made on true`,
  values({ sourceKey, entryId, beforeTurnId, target, idempotency }: Fork, copyId: SessionId) {
    const { agentId, kind, lane, channel } = target;
    return {
      sourceKey,
      entryId,
      copyId,
      targetKey: target.key,
      agentId,
      kind,
      lane,
      channel,
      beforeTurnId,
      ...idempotency,
    };
  },
  answer([row]: ForkRow[], { entryId }, copyId): ForkResult {
    if (row === undefined) return { kind: 'unknown' };
    if (entryId !== null && row.place === null) return { kind: 'unknown-entry' };
    if (row.made_id === null && row.twin_id !== copyId) return { kind: 'exists', entries: row.entries };
    return { kind: 'ok', sessionId: copyId, entries: row.entries };
  },
});

/** Copies a session. Sent again after an unknown outcome it finds its own copy. */
export function forkSession(database: Database, fork: Fork): Promise<ForkResult> {
  return copySession(database, fork, newId<SessionId>());
}

interface ForkRow {
  place: string | null;
  made_id: string | null;
  entries: number;
  twin_id: string | null;
}
