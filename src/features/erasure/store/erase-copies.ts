// What an erasure does to data sets: items that were copied from the sessions are emptied, with what
// was said in their runs, and the sessions of these runs are erased, too. Versions, numbers and what
// graders said of passing stay, so that an evaluation is still counted as it was.
import type { Database } from '../../../database/database.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { LASTING_RETRY_MS } from '../../../database/passing-faults.ts';
import { ERASING } from '../../../core/session-key.ts';
import { inPortions, portionAnswerSql, type ErasedPortion } from './in-portions.ts';
import type { FamilyMember } from './erase-sessions.ts';

const PORTION_ITEMS = 5_000;

/** Items of the sessions, and of conversations that began in one of them. */
const OF_KEYS = '(coalesce(i.session_key = any ($keys::text[]), false) or i.group_key = any ($keys::text[]))';

export const readRunsOfCopies = literalQuery({
  name: 'read-runs-of-copies',
  purpose: 'Read how the keys of the sessions begin in which items were run that were copied from sessions.',
  pool: 'views',
  text: `select 'agent:' || i.agent_id || ':try:' || e.id || '-' || i.n as run
from holdfast.dataset_items i join holdfast.evaluations e on e.dataset_id = i.dataset_id where ${OF_KEYS}`,
  values: (keys: readonly string[]) => ({ keys }),
  answer: (rows: { run: string }[]) => rows.map(({ run }) => run),
});

export const readRunSessions = literalQuery({
  name: 'read-sessions-of-runs',
  purpose: 'Read the sessions of runs, by how their keys begin, also of an erasure that was broken off.',
  pool: 'views',
  // A dot comes right after a dash.
  text: `select s.id, s.key, s.turn_id is not null or s.waiting > 0 as "hasWork", s.turn_id is not null as "isBusy"
from unnest($1::text[]) as runs (run) cross join (values (''), ('${ERASING}')) as marks (mark)
join holdfast.sessions s on coalesce(s.root, s.key collate "C") >= (mark || run || '-') collate "C" and coalesce(s.root, s.key collate "C") < (mark || run || '.') collate "C"
order by s.id`,
  values: (runs: readonly string[]) => [runs],
  answer: (members: FamilyMember[]) => members,
});

/** A family with the sessions in which copies of it were run, and copies of these. */
export async function withRuns(
  database: Database,
  family: readonly FamilyMember[],
): Promise<{ members: FamilyMember[]; runs: string[] }> {
  let found: { members: FamilyMember[]; runs: string[] } = { members: [...family], runs: [] };
  for (;;) {
    const runs = await readRunsOfCopies(database, found.members.map(keyOf));
    if (runs.length === found.runs.length) return found;
    const sessions = await readRunSessions(database, runs);
    const known = new Set(family.map(({ id }) => id));
    found = { members: [...family, ...sessions.filter(({ id }) => !known.has(id))], runs };
  }
}

/** The key of a session before its erasure. */
export function keyOf({ key }: Pick<FamilyMember, 'key'>): string {
  return key.replace(ERASING, '');
}

export const emptyCopiesAfter = literalQuery({
  name: 'empty-copies-of-sessions',
  purpose:
    'Empty the items of data sets that were copied from sessions, with the words of their runs, or count them, of a portion after an item. Answers how many, and the last item.',
  locking: 'The items, then their runs.',
  pool: 'views',
  retryMs: LASTING_RETRY_MS,
  values: (keys: readonly string[], [datasetId, n]: readonly unknown[], isDry: boolean) => ({
    keys,
    datasetId,
    n,
    isDry,
  }),
  answer: ([portion]: ErasedPortion[]) => portion,
  text: `with portion as materialized (
  select i.dataset_id, i.n, ${OF_KEYS} as is_theirs from holdfast.dataset_items i where (i.dataset_id, i.n) > ($datasetId::uuid, $n::int)
  order by i.dataset_id, i.n limit ${PORTION_ITEMS}
),
emptied as (
  update holdfast.dataset_items i
  set state = 'erased', excluded = null, turn_id = null, session_key = null, input = null, expected = null, reply = null, request = null,
    steps = '[]', call_count = 0, tags = '{}', metadata = '{}',
    group_key = case when i.group_key = any ($keys::text[]) then 'erased:' || i.n else i.group_key end
  from portion p where not $isDry::boolean and p.is_theirs and i.dataset_id = p.dataset_id and i.n = p.n
  returning i.dataset_id, i.n
),
emptied_runs as (
  update holdfast.evaluation_runs r set reply = null, output = null, calls = '[]', divergence = null, error = null, grades = '[]'
  from emptied join holdfast.evaluations e on e.dataset_id = emptied.dataset_id where r.evaluation_id = e.id and r.n = emptied.n
)
${portionAnswerSql('case when $isDry then (select count(*) from portion where is_theirs) else (select count(*) from emptied) end', ['dataset_id', 'n'])}`,
});

/** Empties the items of the sessions; resolves with how many. `isDry`: counts them. */
export function emptyCopies(database: Database, keys: readonly string[], isDry = false): Promise<number> {
  return inPortions(['00000000-0000-0000-0000-000000000000', 0], (after) =>
    emptyCopiesAfter(database, keys, after, isDry),
  );
}
