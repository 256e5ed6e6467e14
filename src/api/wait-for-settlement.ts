// Waits, within a request, until its message is settled. The wait ends when the client leaves, and does not count as an ordinary
// request while it lasts.
import type { SettlementView } from '../store/views/settlements.ts';
import type { AnyRequest } from './route.ts';
import type { ApiServices } from './services.ts';
import type { AwaitedMessage } from './settlement-waiter.ts';

const GONE = 'the client has disconnected';

/** How the input ended, or null when the wait ended first. */
export async function waitForSettlement(
  { request, services }: { request: AnyRequest; services: ApiServices },
  input: AwaitedMessage,
  waitSeconds: number,
): Promise<SettlementView | null> {
  const gone = new AbortController();
  // Every response closes. Without a reason, each abort would make an error with a stack.
  request.reply.raw.once('close', () => gone.abort(GONE));
  if (request.reply.raw.destroyed) gone.abort(GONE);
  services.admission.leave(request.reply.request);
  return await services.waiter.wait(input, waitSeconds * 1000, gone.signal);
}
