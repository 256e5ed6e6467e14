// What a feature adds to an API beside its routes.
import type { Registry } from 'prom-client';
import type { Readiness } from '../contract/answers.ts';
import type { ApiContext } from './context.ts';
import type { ReadToken, StoredKeys } from './key-ring.ts';

/** Made once for each API. */
export interface ApiPart {
  /** Keys and sign-ins that open the API in addition to the keys of the configuration. */
  storedKeys?: StoredKeys;
  /** Reads tokens of these keys. */
  readToken?: ReadToken;
  /** Reads what keeps the service from working: then it is degraded. */
  readTroubles?: () => Promise<Readiness['troubles']>;
  /** Reads what an operator should know although the service works. */
  readNotes?: () => Promise<Readiness['notes']>;
  addMetrics?: AddMetrics;
}

export type CreateApiPart = (context: ApiContext) => ApiPart;

/** Adds metrics. The function that it may return is called for each scrape, and does not reject. */
export type AddMetrics = (registry: Registry) => (() => Promise<void>) | void;
