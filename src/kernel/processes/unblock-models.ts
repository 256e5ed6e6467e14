// People lift the blocks of models: the turns that wait for a model resume, and the workers that
// know its block learn of the end with their next claim or check for stop reasons.
import type { BlockView } from '../../contract/model-blocks.ts';
import type { Committed } from '../queue/after-commit.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { afterOfRings, RINGS_SQL, type NeededRing } from '../queue/rings.ts';
import { ALL_MODELS, BACK_UNTIL_SQL } from '../queue/model-blocks.ts';
import { BLOCK_JSON } from '../views/pauses.ts';
import { wokenSql } from '../queue/wake-parked.ts';
import { MODEL_CODES } from '../turn/turn-stop.ts';
import { literalQuery } from '../../database/literal-query.ts';

/** Rejects with a violated primary key when another request has stored the key. */
export const unblockModels = literalQuery({
  name: 'unblock-models',
  purpose:
    'Lift the blocks of a model, or all, make the turns due that wait for it, and delete what its server has said about it. Answers the blocks and the rings.',
  locking: 'The blocks, then the session rows in the order of their ids.',
  pool: 'views',
  text: `with meant as (
  select b.account, b.model, b.until > clock_timestamp() and b.lifted_at is null as is_blocked from holdfast.model_blocks b
  where $model::text is null or b.model in ($model::text, split_part($model::text, '/', 1) || '/${ALL_MODELS}')
  for update
),
changed as (
  update holdfast.model_blocks b set traits_until = null,
    lifted_at = case when m.is_blocked then clock_timestamp() else b.lifted_at end,
    until = case when m.is_blocked and b.probe_at is not null then ${BACK_UNTIL_SQL} else b.until end
  from meant m where b.account = m.account and b.model = m.model and (m.is_blocked or b.traits_until is not null)
  returning b.*, m.is_blocked
),
lifted as (select * from changed where is_blocked),
${wokenSql(MODEL_CODES, `($model::text is null or t.park_by in ($model::text, split_part($model::text, '/', 1)))`)},
answer as (
  select coalesce((select json_agg(${BLOCK_JSON} order by b.model) from lifted b), '[]') as lifted
),
${keyedSql(`select json_build_object('lifted', lifted) from answer`)}
select lifted, ${RINGS_SQL} as rings from answer`,
  values: (model: string | null, idempotency: KeyedRequest | null) => ({ model, ...idempotency }),
  answer: ([row]: { lifted: BlockView[]; rings: NeededRing[] }[]): Committed<{ lifted: BlockView[] }> => ({
    lifted: row?.lifted ?? [],
    after: afterOfRings(row?.rings ?? []),
  }),
});
