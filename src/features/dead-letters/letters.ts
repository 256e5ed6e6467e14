// What operators do with failed work: open dead letters are listed, discarded, or redriven: a turn
// is retried, a delivery is sent again, each in a write of its own that also closes the letter. So
// a request that was cut off and is sent again continues with what is still open, and nothing is
// redriven twice (G17).
import type { RedrivenLetters } from './contract.ts';
import { decideDelivery } from '../deliveries/decide.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';
import { itemOfTurnSql, retryTurn, type RetryRequest, type RetryResult } from '../../kernel/turn/journal/retry-turn.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

/** The filter of letters; an absent field does not restrict it. */
export interface LetterFilter {
  ids?: readonly string[] | undefined;
  kind?: string | undefined;
  code?: string | undefined;
}

export interface OpenLetter {
  id: string;
  kind: string;
  turnId: string | null;
  deliveryId: string | null;
  /** It is of an item that only its batch retries. */
  isItem: boolean;
}

const FILTER_SQL = `l.state = 'open' and ($ids::uuid[] is null or l.id = any ($ids)) and ($kind::text is null or l.kind = $kind)
  and ($code::text is null or l.code = $code)`;

export const readOpenLetters = literalQuery({
  name: 'open-letters',
  purpose:
    'Read open dead letters, oldest first, with the number of all. Those of items that only their batch retries come last, and are not counted.',
  text: `select l.id, l.kind, l.turn_id as "turnId", l.delivery_id as "deliveryId", is_item as "isItem", count(*) filter (where not is_item) over ()::int as count
from holdfast.dead_letters l cross join lateral (select exists (select from ${itemOfTurnSql('l.turn_id')}) as is_item) as item
where ${FILTER_SQL} order by is_item, l.id limit $limit`,
  values: (filter: LetterFilter, limit: number) => ({ ...filter, limit }),
  answer: (rows: (OpenLetter & { count: number })[]) => ({
    letters: rows.map(({ count: _count, ...letter }): OpenLetter => letter),
    count: rows[0]?.count ?? 0,
  }),
});

/** Resolves with their number. The key of the request is stored with it. */
export const discardLetters = literalQuery({
  name: 'discard-letters',
  purpose: 'Discard open dead letters, and the deliveries that they are of.',
  locking: 'The deliveries in the order of their ids, then the letters in the order of theirs.',
  // Sent again, it would count none.
  retryMs: 0,
  text: `with locked_deliveries as materialized (
  select d.id from holdfast.deliveries d where d.id in (select l.delivery_id from holdfast.dead_letters l where ${FILTER_SQL})
  order by d.id for no key update
),
-- The count makes the deliveries be locked first, as a decision on one delivery does.
locked_letters as materialized (
  select l.id from holdfast.dead_letters l where ${FILTER_SQL} and (select count(*) from locked_deliveries) >= 0
  order by l.id for no key update
),
discarded as (
  update holdfast.dead_letters l set state = 'discarded', settled_at = clock_timestamp() from locked_letters where l.id = locked_letters.id
  returning l.id, l.delivery_id
),
given_up as (
  update holdfast.deliveries d set status = 'discarded', settled_at = clock_timestamp()
  from discarded where d.id = discarded.delivery_id and d.status in ('failed', 'expired', 'unknown')
),
counted as materialized (select count(*)::int as n from discarded),
${keyedSql("select json_build_object('discarded', counted.n) from counted")}
select counted.n from counted`,
  values: (filter: LetterFilter, idempotency: KeyedRequest | null) => ({ ...filter, ...idempotency }),
  // One row.
  answer: ([row]: { n: number }[]) => row!.n,
});

export const keepRedriveKey = literalQuery({
  name: 'redrive-key',
  purpose: 'Store the key of a request whose letters were redriven one by one.',
  // Sent again, it would violate the primary key.
  retryMs: 0,
  text: `with ${keyedSql('select $result::json')} select 1`,
  values: (request: KeyedRequest, result: object) => ({ ...request, result: JSON.stringify(result) }),
});

/** How an action on one thing has ended. */
export interface ActionEnd {
  status: 'done' | 'skipped';
  /** Why it was skipped. */
  reason: string | null;
  /** The messages that wait because of it. */
  messageIds: readonly string[] | null;
}

export const done = (messageIds: readonly string[] | null = null): ActionEnd => ({
  status: 'done',
  reason: null,
  messageIds,
});
export const skipped = (reason: string): ActionEnd => ({ status: 'skipped', reason, messageIds: null });

/** The most letters of one request. */
const LETTERS_MAX = 500;

/** Lets the messages of a turn that ended badly wait again, once. */
export async function redoTurn(
  { database, publish, isConfined }: Service,
  turnId: string,
  request: RetryRequest,
): Promise<RetryResult> {
  return publish(await retryTurn(database, turnId, { ...request, isConfined }));
}

/** Why a turn is not retried. */
export function whyNotRetried(result: Exclude<RetryResult, { kind: 'ok' }>): string {
  if (result.kind === 'fixed')
    return 'Only the text of a message can be another: no person sent the input of this turn. Retry it as it is.';
  if (result.kind !== 'item')
    return result.kind === 'unknown'
      ? 'The turn does not exist.'
      : 'Only a turn that did not succeed can be retried, and only once.';
  const { batchId, n } = result;
  return `The turn answered item ${n} of the batch ${batchId}. Retry the item: "holdfast batch retry-failed ${batchId} --n ${n}".`;
}

/** Redrives open letters, at most 500 in one request. */
export async function redriveLetters(
  service: Service,
  filter: LetterFilter,
  idempotency: KeyedRequest | null,
): Promise<RedrivenLetters> {
  const { letters: open, count } = await readOpenLetters(service.database, filter, LETTERS_MAX);
  const letters: RedrivenLetters['letters'] = [];
  for (const letter of open) {
    const { status, reason, messageIds } = await redriveLetter(service, letter, null);
    const result = status === 'done' ? 'redriven' : 'skipped';
    letters.push({ id: letter.id, result, reason, messageIds: [...(messageIds ?? [])] });
  }
  const redriven = letters.filter(({ result }) => result === 'redriven').length;
  const skipped = letters.length - redriven;
  const remaining = count - open.filter(({ isItem }) => !isItem).length;
  const answer = { redriven, skipped, remaining, letters };
  if (idempotency !== null) await keepRedriveKey(service.database, idempotency, answer);
  return answer;
}

/** Redrives an open letter; a skipped one stays open. */
export async function redriveLetter(
  service: Service,
  { turnId, deliveryId }: OpenLetter,
  idempotency: KeyedRequest | null,
): Promise<ActionEnd> {
  if (deliveryId !== null) {
    const decided = await decideDelivery(service, deliveryId, { decision: 'redrive', idempotency });
    return decided === 'done' ? done() : skipped('The delivery does not exist or no longer has the status failed.');
  }
  if (turnId === null) return skipped('The session that should receive it no longer exists. Discard the letter.');
  const retried = await redoTurn(service, turnId, { idempotency });
  if (retried.kind === 'ok') return done(retried.messageIds);
  if (retried.kind === 'item') return skipped(whyNotRetried(retried));
  return skipped('The turn no longer has a failed message. Discard the letter.');
}
