// The feeder: gives every running batch what its concurrency has room for, batches in turn by their weight. Any number of schedulers may feed.
import type { MessageId } from '../src/core/ids.ts';
import { inputOfItem } from '../src/core/batch/batch.ts';
import { shareRoom } from '../src/core/batch/share-room.ts';
import { routeOf } from '../src/core/inbound.ts';
import { optionsOf, withOptions } from '../src/core/input-options.ts';
import { canonicalSessionKey } from '../src/core/session-key.ts';
import { newId } from '../src/ids.ts';
import type { Service } from '../src/service/service.ts';
import {
  feedBatch,
  readHungryBatches,
  readReadyItems,
  type FedItem,
  type HungryBatch,
} from '../src/store/batches/feed.ts';
import { newSessionOf } from '../src/store/sessions.ts';

type FeederParts = Pick<Service, 'config' | 'database' | 'inbox' | 'publish'>;

/** Items of one statement. */
const HELPING_MAX = 32;
/** Items of a batch of weight 1 before the next batch is fed. */
const ITEMS_PER_WEIGHT = 8;
/** Items of one round. */
const ROUND_MAX = 512;

/** Feeds the batches that have room; resolves with how many items were fed. */
export async function feedBatches(parts: FeederParts, signal: AbortSignal): Promise<number> {
  const hungry = new Map((await readHungryBatches(parts.database)).map((batch) => [batch.id, batch]));
  const helpings = shareRoom([...hungry.values()], {
    itemsPerWeight: ITEMS_PER_WEIGHT,
    itemsMax: HELPING_MAX,
    roundMax: ROUND_MAX,
  });
  let fed = 0;
  for (const { id, items } of helpings) {
    const batch = hungry.get(id);
    if (batch === undefined || signal.aborted) continue;
    const count = await feed(parts, batch, items);
    if (count < items) hungry.delete(id);
    fed += count;
  }
  return fed;
}

async function feed(
  { config, database, inbox, publish }: FeederParts,
  batch: HungryBatch,
  limit: number,
): Promise<number> {
  const ready = await readReadyItems(database, batch, limit);
  if (ready.length === 0) return 0;
  const items = await Promise.all(
    ready.map(async ({ n, attempt, sessionKey, isOwnSession, body }): Promise<FedItem> => {
      const input = inputOfItem({ body, isOwnSession }, batch);
      return {
        n,
        attempt,
        sessionId: await inbox.ensureSession(newSessionOf(canonicalSessionKey(sessionKey))),
        messageId: newId<MessageId>(),
        body: JSON.stringify(input),
        route: routeOf({ ...body, ...withOptions(optionsOf(input)) }, config.owner.ids),
      };
    }),
  );
  return publish(await feedBatch(database, batch.id, items)).fed;
}
