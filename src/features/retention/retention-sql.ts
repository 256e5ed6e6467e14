// The shape of every statement that deletes old rows. A pass walks a table along its primary key, a
// bounded number of rows at a time, and stores where it is in the row of its kind in `retention`.
// That row is its lock, too: a process that finds it locked leaves the kind to the other. A
// statement deletes whole units and stores the place after them, so a crash between two statements
// loses nothing, and one in a statement undoes it.
import type { Config } from '../../config.ts';
import { idOfTimeSql } from '../../database/page.ts';
import { literalQuery } from '../../database/literal-query.ts';

/** Milliseconds between the end of a pass and the next one. */
const PASS_EVERY_MS = 600_000;

/**
 * SQL of a chunk of a table whose ids grow with time: newer rows than the cutoff need not be read.
 */
export const chunkByIdSql = (table: string): string => `select r.id from holdfast.${table} r
  where r.id > coalesce((select walk.position::uuid from walk), '00000000-0000-0000-0000-000000000000')
    and r.id < (select ${idOfTimeSql('walk.cutoff_at')} from walk) order by r.id`;
export const CUTOFF_SQL = '(select walk.cutoff_at from walk)';

/** What one statement did. */
export interface RetentionStep {
  /** False: the pass is complete. */
  hasMore: boolean;
  deleted: number;
  deletedInPass: number;
}

interface PassParts<Kind> {
  name: string;
  purpose: string;
  locking: string;
  kind: Kind;
  /** The setting with the age of the rows; absent there: such rows are kept. */
  setting: keyof Config['retention'];
  /**
   * The select of the rows in order, of at most `size` rows; they have what `place` and `due` read.
   */
  chunk: string;
  size: number;
  /** The condition on `chunk` under which the place moves past it; absent: always. */
  isPassedSql?: string;
  /**
   * SQL of the position after the row `c` of the chunk that is last; `order` is how the rows are
   * ordered.
   */
  place?: string;
  order?: string;
  /**
   * The CTEs that lock and delete; the last one, `gone`, has a row for each row that is counted.
   */
  deletes: string;
}

/**
 * Deletes a bounded number of rows, older than so many milliseconds; null: another process does, or
 * the last pass has just ended.
 */
export function retentionPass<const Kind extends string>({ kind, setting, ...parts }: PassParts<Kind>) {
  const { size, isPassedSql = 'true', place = 'c.id::text', order = 'c.id desc' } = parts;
  const deleteSome = literalQuery({
    name: parts.name,
    purpose: parts.purpose,
    locking: `The row of the pass, unless another process holds it, then ${parts.locking}`,
    pool: 'views',
    values: (keepMs: number) => [keepMs],
    answer: ([step]: RetentionStep[]) => step ?? null,
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
counted as (select (select count(*) from chunk) = ${size} or not (${isPassedSql}) as has_more, (select count(*) from gone) as deleted)
update holdfast.retention r set keep_ms = $1::float8::bigint,
  position = case when not counted.has_more then null when not (${isPassedSql}) then coalesce(walk.position, r.position, '')
    else (select ${place} from chunk c order by ${order} limit 1) end,
  cutoff_at = case when counted.has_more then walk.cutoff_at end,
  deleted = r.deleted + counted.deleted,
  deleted_in_pass = case when walk.position is null then 0 else r.deleted_in_pass end + counted.deleted,
  completed_to = case when counted.has_more then r.completed_to else walk.cutoff_at end,
  completed_at = case when counted.has_more then r.completed_at else clock_timestamp() end
from counted, walk where r.kind = '${kind}'
returning counted.has_more as "hasMore", counted.deleted::int as deleted, r.deleted_in_pass::int as "deletedInPass"`,
  });
  return Object.assign(deleteSome, { kind, setting });
}
