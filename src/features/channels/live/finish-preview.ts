// Turns the preview of a turn into its answer: the message gets the first part of the answer, in place of a new message. An edit that is repeated changes
// nothing, so it never matters whether the one before has arrived.
import { pause } from '../../../clock.ts';
import type { Database } from '../../../database/database.ts';
import { PlatformError, type OutgoingPart } from '../platform.ts';
import type { OpenedChat } from '../accounts.ts';
import { takePreview } from '../store/previews.ts';
import { removeMessage } from './remove-left-over.ts';

const BUSY_MS = 50;

interface Finishing {
  turnId: string;
  /** The address of the chat. */
  url: string;
  /** The part as a message of text; null: it is more than that, so it cannot replace the preview, which is removed. */
  message: OutgoingPart | null;
  signal: AbortSignal;
}

/** Resolves with the id of the message that the part is in now; null: it must be sent. Rejects with `PlatformError`. */
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
