// The results of a batch as lines, in input order: read range by range as the client takes them, so that one range is in memory.
import { Readable } from 'node:stream';
import type { ViewDatabase } from '../store/views/page.ts';
import { readResults, type ItemResult } from '../store/views/batch-items.ts';

/** Items of one range. */
const RANGE_ITEMS = 500;

export type ResultFormat = 'holdfast' | 'openai';

/** The lines of the items after `after`; with `all` also of those that have not ended. */
export function resultLines(
  views: ViewDatabase,
  wanted: { batchId: string; total: number; after: number; all: boolean; format: ResultFormat },
): Readable {
  const { batchId, total, after, all, format } = wanted;
  const lineOf = format === 'openai' ? openAiLine : (result: ItemResult): object => result;
  async function* lines(): AsyncGenerator<string> {
    for (let at = after; at < total; at += RANGE_ITEMS) {
      const results = await readResults(views, { batchId, afterN: at, toN: at + RANGE_ITEMS, all });
      if (results.length > 0) yield results.map((result) => `${JSON.stringify(lineOf(result))}\n`).join('');
    }
  }
  return Readable.from(lines(), { objectMode: false });
}

/** A line as OpenAI's batch files have it. */
function openAiLine(result: ItemResult): object {
  const { n, customId, status, reply, error, turnId, usage } = result;
  const isGood = status === 'answered' || status === 'silent';
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
    response: isGood ? { status_code: 200, request_id: turnId, body } : null,
    error: isGood ? null : { code: codeOf(error) ?? status, message: messageOf(error) ?? `The item is ${status}.` },
  };
}

function codeOf(error: unknown): string | null {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : null;
}

function messageOf(error: unknown): string | null {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : null;
}
