// The processes as the API shows them.
import type { WorkerView } from '../../contract/workers.ts';
import { titleOfWorker } from '../../core/words.ts';
import { workerState } from '../rules/why.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { listOf } from '../../database/list-of.ts';

/** More turns than these run in few processes at once. */
const RUNNING_MAX = 100;

type WorkerRow = Omit<WorkerView, 'state' | 'title'> & { silentMs: number };

export const workers = listOf<object, WorkerRow, WorkerView>({
  name: 'list-workers',
  purpose: 'Read processes, newest first.',
  text: `select w.id, w.name, w.host, w.pid, w.roles, w.version, w.lanes, ${isoSql('w.started_at')} as "startedAt",
  ${isoSql('w.seen_at')} as "seenAt", ${isoSql('w.draining_at')} as "drainingAt", ${isoSql('w.queue_away_since')} as "queueAwaySince",
  w.memory_bytes::float8 as "memoryBytes", w.loop_delay_ms as "loopDelayMs",
  (select coalesce(json_agg(json_build_object('turnId', t.id, 'sessionKey', s.key, 'lane', t.lane, 'startedAt', ${isoSql('t.started_at')})
      order by t.started_at), '[]')
    from (select * from holdfast.turns o where o.ended_at is null and o.status = 'running' and o.worker = w.name limit ${RUNNING_MAX}) as t
    join holdfast.sessions s on s.id = t.session_id) as running,
  (extract(epoch from clock_timestamp() - w.seen_at) * 1000)::float8 as "silentMs"
from holdfast.workers w`,
  filters: {},
  order: 'w.id desc',
  show: ({ silentMs, ...row }) => ({
    ...row,
    title: titleOfWorker(row.name),
    state: workerState({ silentMs, isDraining: row.drainingAt !== null }),
  }),
});
