// Turns the preview of a turn into its answer: the message gets the first part of the answer, in
// place of a new message. An edit that is repeated changes nothing, so it never matters whether the
// one before has arrived. What no answer has replaced, of a silent turn or of one that was stopped,
// is removed; nothing of that is repeated.
import { pause } from '../../../clock.ts';
import type { Config } from '../../../config.ts';
import type { Database } from '../../../database/database.ts';
import { openChat, type OpenedChat } from '../accounts.ts';
import { PlatformError, type Destination, type OutgoingPart, type Platform } from '../platform.ts';
import { PREVIEW_REQUEST_MS, settlePreviews, takePreview } from '../store/previews.ts';

const BUSY_MS = 50;

interface Finishing {
  turnId: string;
  /** The address of the chat. */
  url: string;
  /**
   * The part as a message of text; null: it is more than that, so it cannot replace the preview,
   * which is removed.
   */
  message: OutgoingPart | null;
  signal: AbortSignal;
}

/**
 * Resolves with the id of the message that the part is in now; null: it must be sent. Rejects with
 * `PlatformError`.
 */
export async function finishPreview(
  database: Database,
  { platform, account, to }: OpenedChat,
  { turnId, url, message, signal }: Finishing,
): Promise<string | null> {
  const { edit } = platform;
  if (edit === undefined || account.ofChannel.previews === false) return null;
  let preview = await takePreview(database, { turnId, url });
  while (preview?.isBusy === true) {
    await pause(BUSY_MS, signal);
    preview = await takePreview(database, { turnId, url });
  }
  const { platformId = null } = preview ?? {};
  if (platformId === null) return null;
  if (message !== null) {
    try {
      await edit(to, platformId, message, signal);
      return platformId;
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      const { kind, status, retryAfterMs } = error;
      if (kind === 'unknown')
        throw new PlatformError('later', error.message, {
          status,
          cause: error,
          ...(retryAfterMs && { retryAfterMs }),
        });
      // It was deleted, or cannot be changed any more.
      if (kind !== 'refused') throw error;
    }
  }
  await removeMessage(platform, to, platformId);
  return null;
}

const NO_ANSWER = '(no answer)';

/**
 * Removes the previews that were left. `turnId` null: of all turns that have ended. Never rejects
 * for the failure of a platform.
 */
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
