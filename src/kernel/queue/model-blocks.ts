// The blocks of models: until when no worker calls a model, because its provider has asked to wait,
// or because the model is away and one call at a time finds out whether it is back. Beside them is
// what the server of a model has said about it by refusing requests, for a day. A worker that meets
// one writes it; the others read it with every claim and with the query for stop reasons, so they
// know it within 250 ms without a round trip of its own.
import type { Database } from '../../database/database.ts';
import type { ModelTraits } from '../../core/models.ts';
import { cutHead, storableText } from '../../core/text.ts';
import { literalQuery } from '../../database/literal-query.ts';
import type { Absence } from '../rules/why.ts';

/** The most that is kept of what a provider said, in characters. */
const DETAIL_CHARS_MAX = 500;

/**
 * A model that is away stays so for this long after its next probe is due, if none is made, in
 * milliseconds.
 */
const UNPROBED_MS_MAX = 600_000;

/**
 * How long it can be read that a model is back, in milliseconds: workers that know that it was away
 * read this, or that there is no block.
 */
const BACK_MS = 10_000;
export const BACK_UNTIL_SQL = `clock_timestamp() + ${BACK_MS} * interval '1 millisecond'`;

/** In place of a model: all models of a key. */
export const ALL_MODELS = '*';

export interface BlockedModel {
  /** Whose calls are meant. */
  account: string;
  /** `provider/model`, or `provider/*` */
  model: string;
}

/** A block as a worker reads it. */
export interface ModelBlock extends BlockedModel {
  /**
   * How long it still lasts, in milliseconds; below 0: the model is not blocked, and the row has
   * traits alone.
   */
  leftMs: number;
  /**
   * The model is away: how long no worker makes a probe, in milliseconds. Null: its provider has
   * asked to wait.
   */
  probeInMs: number | null;
  /** True: a person has lifted it, or the model is back. */
  isLifted?: boolean;
  /** Why the model is away; null or absent: it is not, or that is not known. */
  absence?: Absence | null;
  /** What the server of the model has said about it; null or absent: nothing that still counts. */
  traits?: ModelTraits | null;
}

/**
 * Sent again, the block lasts a little longer. An earlier version writes another detail and leaves
 * the code as it is, so the code says of which detail it is, and counts only with that.
 */
export const blockModel = literalQuery({
  name: 'block-model',
  purpose:
    'Let no worker call a model of an account for so many milliseconds. A block that lasts longer stays, as does one that the provider has asked for when the model is away, too.',
  locking: 'The row of the block.',
  text: `insert into holdfast.model_blocks as b (account, model, until, detail, since, probe_at, code)
values ($account, $model, clock_timestamp() + $leftMs::bigint * interval '1 millisecond', $detail, clock_timestamp(), clock_timestamp() + $probeInMs::bigint * interval '1 millisecond', $code::text || ' ' || md5($detail))
on conflict (account, model) do update set until = excluded.until, detail = excluded.detail, code = excluded.code, lifted_at = null, probe_at = excluded.probe_at,
  since = case when b.until < clock_timestamp() or b.lifted_at is not null then excluded.since else b.since end
where b.until < clock_timestamp() or b.lifted_at is not null or b.probe_at is not null or (excluded.probe_at is null and b.until < excluded.until)`,
  values: (
    { account, model, leftMs, probeInMs }: Omit<ModelBlock, 'isLifted' | 'traits' | 'absence'>,
    { code, text }: Absence,
  ) => ({
    account,
    model,
    leftMs: Math.ceil(leftMs),
    detail: cutHead(storableText(text), DETAIL_CHARS_MAX),
    code,
    probeInMs: probeInMs === null ? null : Math.ceil(probeInMs),
  }),
});

/** Writes that a model is away, and when the next probe may be made. */
export async function markAway(
  database: Database,
  model: BlockedModel,
  { probeInMs, absence }: { probeInMs: number; absence: Absence },
): Promise<void> {
  await blockModel(database, { ...model, leftMs: probeInMs + UNPROBED_MS_MAX, probeInMs }, absence);
}

/**
 * Who may probe a model that is away: this worker; or another one does, and there is time until the
 * next probe; or none is needed.
 */
export type ProbeAnswer = { kind: 'taken' } | { kind: 'free' } | { kind: 'wait'; waitMs: number };

/** Sent again, it may have to wait for itself. */
export const takeProbe = literalQuery({
  name: 'take-probe',
  purpose: 'Let this worker alone call a model that is away, for so many milliseconds, if the next probe is due.',
  locking: 'The row of the block.',
  text: `with taken as (
  update holdfast.model_blocks b
  set probe_at = clock_timestamp() + $3::bigint * interval '1 millisecond',
    until = clock_timestamp() + ($3::bigint + ${UNPROBED_MS_MAX}) * interval '1 millisecond'
  where b.account = $1 and b.model = $2 and b.lifted_at is null and b.probe_at <= clock_timestamp() and b.until > clock_timestamp()
  returning b.model
)
select exists (select from taken) as "isTaken", (
  select extract(epoch from b.probe_at - clock_timestamp()) * 1000 from holdfast.model_blocks b
  where b.account = $1 and b.model = $2 and b.lifted_at is null and b.until > clock_timestamp())::double precision as "waitMs"`,
  values: ({ account, model }: BlockedModel, forMs: number) => [account, model, forMs],
  answer([row]: { isTaken: boolean; waitMs: number | null }[]): ProbeAnswer {
    if (row?.isTaken === true) return { kind: 'taken' };
    const waitMs = row?.waitMs ?? null;
    return waitMs === null ? { kind: 'free' } : { kind: 'wait', waitMs };
  },
});

export const markBack = literalQuery({
  name: 'mark-back',
  purpose: 'End the block of a model that was away and has answered.',
  locking: 'The row of the block.',
  text: `update holdfast.model_blocks b
set lifted_at = clock_timestamp(), until = ${BACK_UNTIL_SQL}
where b.account = $account and b.model = $model and b.probe_at is not null and b.lifted_at is null and b.until > clock_timestamp()`,
  values: (model: BlockedModel) => model,
});

export const keepTraits = literalQuery({
  name: 'keep-traits',
  purpose: 'Keep for a day what the server of a model has said about it, beside what is known already.',
  locking: 'The row of the model.',
  text: `insert into holdfast.model_blocks as b (account, model, until, since, traits, traits_until)
values ($account, $model, clock_timestamp(), clock_timestamp(), $traits::jsonb, clock_timestamp() + interval '1 day')
on conflict (account, model) do update set traits_until = excluded.traits_until,
  traits = case when b.traits_until > clock_timestamp() then b.traits || excluded.traits else excluded.traits end`,
  values: ({ account, model }: BlockedModel, traits: ModelTraits) => ({
    account,
    model,
    traits: JSON.stringify(traits),
  }),
});

/**
 * SQL of the blocks whose time has not passed, as json: those that last, those that were lifted,
 * and traits; null: there are none.
 */
export const BLOCKS_SQL = `(select json_agg(json_build_object('account', b.account, 'model', b.model, 'isLifted', b.lifted_at is not null,
    'leftMs', extract(epoch from b.until - clock_timestamp()) * 1000,
    'probeInMs', greatest(extract(epoch from b.probe_at - clock_timestamp()) * 1000, case when b.probe_at is not null then 0 end),
    'absence', case when b.probe_at is not null and b.code like '% ' || md5(b.detail) then json_build_object('code', split_part(b.code, ' ', 1), 'text', b.detail) end,
    'traits', case when b.traits_until > now() then b.traits end))
  from (
    select * from holdfast.model_blocks where until > now()
    union all
    select * from holdfast.model_blocks where traits_until > now() and until <= now()
  ) b)`;
