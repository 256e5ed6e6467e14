// (s) What more processes add at 64 sessions, and what a turn costs the database: turns per second
// with 1, 2 and 4 processes (8 where there are as many processors), the processor time of
// PostgreSQL and of Holdfast per turn, and the rows and bytes that a turn leaves.
import { availableParallelism } from 'node:os';
import { migrate } from '../../src/database/migrate.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';
import { askDatabase, serverPidOf } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { allRoles } from '../rig/bench-service.ts';
import { historyEntriesUsual, turnText } from '../rig/prompts.ts';
import { processorMsOf } from '../rig/process-tree.ts';
import { startRedisServer } from '../rig/redis-server.ts';

export const scaling: BenchPart = { letter: 's', title: 'turns per second with more processes', run };

const sessions = 64;

async function run(context: BenchContext): Promise<BarLine[]> {
  const counts = [1, 2, 4, ...(availableParallelism() >= 8 ? [8] : [])];
  const redis = await startRedisServer();
  try {
    const lines: BarLine[] = [];
    for (const { queue, env } of [
      { queue: 'PostgreSQL', env: {} },
      { queue: 'Redis', env: { REDIS_URL: redis.url } },
    ]) {
      let ofOne: Measured | null = null;
      for (const processes of counts) {
        const measured = await measure(context, {
          processes,
          name: `scaling_${queue.toLowerCase()}_${processes}`,
          env,
        });
        ofOne ??= measured;
        lines.push({
          part: 's',
          what: `turns/s of ${processes} processes to one, the queue in ${queue}`,
          floor: `${formatNumber(ofOne.turnsPerSecond)}/s`,
          holdfast: describe(measured),
          measured: measured.turnsPerSecond / ofOne.turnsPerSecond,
          unit: 'x',
          bar: null,
        });
      }
    }
    return lines;
  } finally {
    await redis.stop();
  }
}

interface Measured {
  turnsPerSecond: number;
  /**
   * Of the server with all its processes, and of the service without the server: milliseconds per
   * turn.
   */
  postgresMs: number;
  serviceMs: number;
  /**
   * What a turn leaves in the database: rows, their bytes with indexes, and the bytes of the
   * write-ahead log.
   */
  rows: number;
  bytes: number;
  walBytes: number;
}

function describe({ turnsPerSecond, postgresMs, serviceMs, rows, bytes, walBytes }: Measured): string {
  return (
    `${formatNumber(turnsPerSecond)}/s; per turn: PostgreSQL ${formatNumber(postgresMs)} ms, Holdfast ${formatNumber(serviceMs)} ms, ` +
    `${formatNumber(rows)} rows, ${formatNumber(bytes / 1e3)} kB, ${formatNumber(walBytes / 1e3)} kB of log`
  );
}

/** The load on a new database, with one process that has all roles and further workers. */
async function measure(
  context: BenchContext,
  { processes, name, env }: { processes: number; name: string; env: Record<string, string> },
): Promise<Measured> {
  const { turnsEach, warmUpTurns } = context.isQuick
    ? { turnsEach: 10, warmUpTurns: 4 }
    : { turnsEach: 60, warmUpTurns: 30 };
  const databaseUrl = await context.place.createDatabase(name);
  await migrate(databaseUrl);
  await migrateQueue(databaseUrl);
  const server = await serverPidOf(databaseUrl);
  const roles = [allRoles, ...Array.from({ length: processes - 1 }, () => 'worker')];
  return await withService(context, { roles, env: { ...env, DATABASE_URL: databaseUrl } }, async (service) => {
    context.say(`${name}: ${roles.join(' | ')}`);
    const keys = await service.seed(sessions, historyEntriesUsual);
    await service.run({ sessions: keys, turnsEach: warmUpTurns, text: turnText });
    const measure = async () => ({
      ...(await sizeOf(databaseUrl)),
      postgresMs: processorMsOf([server]),
      serviceMs: processorMsOf(service.pids, 'postgres'),
    });
    const before = await measure();
    const { turns, turnsPerSecond } = await service.run({ sessions: keys, turnsEach, text: turnText });
    const after = await measure();
    const each = (key: keyof typeof after): number => (after[key] - before[key]) / turns;
    return {
      turnsPerSecond,
      postgresMs: each('postgresMs'),
      serviceMs: each('serviceMs'),
      rows: each('rows'),
      bytes: each('bytes'),
      walBytes: each('walBytes'),
    };
  });
}

async function sizeOf(databaseUrl: string): Promise<{ rows: number; bytes: number; walBytes: number }> {
  const [row] = await askDatabase<{ rows: number; bytes: number; walBytes: number }>(
    databaseUrl,
    `select
       sum((xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I.%I', schemaname, relname), false, true, '')))[1]::text::float8) as rows,
       sum(pg_total_relation_size(relid))::float8 as bytes,
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as "walBytes"
     from pg_stat_user_tables where schemaname = 'holdfast'`,
  );
  if (row === undefined) throw new Error('the size of the database is unknown');
  return row;
}
