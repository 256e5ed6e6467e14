// The results of a batch as lines, in input order: read range by range as the client takes them, so
// that one range is in memory.
import type { ItemResult } from '../../contract/batches.ts';
import { Readable } from 'node:stream';
import type { ViewDatabase } from '../../database/page.ts';
import { readResults } from './views/batch-items.ts';

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
    total: number;
    after: number;
    all: boolean;
    format: ResultFormat;
    only?: 'output' | 'errors';
  },
): Readable {
  const { batchId, total, after, all, format, only } = wanted;
  const lineOf = format === 'openai' ? openAiLine : (result: ItemResult): object => result;
  async function* lines(): AsyncGenerator<string> {
    for (let at = after; at < total; at += RANGE_ITEMS) {
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
