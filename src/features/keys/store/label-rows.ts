// Gives the rows from before a prefix of `holdfast.scopes` their label: the id of the longest prefix
// that their root begins with. Rows that are written after its commit get it when they are inserted.
//
// First sessions, then what belongs to them, in portions. Each step waits until every transaction
// has ended that may have inserted a row without seeing what came before: the prefix, or the label
// of the row's session. A trigger (0111) takes the number of its transaction before it reads, so
// those have numbers up to that of a transaction which begins when the step is known to be
// committed. The statements of a turn, which have no trigger, read the label of a session that they
// have locked: the row as it is under the lock, not as their snapshot has it. A portion locks it,
// too, so either they read the new label or their rows are committed before it is.
//
// Any number of processes may: the row of the prefix is locked for a portion, and a label that is
// given is not given again, so a crash at any moment only repeats a portion.
import type { Database } from '../../../database/database.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { transaction } from '../../../database/transaction.ts';

const SESSIONS_MAX = 300;
/** Sessions whose rows one portion looks through. */
const OWNERS_MAX = 100;
const ROWS_MAX = 300;
const TABLES = [
  'turns',
  'inbox',
  'deliveries',
  'events',
  'approvals',
  'dead_letters',
  'turn_scores',
  'search_texts',
] as const;

/** SQL of whether rows are without their label. */
export const IS_UNLABELLED_SQL = `exists (select from holdfast.scopes c where c.step is not null)`;

/** A step of a prefix; each is done once. */
interface Step {
  id: number;
  step: 'sessions' | 'rows';
  /** False: it is not stored for which transactions it waits. */
  isKnown: boolean;
  /** True: they have ended. */
  isReady: boolean;
}

export const readSteps = literalQuery({
  name: 'read-steps-of-labels',
  purpose: 'Read the prefixes whose older rows are without their label.',
  pool: 'views',
  // Numbers of another cluster, from which the database was restored, say nothing.
  text: `select c.id, c.step, coalesce(c.known_after < pg_snapshot_xmax(now.snapshot), false) as "isKnown",
  coalesce(c.known_after < pg_snapshot_xmin(now.snapshot), false) as "isReady"
from holdfast.scopes c cross join (select pg_current_snapshot() as snapshot) as now where c.step is not null order by c.id`,
  answer: (steps: Step[]) => steps,
});

export const noteStep = literalQuery({
  name: 'note-step-of-labels',
  purpose: 'Store which transactions a step waits for, which was committed before this transaction began.',
  locking: 'The row of the prefix.',
  pool: 'views',
  text: `update holdfast.scopes c set known_after = pg_current_xact_id()
where c.id = $id and c.step = $step and coalesce(c.known_after >= pg_snapshot_xmax(pg_current_snapshot()), true)`,
  values: (step: Step) => step,
});

/** A prefix, and the session that its step has come to. */
interface HeldStep {
  id: number;
  prefix: string;
  afterRoot: string;
  afterId: string;
}

export const lockStep = literalQuery({
  name: 'lock-step-of-labels',
  purpose: 'Lock a prefix for a portion of its step; null: another process has it, or the step is done.',
  locking: 'The row of the prefix, skipping it when it is locked.',
  text: `select c.id, c.prefix, coalesce(c.after_root, '') as "afterRoot", coalesce(c.after_id, '00000000-0000-0000-0000-000000000000') as "afterId"
from holdfast.scopes c where c.id = $id and c.step = $step for update skip locked`,
  values: ({ id, step }: Step) => ({ id, step }),
  answer: ([step]: HeldStep[]) => step ?? null,
});

/** The last session of a portion; null: none is left. */
type Place = { root: string; id: string } | null;

const ROOT = 'coalesce(s.root, s.key collate "C")';

const nextSessionsSql = (limit: number): string => `chosen as materialized (
  select s.id, ${ROOT} as root, s.scope from holdfast.sessions s
  where ${ROOT} >= $prefix collate "C" and ${ROOT} < ($prefix || '~') collate "C"
    and (${ROOT}, s.id) > ($afterRoot collate "C", $afterId::uuid)
  order by ${ROOT}, s.id limit ${limit}
)`;

export const labelSessions = literalQuery({
  name: 'label-sessions',
  purpose: 'Give some older sessions the label of a prefix, if they have none of a longer one.',
  locking: 'The session rows, in the order of their ids.',
  text: `with ${nextSessionsSql(SESSIONS_MAX)},
locked as materialized (
  select s.id, s.scope from holdfast.sessions s where s.id = any (array(select id from chosen)) order by s.id for no key update
),
labelled as (
  update holdfast.sessions s set scope = $id from locked left join holdfast.scopes c on c.id = locked.scope
  where s.id = locked.id and coalesce(length(c.prefix), 0) < length($prefix)
)
select root, id from chosen order by root desc, id desc limit 1`,
  values: (step: HeldStep) => step,
  answer: ([last]: NonNullable<Place>[]): Place => last ?? null,
});

// All sessions are locked before the first row, as by a turn. What is found before needs no lock: a label is only
// given to a row that has another.
export const labelRows = literalQuery({
  name: 'label-rows',
  purpose: 'Give some older rows the labels of their sessions. Answers how many, and the last of the sessions.',
  locking: 'The session rows, in the order of their ids, then the rows that belong to them.',
  text: `with ${nextSessionsSql(OWNERS_MAX)},
found as materialized (
  ${TABLES.map(
    (table) => `select '${table}' as place, x.id, chosen.id as session_id from chosen cross join lateral (
    select x.id::text as id from holdfast.${table} x where x.session_id = chosen.id and x.scope is distinct from chosen.scope limit ${ROWS_MAX}
  ) as x`,
  ).join('\n  union all ')}
  limit ${ROWS_MAX}
),
locked as materialized (
  select s.id, s.scope from holdfast.sessions s where s.id = any (array(select session_id from found)) order by s.id for no key update
),
${TABLES.map(
  (table) => `labelled_${table} as (
  update holdfast.${table} x set scope = locked.scope from locked
  where x.id = any (array(select id::${table === 'events' ? 'bigint' : 'uuid'} from found where place = '${table}'))
    and x.session_id = any (array(select id from locked)) and x.session_id = locked.id and x.scope is distinct from locked.scope
)`,
).join(',\n')}
select (select count(*) from found)::int as rows, (select root from chosen order by root desc, id desc limit 1) as root,
  (select id from chosen order by root desc, id desc limit 1) as id`,
  values: ({ prefix, afterRoot, afterId }: HeldStep) => ({ prefix, afterRoot, afterId }),
  // There may be more rows of these sessions.
  answer: ([found]: { rows: number; root: string | null; id: string | null }[], { afterRoot, afterId }): Place => {
    const { rows = 0, root = null, id = null } = found ?? {};
    if (rows === ROWS_MAX) return { root: afterRoot, id: afterId };
    return root === null || id === null ? null : { root, id };
  },
});

export const moveStep = literalQuery({
  name: 'move-step-of-labels',
  purpose: 'Store how far the step of a prefix has come; after its last session, the next step begins.',
  locking: 'The row of the prefix, which the transaction has locked.',
  text: `update holdfast.scopes c set after_root = $root, after_id = $sessionId,
  step = case when $sessionId::uuid is not null then c.step when c.step = 'sessions' then 'rows' end,
  known_after = case when $sessionId::uuid is not null then c.known_after end
where c.id = $id`,
  values: ({ id }: HeldStep, place: Place) => ({ id, root: place?.root, sessionId: place?.id }),
});

/**
 * Does a portion. `waiting`: there is more, but transactions have to end first, or other processes
 * are at it. `done`: every row has its label.
 */
export async function labelSome(database: Database): Promise<'worked' | 'waiting' | 'done'> {
  const steps = await readSteps(database);
  for (const step of steps) if (!step.isKnown) await noteStep(database, step);
  for (const step of steps) if (step.isKnown && step.isReady && (await workOn(database, step))) return 'worked';
  return steps.length === 0 ? 'done' : 'waiting';
}

/** False: another process is at it. */
function workOn(database: Database, step: Step): Promise<boolean> {
  return transaction(database.views, async (tx) => {
    const held = await lockStep(tx, step);
    if (held === null) return false;
    const label = step.step === 'sessions' ? labelSessions : labelRows;
    await moveStep(tx, held, await label(tx, held));
    return true;
  });
}
