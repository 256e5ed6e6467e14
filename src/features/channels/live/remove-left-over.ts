// Removes the messages of previews that no answer has replaced: of a silent turn, or of one that was stopped. Nothing of it is repeated.
import type { Config } from '../../../config.ts';
import type { Database } from '../../../database/database.ts';
import type { Destination, Platform } from '../platform.ts';
import { openChat } from '../accounts.ts';
import { PREVIEW_REQUEST_MS, settlePreviews } from '../store/previews.ts';

const NO_ANSWER = '(no answer)';

/** `turnId` null: of all turns that have ended. Never rejects for the failure of a platform. */
export async function removeLeftOver(
  { config, database }: { config: Config; database: Database },
  turnId: string | null,
): Promise<void> {
  for (const { url, platformId } of await settlePreviews(database, turnId)) {
    const chat = await openChat(config, url).catch(() => null);
    if (chat !== null) await removeMessage(chat.platform, chat.to, platformId);
  }
}

/** Never rejects. Where the platform cannot delete a message, it says that there is no answer. */
export async function removeMessage(platform: Platform, to: Destination, platformId: string | null): Promise<void> {
  if (platformId === null) return;
  const signal = AbortSignal.timeout(PREVIEW_REQUEST_MS);
  const removed =
    platform.remove?.(to, platformId, signal) ?? platform.edit?.(to, platformId, { markdown: NO_ANSWER }, signal);
  await removed?.catch(() => undefined);
}
