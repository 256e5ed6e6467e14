// The rounds of retention in a scheduler: old rows of all kinds, events, and the rows and notes of
// lost workers.
import type { Logger } from '../../logger.ts';
import { trimWorkers } from '../../kernel/processes/report-worker.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { BREATH_MS, every, TIDY_ROUND_MS, trims } from '../../kernel/queue/start-rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { workOff } from '../../work-off.ts';
import { beginRetention, RETENTION_KINDS } from './retention-kinds.ts';
import { TRIM_MARK } from '../../database/event-ids.ts';
import { literalQuery } from '../../database/literal-query.ts';

export function openRetention({ service, logger }: Process): ProcessPart {
  const { database, config } = service;
  return {
    rounds: [
      {
        round: (signal) => runRetention(service, logger, signal),
        pauseMs: { ...every(TIDY_ROUND_MS), first: 0 },
        failure: 'Deletion of old rows failed; the next round retries',
      },
      trims('events', async () => {
        if (await trimEvents(database, config.events.retention)) return true;
        await trimWorkers(database, config.events.retention);
        return false;
      }),
    ],
  };
}

/**
 * Deletes old rows of all kinds that have an age. With the pauses between its small statements,
 * which are at least as long as these took, it uses at most half of one connection, and deletes at
 * most some thousand rows per second.
 */
export async function runRetention(
  { database, config }: Pick<Service, 'database' | 'config'>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  await beginRetention(database);
  for (const deleteSome of RETENTION_KINDS) {
    const { kind, setting } = deleteSome;
    const keepMs = config.retention[setting];
    if (keepMs === undefined) continue;
    const portion = async (): Promise<boolean> => {
      const step = await deleteSome(database, keepMs);
      if (step?.hasMore === false && step.deletedInPass > 0)
        logger.info({ kind, setting, deleted: step.deletedInPass }, 'Old rows were deleted');
      return step?.hasMore === true;
    };
    await workOff(portion, { signal, pauseMs: BREATH_MS });
  }
}

// Events are for watching, not for keeping: those that are older than the retention go, oldest
// first, a bounded number at a time. So do notes of lost workers, which matter only until their
// turns are claimed.
//
// The last event that goes stays as a mark without content, the oldest row of the log. A reader
// whose last id is below it has missed events, and can say so (`readEvents`); without the mark, a
// log that was trimmed would look like one in which nothing had happened.

/** Events deleted in one statement at most. */
const TRIMMED_MAX = 5_000;

/** Resolves with whether there may be more. Ids grow with time, so only the oldest are read. */
export const trimEvents = literalQuery({
  name: 'trim-events',
  purpose:
    'Delete events that are older than the retention and in the roll-ups, a bounded number at a time, leave a mark in place of the last, and delete old notes of lost workers.',
  locking: 'The events, in the order of their ids.',
  text: `with oldest as materialized (
  select e.id, e.id <= (select c.after_id from holdfast.roll_up_cursor c where c.singleton)
      and e.created_at < clock_timestamp() - $1 * interval '1 millisecond' as is_expired
  from holdfast.events e order by e.id limit ${TRIMMED_MAX}
),
expired_events as materialized (
  select o.id from oldest o
  where o.id < coalesce((select min(kept.id) from oldest kept where kept.is_expired is not true), 9223372036854775807)
),
last_expired as (select max(x.id) as id from expired_events x),
deleted_events as (
  delete from holdfast.events e using expired_events x where e.id = x.id and x.id < (select l.id from last_expired l) returning e.id
),
marked_events as (
  update holdfast.events e set type = '${TRIM_MARK}', session_id = null, turn_id = null, data = '{}'
  from last_expired l where e.id = l.id and e.type <> '${TRIM_MARK}'
),
old_workers as (delete from holdfast.lost_workers w where w.noticed_at < clock_timestamp() - interval '1 day')
select count(*)::int as deleted from deleted_events`,
  values: (retentionMs: number) => [retentionMs],
  // All that one statement reads were expired: one of them is the mark.
  answer: ([row]: { deleted: number }[]) => row?.deleted === TRIMMED_MAX - 1,
});
