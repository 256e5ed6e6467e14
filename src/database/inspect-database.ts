// Checks a database before it is used: whether it answers, is PostgreSQL of a supported version,
// accepts writes, and whether its schema `holdfast` was made by Holdfast. Each fault is one error
// with a code, so that a start and the doctor report the same.
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { viewQuery } from './literal-query.ts';

export interface InspectedDatabase {
  /** PostgreSQL's `server_version_num`, such as 150004. */
  version: number;
  /** How far this machine's clock is ahead of the database's, in milliseconds. */
  skewMs: number;
  /** What works and should be known, one sentence each. */
  warnings: string[];
}

type Fault =
  | 'database_silent'
  | 'not_postgres'
  | 'database_too_old'
  | 'database_pooled'
  | 'database_read_only'
  | 'database_no_create'
  | 'foreign_schema';

/** This database cannot be used; the code says why. */
class UnusableDatabaseError extends Error {
  readonly code: Fault;
  constructor(code: Fault, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UnusableDatabaseError';
    this.code = code;
  }
}

const MAJOR_VERSION_MIN = 15;

/** A server that needs longer to let a client in, or to answer, counts as not answering. */
const ANSWER_MS_MAX = 5_000;

/**
 * How often the clients are compared: a pooler under load may give each another process by chance.
 */
const SHARING_ROUNDS = 3;

/**
 * Throws `UnusableDatabaseError`, or the driver's error when the server cannot be reached or
 * refuses the login.
 */
export async function inspectDatabase(databaseUrl: string): Promise<InspectedDatabase> {
  const [client, second] = [createClient(databaseUrl), createClient(databaseUrl)];
  try {
    await client.connect();
    const found = await inspect(client);
    await second.connect();
    await refuseSharing(client, second);
    return found;
  } catch (error) {
    throw explain(error, `${client.host}:${client.port}`);
  } finally {
    // A server that never answers would not answer to this either.
    for (const one of [client, second]) void one.end().catch(() => undefined);
  }
}

/** A client that connects as the pools do: with settings that a pooler refuses or drops. */
function createClient(databaseUrl: string): pg.Client {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'holdfast:inspect',
    connectionTimeoutMillis: ANSWER_MS_MAX,
    query_timeout: ANSWER_MS_MAX,
    statement_timeout: ANSWER_MS_MAX,
    options: '-c enable_seqscan=off',
  });
  client.on('error', () => undefined);
  return client;
}

/**
 * Two clients of PostgreSQL have two server processes for as long as they are connected; those of a
 * pooler share them.
 */
async function refuseSharing(...clients: pg.Client[]): Promise<void> {
  const pids = new Map<number, pg.Client>();
  for (let round = 1; round <= SHARING_ROUNDS; round += 1) {
    for (const client of clients) {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const pid = rows[0]?.pid ?? 0;
      if ((pids.get(pid) ?? client) !== client) throw pooled('gives one server process to several connections');
      pids.set(pid, client);
    }
  }
}

function pooled(what: string, cause?: unknown): UnusableDatabaseError {
  return new UnusableDatabaseError(
    'database_pooled',
    `DATABASE_URL names a pooler that ${what}. Holdfast needs connections of its own: it has prepared statements, notifications and locks on them.`,
    cause,
  );
}

async function inspect(client: pg.Client): Promise<InspectedDatabase> {
  // By itself, because the other statement is written for versions that will do.
  const shown = await client.query<{ server_version_num: string }>('show server_version_num');
  const version = Number(shown.rows[0]?.server_version_num);
  const name = `PostgreSQL ${Math.floor(version / 10_000)}.${version % 10_000}`;
  if (version < MAJOR_VERSION_MIN * 10_000) {
    throw new UnusableDatabaseError(
      'database_too_old',
      `${name} is too old: version ${MAJOR_VERSION_MIN} or newer is needed.`,
    );
  }
  const before = { wallMs: Date.now(), monotonicMs: performance.now() };
  const facts = await readFacts(client);
  const halfTripMs = (performance.now() - before.monotonicMs) / 2;
  refuse(facts);
  return { version, skewMs: before.wallMs + halfTripMs - facts.now.getTime(), warnings: listWarnings(facts) };
}

interface Facts {
  now: Date;
  database: string;
  role: string;
  has_settings: boolean;
  is_read_only: boolean;
  synchronous_commit: string;
  fsync: string;
  has_schema: boolean;
  has_objects: boolean;
  is_ours: boolean;
  may_create: boolean;
}

export const readFacts = viewQuery({
  name: 'inspect',
  purpose: 'Read what the database is, before it is used.',
  text: `select clock_timestamp() as now, current_database() as database, current_user as role,
  current_setting('enable_seqscan') = 'off' as has_settings,
  current_setting('transaction_read_only')::boolean as is_read_only,
  current_setting('synchronous_commit') as synchronous_commit, current_setting('fsync') as fsync,
  to_regnamespace('holdfast') is not null as has_schema,
  exists (select from pg_class c where c.relnamespace = to_regnamespace('holdfast')) as has_objects,
  (select count(*) = 2 from pg_attribute a
    where a.attrelid = to_regclass('holdfast.migrations') and a.attname in ('name', 'sha256')) as is_ours,
  has_database_privilege(current_database(), 'create') as may_create`,
  // A select without a table in `from` has one row.
  answer: ([facts]: Facts[]) => facts!,
});

function refuse(facts: Facts): void {
  const { database, role } = facts;
  if (!facts.has_settings) throw pooled('drops the settings of connections');
  if (facts.has_objects && !facts.is_ours) {
    const message = `The database "${database}" has a schema "holdfast" that was not made by Holdfast.`;
    throw new UnusableDatabaseError('foreign_schema', message);
  }
  if (facts.is_read_only) {
    const message = `The database "${database}" is read-only: it is a standby, or default_transaction_read_only is on.`;
    throw new UnusableDatabaseError('database_read_only', message);
  }
  if (!facts.has_schema && !facts.may_create) {
    const message = `The role "${role}" may not create schemas in the database "${database}".`;
    throw new UnusableDatabaseError('database_no_create', message);
  }
}

function listWarnings({ synchronous_commit: synchronousCommit, fsync }: Facts): string[] {
  return [...(synchronousCommit === 'off' ? ['synchronous_commit'] : []), ...(fsync === 'off' ? ['fsync'] : [])].map(
    (setting) => `${setting} is off: a crash of the database server loses accepted messages; turn it on`,
  );
}

/**
 * The driver's words for a server that is silent or speaks another protocol say neither; they have
 * no code.
 */
function explain(error: unknown, address: string): unknown {
  if (error instanceof pg.DatabaseError && /unsupported startup parameter/i.test(error.message))
    return pooled(`refuses the settings of connections (${error.message})`, error);
  if (!(error instanceof Error) || error instanceof UnusableDatabaseError || 'code' in error) return error;
  if (error instanceof AggregateError) return error;
  if (/timeout|timed out/i.test(error.message)) {
    const message = `The server at ${address} accepts connections but has not answered within ${ANSWER_MS_MAX / 1000} s.`;
    return new UnusableDatabaseError('database_silent', message, error);
  }
  return new UnusableDatabaseError(
    'not_postgres',
    `The server at ${address} does not answer as PostgreSQL does: ${error.message}`,
    error,
  );
}

/** True while the database has no session. */
export async function isDatabaseUnused(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return !(await hasSessions(client));
  } finally {
    await client.end();
  }
}

/** False also while there are no tables. */
export async function hasSessions(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ is_there: boolean }>(
    `select to_regclass('holdfast.sessions') is not null as is_there`,
  );
  if (rows[0]?.is_there !== true) return false;
  const found = await client.query('select 1 from holdfast.sessions limit 1');
  return found.rows.length > 0;
}
