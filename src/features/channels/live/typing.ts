// Typing in a chat.
import type { Logger } from '../../../logger.ts';
import type { OpenedChat } from '../accounts.ts';

/** Platforms show it for 5 to 10 seconds. */
const TYPING_MS = 4_000;
const TYPING_REQUEST_MS = 4_000;

/** `show` is called often; it waits for nothing. After a failure, nothing more is shown. */
export function createTyping({ platform, to }: OpenedChat, logger: Logger): { show: () => void } {
  let nextAtMs = platform.showTyping === undefined ? Infinity : 0;
  return {
    show() {
      if (performance.now() < nextAtMs) return;
      nextAtMs = performance.now() + TYPING_MS;
      platform.showTyping?.(to, AbortSignal.timeout(TYPING_REQUEST_MS)).catch((error: unknown) => {
        nextAtMs = Infinity;
        logger.debug({ err: error }, 'Typing could not be shown');
      });
    },
  };
}
