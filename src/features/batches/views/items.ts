// The items of a batch and their results as the API shows them. Reads only; items in flight are
// read one by one. Results are lines, read range by range as the client takes them, so that one
// range is in memory.
import { Readable } from 'node:stream';
import type { BatchItemView, ItemResult } from '../contract.ts';
import { toDollars } from '../../../core/prices.ts';
import { dollarsSql, tokenUsageSql } from '../../../kernel/sessions/cost-sql.ts';
import { fillOutput } from '../../../kernel/views/turns.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import type { ViewDatabase } from '../../../database/page.ts';
import { listOf } from '../../../database/list-of.ts';
import { describeOpenWait, describeWait, waitSql, type WaitRow } from '../../../kernel/views/why-sql.ts';
import { ITEM_WAITS } from '../rules/batch.ts';

const ITEM_STATUS_SQL = `case when i.status <> 'fed' then i.status when x.status = 'waiting' then 'waiting'
    when t.status = 'parked' then 'parked' else 'running' end`;

/**
 * Without its turn, which retention may have deleted, what is known of the batch counts. `i`: the
 * item, `t`: the turn of its message.
 */
const SIMULATED_SQL = `coalesce(t.is_simulated, (select ended.is_simulated from holdfast.turns ended where ended.id = i.turn_id),
    i.cost_micros is not null and (select of.is_simulated from holdfast.batches of where of.id = i.batch_id))`;

// A pending item waits for its batch, or for the item before it; one in flight for what its turn
// waits for.
const SUBMITTED_SQL = isoSql('coalesce(b.started_at, b.created_at)');
const ITEM_WHY_SQL = `case when i.status = 'pending' and b.status = 'paused' then json_build_object('code', 'batch_paused',
      'text', coalesce(b.pause_detail, '${ITEM_WAITS.batch_paused}'), 'since', ${isoSql('b.paused_at')}, 'until', null, 'by', b.pause_reason)
    when i.status = 'pending' and b.probe_to < i.n then json_build_object('code', 'batch_window',
      'text', '${ITEM_WAITS.batch_window}',
      'since', ${isoSql('b.probe_at')}, 'until', ${isoSql(`(b.probe_at + interval '1 hour')`)}, 'by', null)
    when i.status = 'pending' and not i.is_ready then json_build_object('code', 'session_busy',
      'text', '${ITEM_WAITS.session_busy}', 'since', ${SUBMITTED_SQL}, 'until', null, 'by', i.after_n::text)
    when i.status = 'pending' then json_build_object('code', 'lane_full',
      'text', '${ITEM_WAITS.lane_full}', 'since', ${SUBMITTED_SQL}, 'until', null, 'by', 'batch')
    end`;

type BatchItemRow = Omit<BatchItemView, 'costUsd'> & {
  costMicros: number | null;
  /** Why an item in flight waits. */
  wait: WaitRow | null;
};

interface ItemFilter {
  batchId: string;
  status?: string | undefined;
  code?: string | undefined;
  q?: string | undefined;
}

export const batchItems = listOf<ItemFilter, BatchItemRow, BatchItemView>({
  name: 'list-batch-items',
  purpose: 'Read the items of a batch, in input order.',
  text: `select i.n, i.custom_id as "customId", i.session_key as "sessionKey", ${ITEM_STATUS_SQL} as status, i.attempt,
  i.message_id as "messageId", coalesce(i.turn_id, x.turn_id) as "turnId", i.error, i.cost_micros::float8 as "costMicros", ${SIMULATED_SQL} as simulated,
  ${ITEM_WHY_SQL} as why, case when x.status in ('waiting', 'claimed') then ${waitSql('x.session_id', 'x.received_at')} end as wait
from holdfast.batches b join holdfast.batch_items i on i.batch_id = b.id
left join holdfast.inbox x on x.id = i.message_id and i.status = 'fed' left join holdfast.turns t on t.id = x.turn_id`,
  where: 'b.id = $batchId',
  filters: {
    status: `${ITEM_STATUS_SQL} = $status`,
    code: 'i.error_code = $code',
    q: "strpos(i.custom_id, $q) > 0 or strpos(i.session_key, $q) > 0 or strpos(i.body ->> 'text', $q) > 0",
  },
  order: 'i.n asc',
  key: 'n',
  show: ({ costMicros, wait, ...item }, db) => ({
    ...item,
    costUsd: toDollars(costMicros),
    why: wait !== null && item.status === 'waiting' ? describeWait(db, wait) : (describeOpenWait(db, wait) ?? item.why),
  }),
});

// Each page reads a range of numbers, so that a batch of which little has ended costs no more.
/** The results of a range of items, in input order. */
export const readResults = viewQuery({
  name: 'batch-results',
  purpose:
    'Read results of the items with numbers over $2 up to $3, in input order; $4: also of those that have not ended.',
  text: `select i.n, i.custom_id as "customId", ${ITEM_STATUS_SQL} as status,
  case when i.status = 'answered' then coalesce(x.reply, t.reply) end as reply,
  t.view ->> 'formatSha256' as output, i.error, i.session_key as "sessionKey",
  i.message_id as "messageId", coalesce(i.turn_id, x.turn_id) as "turnId", i.attempt, ${tokenUsageSql('i')} as usage,
  ${dollarsSql('i.cost_micros')} as "costUsd", ${SIMULATED_SQL} as simulated
from holdfast.batch_items i left join holdfast.inbox x on x.id = i.message_id left join holdfast.turns t on t.id = x.turn_id
where i.batch_id = $1 and i.n > $2 and i.n <= $3 and ($4::boolean or i.status not in ('pending', 'fed')) order by i.n`,
  values: ({ batchId, afterN, toN, all }: { batchId: string; afterN: number; toN: number; all: boolean }) => [
    batchId,
    afterN,
    toN,
    all,
  ],
  answer(results: ItemResult[]) {
    for (const result of results) fillOutput(result);
    return results;
  },
});

// Some numbers have no item in a batch that carries an evaluation.
export const readLastNumber = viewQuery({
  name: 'last-batch-item',
  purpose: 'Read the number of the last item of a batch; 0: it has none.',
  text: `select coalesce(max(n), 0) as last from holdfast.batch_items where batch_id = $1`,
  values: (batchId: string) => [batchId],
  answer: ([row]: { last: number }[]) => row?.last ?? 0,
});

const RANGE_ITEMS = 500;

export type ResultFormat = 'holdfast' | 'openai';

/**
 * The lines of the items after `after`; with `all` also of those that have not ended. `only`: of
 * answered items, or of the others.
 */
export function resultLines(
  views: ViewDatabase,
  wanted: {
    batchId: string;
    after: number;
    all: boolean;
    format: ResultFormat;
    only?: 'output' | 'errors';
  },
): Readable {
  const { batchId, after, all, format, only } = wanted;
  const lineOf = format === 'openai' ? openAiLine : (result: ItemResult): object => result;
  async function* lines(): AsyncGenerator<string> {
    const last = await readLastNumber(views, batchId);
    for (let at = after; at < last; at += RANGE_ITEMS) {
      const read = await readResults(views, { batchId, afterN: at, toN: at + RANGE_ITEMS, all });
      const results = only === undefined ? read : read.filter(({ status }) => isGood(status) === (only === 'output'));
      if (results.length > 0) yield results.map((result) => `${JSON.stringify(lineOf(result))}\n`).join('');
    }
  }
  return Readable.from(lines(), { objectMode: false });
}

/** A line as OpenAI's batch files have it. */
function openAiLine(result: ItemResult): object {
  const { n, customId, status, reply, error, turnId, usage } = result;
  const promptTokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const body = {
    id: `chatcmpl-${turnId ?? n}`,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: reply ?? '' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: usage.outputTokens,
      total_tokens: promptTokens + usage.outputTokens,
    },
  };
  return {
    id: `batch_req_${n}`,
    custom_id: customId ?? String(n),
    response: isGood(status) ? { status_code: 200, request_id: turnId, body } : null,
    error: isGood(status)
      ? null
      : { code: CODES[status] ?? error?.code ?? status, message: error?.message ?? `The item is ${status}.` },
  };
}

/** What OpenAI calls these. */
const CODES: Partial<Record<string, string>> = { expired: 'batch_expired', cancelled: 'batch_cancelled' };

function isGood(status: string): boolean {
  return status === 'answered' || status === 'silent';
}
