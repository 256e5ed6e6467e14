// Which items a request adds to a data set: turns by their ids or by a filter, or cases as lines.
// What is wrong is listed with its place, and then nothing is stored.
import { hash } from 'node:crypto';
import { Problem, type FieldError } from '../../api/problem.ts';
import { parseSessionKey, parseWith } from '../../api/parse-json.ts';
import { toTurnFilter } from '../../api/routes/turns.ts';
import { given } from '../../core/json.ts';
import type { RawItem } from '../batches/read-items.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { findAllTurnIds } from '../../kernel/views/turn-filter.ts';
import { scoreText } from '../../contract/scores.ts';
import { datasetLine, ITEMS_MAX, type DatasetLine, type TurnChoice } from './contract-datasets.ts';
import { readChosenTurns, type ChosenTurn, type NewDatasetItem } from './store/datasets.ts';

const FAULTS_MAX = 100;
const FOUND_DEFAULT = 1_000;

/** The items of turns. Throws `Problem` for an id of no turn, and for a turn that has not ended. */
export async function itemsOfTurns({ database }: Service, ids: readonly string[]): Promise<NewDatasetItem[]> {
  const wanted = ids.map((id) => id.toLowerCase());
  const found = await readChosenTurns(database, wanted);
  const faults = wanted.flatMap((id, at): FieldError[] => {
    const turn = found.get(id);
    if (turn?.hasEnded === true) return [];
    const message =
      turn === undefined
        ? `there is no turn ${id}`
        : `the turn ${id} has not ended, it is ${turn.status}; add it when it has`;
    return [{ path: `turns[${at}]`, message }];
  });
  refuseFaults(faults);
  return [...new Set(wanted)].flatMap((id) => toItem(found.get(id)));
}

/** The items of the turns that a filter finds, the newest, oldest first. Throws `Problem`. */
export async function itemsOfFilter({ database }: Service, choice: TurnChoice): Promise<NewDatasetItem[]> {
  const { limit = FOUND_DEFAULT, score, session, ...filter } = choice;
  const checked = given({
    score: score === undefined ? undefined : parseWith(scoreText, score, 'invalid_body', 'filter.score'),
    session: session === undefined ? undefined : parseSessionKey(session, 'filter.session'),
  });
  const ids = await findAllTurnIds(
    database.views,
    {
      ...toTurnFilter({ ...filter, ...checked }),
      // What a try has said was never of use to a person. Who names its session wants it.
      ...given({ exceptSessionKinds: session === undefined ? (['try'] as const) : undefined }),
    },
    limit,
  );
  const found = await readChosenTurns(database, ids);
  return ids.flatMap((id) => toItem(found.get(id)));
}

/** None for a turn that has not ended. */
function toItem(turn: ChosenTurn | undefined): NewDatasetItem[] {
  if (turn?.hasEnded !== true) return [];
  const { turnId, sessionKey, agentId, group } = turn;
  return [{ turnId, sessionKey, agentId, group, input: null, tags: {}, metadata: {}, steps: [] }];
}

/** The items of cases. Throws `Problem` with up to 100 faults, each with its place. */
export async function itemsOfCases(cases: AsyncIterable<RawItem>): Promise<NewDatasetItem[]> {
  const items: NewDatasetItem[] = [];
  const faults: FieldError[] = [];
  let count = 0;
  for await (const raw of cases) {
    count += 1;
    if (count > ITEMS_MAX)
      throw new Problem(
        'body_too_large',
        `A request may have up to ${ITEMS_MAX} items. Send the others with another one.`,
      );
    try {
      items.push(itemOfCase(parseWith(datasetLine, raw.read(), 'invalid_items')));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { place, separator } = raw;
      const message = error.message.replace('The body', 'the line');
      for (const one of error.errors ?? [{ path: '', message }])
        faults.push({ ...one, path: one.path === '' ? place : `${place}${separator}${one.path}` });
      if (faults.length >= FAULTS_MAX) break;
    }
  }
  refuseFaults(faults);
  if (count === 0) throw new Problem('invalid_items', 'The request has no items. Send at least one.');
  return items;
}

function itemOfCase({ input, expected, tags = {}, metadata = {}, group, calls = [] }: DatasetLine): NewDatasetItem {
  return {
    turnId: null,
    sessionKey: null,
    agentId: null,
    group: group ?? `input:${hash('sha256', input, 'hex')}`,
    input,
    tags,
    metadata,
    // One call by step, so that their order says which comes first.
    steps: calls.map(({ name, input: asked, result, isError }) => ({
      calls: [{ name, input: asked, result: { content: result, ...given({ is_error: isError }) } }],
      joined: [],
    })),
    ...given({ expected }),
  };
}

function refuseFaults(faults: readonly FieldError[]): void {
  const [first] = faults;
  if (first === undefined) return;
  const errors = faults.slice(0, FAULTS_MAX);
  const message = first.message.replace(/\.$/, '');
  throw new Problem(
    'invalid_items',
    `${first.path}: ${message}. Nothing was stored; correct it and send the request again.`,
    {
      errors,
    },
  );
}
