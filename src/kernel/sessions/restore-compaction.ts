// Undoing a compaction: the entries that its summary replaced become active again in their places,
// and the summary is retired. Newer entries stay. Later compactions of the same transcript are
// undone with it, since they include its summary. Each entry keeps the range in which it was
// retired, so that the requests of that time stay derivable.
import type { Committed } from '../queue/after-commit.ts';
import type { SessionId } from '../../core/ids.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { buildAfter, type RungColumns, RUNG_AGAIN_SQL } from '../queue/rings.ts';
import { literalQuery } from '../../database/literal-query.ts';

/**
 * `ok`: it is undone, now or earlier. `running`: a turn is open; end it first. `conflict`: it did
 * not succeed, or its transcript was ended by a reset. `unknown`: the session has no such
 * compaction.
 */
export interface Restoration {
  kind: 'ok' | 'running' | 'conflict' | 'unknown';
}

// The epoch is raised because of a worker that has claimed the session but not opened its turn yet,
// as in a reset.
export const restoreCompaction = literalQuery({
  name: 'restore-compaction',
  purpose: 'Undo a compaction, and the later ones of the same transcript.',
  locking: 'The session row.',
  text: `with locked as materialized (select s.* from holdfast.sessions s where s.key = $sessionKey for no key update),
wanted as materialized (
  select c.* from holdfast.compactions c join locked on c.session_id = locked.id where c.id = $compactionId
),
fit as materialized (
  select locked.*, wanted.summary_seq from locked, wanted
  where locked.turn_id is null and wanted.status = 'completed' and wanted.transcript_no = locked.transcript_no
),
returned as (
  update holdfast.entries e
  set state = 'active', retired_seq = null,
    absences = coalesce(e.absences, '{}') + int8multirange(int8range(e.retired_seq, fit.entry_seq + 1))
  from fit
  where e.session_id = fit.id and e.transcript_no = fit.transcript_no and e.state = 'compacted' and e.retired_seq >= fit.summary_seq
    and not (e.kind = 'summary' and e.seq >= fit.summary_seq)
),
withdrawn as (
  update holdfast.entries e
  set state = 'hidden', retired_seq = coalesce(e.retired_seq, fit.entry_seq + 1)
  from fit
  where e.session_id = fit.id and e.transcript_no = fit.transcript_no and e.kind = 'summary' and e.seq >= fit.summary_seq
    and e.state in ('active', 'compacted')
),
undone as (
  update holdfast.compactions c set status = 'restored' from fit
  where c.session_id = fit.id and c.transcript_no = fit.transcript_no and c.status = 'completed' and c.summary_seq >= fit.summary_seq
),
updated_sessions as (
  update holdfast.sessions s
  set transcript_version = s.transcript_version + 1, context_tokens = 0, leaf_seq = (
      -- The summary may be the last that was written.
      select max(e.seq) from holdfast.entries e
      where e.session_id = fit.id and e.transcript_no = fit.transcript_no and e.seq <= fit.leaf_seq
        and e.kind <> 'summary' and e.state in ('active', 'compacted')
    ), epoch = s.epoch + 1, owner = null, lease_expires_at = null,
    updated_at = clock_timestamp()
  from fit where s.id = fit.id
  returning s.*
),
${RUNG_AGAIN_SQL},
${keyedSql(`select json_build_object('restored', wanted.id) from wanted left join updated_sessions on true where updated_sessions.id is not null or wanted.status = 'restored'`)}
select locked.id, locked.turn_id, wanted.id as compaction_id, wanted.status, updated_sessions.id as moved_id, rung_doorbells.lane, rung_doorbells.rings
from locked left join wanted on true left join updated_sessions on true left join rung_doorbells on true`,
  values: ({ idempotency, ...compaction }: UndoneCompaction) => ({ ...compaction, ...idempotency }),
  answer([row]: RestoreRow[]): Committed<Restoration> {
    if (row === undefined || row.compaction_id === null) return { kind: 'unknown' };
    if (row.moved_id !== null) return { kind: 'ok', after: buildAfter('inbound', row.id, row) };
    if (row.status === 'restored') return { kind: 'ok' };
    return { kind: row.status === 'completed' && row.turn_id !== null ? 'running' : 'conflict' };
  },
});

interface UndoneCompaction {
  sessionKey: string;
  compactionId: string;
  idempotency?: KeyedRequest | null;
}

interface RestoreRow extends RungColumns {
  id: SessionId;
  turn_id: string | null;
  compaction_id: string | null;
  status: string | null;
  moved_id: string | null;
}
