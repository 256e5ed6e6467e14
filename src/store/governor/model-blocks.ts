// The blocks of models: until when no worker calls a model, because its provider has asked to wait. A worker that meets one writes it; the
// others read it with every claim and with the look for stop reasons, so they know it within 250 ms without a round trip of its own.
import type { Database } from '../database.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** A block as a worker reads it. */
export interface ModelBlock {
  /** Whose calls are meant. */
  account: string;
  /** `provider/model` */
  model: string;
  /** How long it still lasts, in milliseconds. */
  leftMs: number;
}

export const BLOCK_MODEL = literal({
  name: 'block-model',
  purpose: 'Let no worker call a model of an account for so many milliseconds. A block that lasts longer stays.',
  locking: 'The row of the block.',
  text: `insert into holdfast.model_blocks as b (account, model, until)
values ($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond')
on conflict (account, model) do update set until = excluded.until where b.until < excluded.until`,
});

/** Writes a block. Sent again, it lasts a little longer. */
export async function blockModel(database: Database, { account, model, leftMs }: ModelBlock): Promise<void> {
  await sendQuery(database.hot, BLOCK_MODEL.prepared([account, model, Math.ceil(leftMs)]));
}

/** SQL of the blocks that last, as json; null: there are none. */
export const BLOCKS_SQL = `(select json_agg(json_build_object('account', b.account, 'model', b.model,
    'leftMs', extract(epoch from b.until - clock_timestamp()) * 1000))
  from holdfast.model_blocks b where b.until > now())`;
