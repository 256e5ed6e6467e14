// How many rows there are that belong to no try, by table: what an evaluation must leave alone.
import { send, type Store } from '../../rows/table.ts';

/** The tables of evaluations and batches without a session, and what processes count and say of themselves. */
const WRITTEN =
  'evaluations batches batch_minutes minute_marks minute_samples row_counts usage_buckets workers lost_workers'.split(
    ' ',
  );

/**
 * The counts of rows of sessions that are no tries, by tables; of tables without sessions, of all
 * rows. Events without a session are of the service.
 */
export async function countRowsOutsideTries(store: Store): Promise<Record<string, number>> {
  const tables = (await send(
    store,
    `select c.table_name as name, array_agg(c.column_name::text) as columns from information_schema.columns c
     join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
     where c.table_schema = 'holdfast' group by c.table_name order by c.table_name`,
  )) as { name: string; columns: string[] }[];
  const counts: Record<string, number> = {};
  for (const { name, columns } of tables) {
    if (WRITTEN.includes(name)) continue;
    const [row] = (await send(
      store,
      `select count(*)::int as n from holdfast.${name} r ${whereOf(name, columns)}`,
    )) as { n: number }[];
    counts[name] = row?.n ?? 0;
  }
  return counts;
}

function whereOf(name: string, columns: readonly string[]): string {
  const others = "(select s.id from holdfast.sessions s where s.kind <> 'try')";
  if (name === 'sessions') return "where r.kind <> 'try'";
  if (columns.includes('session_id')) return `where r.session_id in ${others}`;
  if (columns.includes('turn_id'))
    return `where r.turn_id in (select t.id from holdfast.turns t where t.session_id in ${others})`;
  return '';
}
