// The last point at which a request can be held back.
import type { Dispatcher } from 'undici';

/**
 * An interceptor that calls `check` when a request is about to be written on a connected socket, and gives the request up with what `check`
 * throws. A check before the call comes too early (G7): between it and the first byte lie the queue of the pool and the making of a
 * connection, with waits in which a process can be paused past its lease. Between this check and the write of head and body to the socket
 * there is no wait for anything outside of the process. A pause in just that instant, of about 0.1 ms, cannot be noticed from here.
 */
export function checkBeforeWrite(check: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        try {
          check();
        } catch (error) {
          controller.abort(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        handler.onRequestStart?.(controller, context);
      },
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    });
}
