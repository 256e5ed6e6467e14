// Hides a response from the endpoints that returned it; its entries stay in its session.
import { hideResponse as store } from '../store/hide-response.ts';
import type { Service } from './service.ts';

/** Hides it. */
export async function hideResponse(
  { database }: Service,
  response: { messageId: string; afterStep: number },
): Promise<void> {
  await store(database, response);
}
