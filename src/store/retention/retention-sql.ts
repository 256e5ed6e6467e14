// The shape of every statement that deletes old rows. A pass walks a table along its primary key, a bounded number of rows at a time, and stores
// where it is in the row of its kind in `retention`. That row is its lock, too: a process that finds it locked leaves the kind to the other.
// A statement deletes whole units and stores the place after them, so a crash between two statements loses nothing, and one in a statement undoes it.
import { idOfTimeSql } from '../id-of-time.ts';
import { literal, type Statement } from '../statement.ts';

/** Milliseconds between the end of a pass and the next one. */
const PASS_EVERY_MS = 600_000;

/** The ids of rows grow with time, so newer rows than the cutoff need not be read. */
export const WALK_END_SQL = `(select ${idOfTimeSql('walk.cutoff_at')} from walk)`;
export const WALK_ID_SQL = `coalesce((select walk.position::uuid from walk), '00000000-0000-0000-0000-000000000000')`;
export const CUTOFF_SQL = '(select walk.cutoff_at from walk)';

export interface PassParts {
  name: string;
  kind: string;
  purpose: string;
  locking: string;
  /** The select of the rows in order, of at most `size` rows; they have what `place` and `due` read. */
  chunk: string;
  size: number;
  /** The condition on `chunk` under which the place moves past it; absent: always. */
  isPassedSql?: string;
  /** SQL of the position after the row `c` of the chunk that is last; `order` is how the rows are ordered. */
  place: string;
  order: string;
  /** The CTEs that lock and delete; the last one, `gone`, has a row for each row that is counted. */
  deletes: string;
}

/** $1: how long rows are kept, in milliseconds. Answers a row when there was something to do. */
export function passStatement(parts: PassParts): Statement<unknown[]> {
  const { kind, size, isPassedSql = 'true' } = parts;
  return literal({
    name: parts.name,
    purpose: parts.purpose,
    locking: `The row of the pass, unless another process holds it, then ${parts.locking}`,
    text: `with walk as materialized (
  select r.position, least(r.cutoff_at, clock_timestamp() - $1::float8 * interval '1 millisecond') as cutoff_at from holdfast.retention r
  where r.kind = '${kind}'
    and (r.position is not null or r.completed_at is null or r.completed_at < clock_timestamp() - ${PASS_EVERY_MS} * interval '1 millisecond')
  for update skip locked
),
chunk as materialized (
  ${parts.chunk}
  limit ${size}
),
${parts.deletes},
looked as (select (select count(*) from chunk) = ${size} or not (${isPassedSql}) as has_more, (select count(*) from gone) as deleted)
update holdfast.retention r set keep_ms = $1::float8::bigint,
  position = case when not looked.has_more then null when not (${isPassedSql}) then coalesce(walk.position, r.position, '')
    else (select ${parts.place} from chunk c order by ${parts.order} limit 1) end,
  cutoff_at = case when looked.has_more then walk.cutoff_at end,
  deleted = r.deleted + looked.deleted,
  deleted_in_pass = case when walk.position is null then 0 else r.deleted_in_pass end + looked.deleted,
  completed_to = case when looked.has_more then r.completed_to else walk.cutoff_at end,
  completed_at = case when looked.has_more then r.completed_at else clock_timestamp() end
from looked, walk where r.kind = '${kind}'
returning looked.has_more as "hasMore", looked.deleted::int as deleted, r.deleted_in_pass::int as "deletedInPass"`,
  });
}
