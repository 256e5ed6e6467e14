// The blocks of models: until when no worker calls a model, because its provider has asked to wait. A worker that meets one writes it; the
// others read it with every claim and with the look for stop reasons, so they know it within 250 ms without a round trip of its own.
import type { Database } from '../database.ts';
import { headOf } from '../../core/cut-text.ts';
import { storableText } from '../../core/storable-text.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** The most that is kept of what a provider said, in characters. */
const DETAIL_CHARS_MAX = 500;

/** A block as a worker reads it. */
export interface ModelBlock {
  /** Whose calls are meant. */
  account: string;
  /** `provider/model` */
  model: string;
  /** How long it still lasts, in milliseconds. */
  leftMs: number;
  /** True: a person has lifted it, and the model may be called again. */
  isLifted?: boolean;
}

export const BLOCK_MODEL = literal({
  name: 'block-model',
  purpose: 'Let no worker call a model of an account for so many milliseconds. A block that lasts longer stays.',
  locking: 'The row of the block.',
  text: `insert into holdfast.model_blocks as b (account, model, until, detail, since)
values ($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond', $4, clock_timestamp())
on conflict (account, model) do update set until = excluded.until, detail = excluded.detail, lifted_at = null,
  since = case when b.until < clock_timestamp() or b.lifted_at is not null then excluded.since else b.since end
where b.until < excluded.until or b.lifted_at is not null`,
});

/** Writes a block, with what the provider said. Sent again, it lasts a little longer. */
export async function blockModel(
  database: Database,
  { account, model, leftMs }: ModelBlock,
  detail: string,
): Promise<void> {
  const values = [account, model, Math.ceil(leftMs), headOf(storableText(detail), DETAIL_CHARS_MAX)];
  await sendQuery(database.hot, BLOCK_MODEL.prepared(values));
}

/** SQL of the blocks whose time has not passed, as json: those that last, and those that were lifted; null: there are none. */
export const BLOCKS_SQL = `(select json_agg(json_build_object('account', b.account, 'model', b.model, 'isLifted', b.lifted_at is not null,
    'leftMs', extract(epoch from b.until - clock_timestamp()) * 1000))
  from holdfast.model_blocks b where b.until > now())`;
