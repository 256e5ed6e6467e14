// The key of a request of a client that has sent none.
import { keyOfClientRequest, type ClientRequestFacts } from '../store/client-requests.ts';
import type { Service } from './service.ts';

/** A new key; that of an equal earlier request when the client says that it repeats one. */
export function clientKey({ database }: Service, facts: ClientRequestFacts, isRepeated: boolean): Promise<string> {
  return keyOfClientRequest(database, facts, isRepeated);
}
