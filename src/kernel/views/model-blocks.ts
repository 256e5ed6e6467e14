// The models that no worker calls for a time, as people see them.
import type { BlockView } from '../../contract/model-blocks.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';

/** SQL of the block `b` as a `BlockView` in JSON. */
export const BLOCK_JSON = `json_build_object('model', b.model, 'kind', case when b.probe_at is null then 'asked' else 'away' end,
  'since', ${isoSql('b.since')}, 'until', ${isoSql('coalesce(b.probe_at, b.until)')},
  'text', b.detail)`;

export const listBlocks = viewQuery({
  name: 'list-model-blocks',
  purpose: 'Read the blocks that last, by model.',
  text: `select ${BLOCK_JSON} as block from holdfast.model_blocks b where b.until > clock_timestamp() and b.lifted_at is null order by b.model, b.account`,
  answer: (rows: { block: BlockView }[]) => rows.map(({ block }) => block),
});
