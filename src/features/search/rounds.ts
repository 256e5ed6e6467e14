// The rounds of the search in a scheduler: each second, the words of what was written since. What
// was written before the search was there, or while the log was deleted unread, is added slowly
// beside it. With the pauses, both use at most half of one connection, however much is written.
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import type { Database } from '../../database/database.ts';
import { workOff } from '../../work-off.ts';
import { HAS_NEWS_SQL, indexNews, indexPast } from './store/index-texts.ts';

const ROUND_MS = 1_000;
/** Portions of older words in one round: new words wait for no more. */
const PAST_PORTIONS = 20;
/** Between two portions; a long one has a pause as long as itself. */
const PAUSE_MS = 5;

export function openSearchRounds({ service: { database } }: Process): ProcessPart {
  return {
    rounds: [
      {
        work: { sql: HAS_NEWS_SQL },
        round: (signal) => indexTexts(database, signal),
        pauseMs: every(ROUND_MS),
        failure: 'Words could not be added to the search; the next round retries',
      },
    ],
  };
}

/** One round. */
export async function indexTexts(database: Database, signal: AbortSignal): Promise<void> {
  let hasOlder = false;
  await workOff(
    async () => {
      const { hasMore, hasPast } = await indexNews(database);
      hasOlder = hasPast;
      return hasMore;
    },
    { signal, pauseMs: PAUSE_MS },
  );
  if (!hasOlder) return;
  await workOff(() => indexPast(database), { signal, portionsMax: PAST_PORTIONS, pauseMs: PAUSE_MS });
}
