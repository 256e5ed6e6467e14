// The tool calls of a turn in words: what each was given, and what came back.
import type { ApiClient } from './api-client.ts';
import type { CallWords } from './turn-timeline.ts';

const PAGE = 200;
const PAGES_MAX = 20;

/** By the ids of the calls; of at most so many pages of its entries. */
export async function readCallWords(api: ApiClient, id: string): Promise<Map<string, CallWords>> {
  const words = new Map<string, CallWords>();
  let cursor: string | null | undefined;
  for (let page = 0; page < PAGES_MAX && cursor !== null; page += 1) {
    const { items, nextCursor } = await api.listTurnEntries({ id, partChars: 1, limit: PAGE, cursor });
    for (const { kind, calls } of items)
      for (const call of calls)
        words.set(call.id, { ...words.get(call.id), [kind === 'answer' ? 'command' : 'result']: call.words });
    cursor = nextCursor;
  }
  return words;
}
