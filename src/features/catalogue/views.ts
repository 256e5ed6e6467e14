// The states of the keys of providers, from the rows by which all workers know which calls are held
// back.
import type { ProviderView } from '../../contract/models.ts';
import { isForGood } from '../../kernel/rules/provider-keys.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';

type KeyView = ProviderView['keys'][number];

/** What holds back calls of an account. */
interface HeldCalls {
  account: string;
  /** `provider/model`, or `provider/*` for all. */
  model: string;
  leftMs: number;
  until: string;
  detail: string | null;
}

export const listHeldCalls = viewQuery({
  name: 'list-held-calls',
  purpose: 'Read for which models no worker makes calls with a key, and how much longer.',
  text: `select b.account, b.model, b.detail, ${isoSql('held.until')} as until, (extract(epoch from held.until - clock_timestamp()) * 1000)::double precision as "leftMs"
from holdfast.model_blocks b cross join lateral (select coalesce(b.probe_at, b.until) as until) held
where b.lifted_at is null and b.until > clock_timestamp() and held.until > clock_timestamp()`,
  answer: (rows: HeldCalls[]) => rows,
});

/** The state of a key: the longest of its waits. */
export function stateOfKey(name: string, waits: readonly HeldCalls[]): KeyView {
  const [longest] = waits.toSorted((one, other) => other.leftMs - one.leftMs);
  if (longest === undefined) return { name, state: 'ok', model: null, until: null, reason: null };
  const { model, leftMs, until, detail: reason } = longest;
  const isDisabled = isForGood(leftMs);
  return {
    name,
    state: isDisabled ? 'disabled' : 'cooling',
    model: model.endsWith('/*') ? null : model,
    until: isDisabled ? null : until,
    reason,
  };
}
