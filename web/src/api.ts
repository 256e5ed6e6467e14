// The way to the service: the typed client, with the cookie of this browser.
import { createClient, HoldfastError, type ClientOptions, type Schemas } from '../../src/client/create-client.ts';
import { parseKeepingIntegers } from './format/json-text.ts';
import { noteServerTime } from './format/time.ts';

export { HoldfastError };
export { deadlineError } from '../../src/client/holdfast-error.ts';

export type Readiness = Schemas['Readiness'];
export type Turn = Schemas['Turn'];
export type ListedTurn = Awaited<ReturnType<typeof api.listTurns>>['items'][number];
export type Session = Schemas['SessionDetails'];
export type Entry = Schemas['Entry'];
export type EntryPage = Awaited<ReturnType<typeof api.listEntries>>;
export type Span = Schemas['Span'];
/** A turn with the turns of the subagents below it. */
export type TurnTree = Awaited<ReturnType<typeof api.getTurnTree>>;
export type TurnInputs = Awaited<ReturnType<typeof api.getTurnInputs>>;
export type ModelRequest = Schemas['ModelRequest'];
export type Delivery = Schemas['Delivery'];
export type Approval = Awaited<ReturnType<typeof api.getApproval>>;
export type DeadLetterGroup = Schemas['DeadLetterGroup'];
export type Batch = Schemas['Batch'];
export type BatchItem = Schemas['BatchItem'];
export type Cron = Schemas['Cron'];
export type CronFire = Schemas['CronFire'];
export type CronSummary = Awaited<ReturnType<typeof api.listCronSummaries>>['items'][number];
export type CronSlot = CronSummary['slots'][number];
export type Heartbeat = Schemas['Heartbeat'];
export type Budget = Schemas['Budget'];
/** A hit of the search. */
export type SearchHit = Awaited<ReturnType<typeof api.search>>['items'][number];
export type Pause = Schemas['Pause'];
export type BulkAction = Schemas['BulkAction'];

/** A run of a subagent, as the family of its session shows it. */
export type FamilyRun = Awaited<ReturnType<typeof api.getFamily>>['items'][number];

const TIMEOUT_MS = 15_000;

const SERVICE: ClientOptions = {
  url: '',
  timeoutMs: TIMEOUT_MS,
  // Queries are tried again by their cache, which also shows that they are.
  retriesMax: 0,
  async fetch(input, init) {
    const answer = await fetch(input, init);
    noteServerTime(answer.headers.get('date'));
    return answer;
  },
};

export const api = createClient(SERVICE);

/**
 * For answers with the JSON of others, such as the schema of a tool, which is shown as it was
 * written and not computed with.
 */
export const exactApi = createClient({ ...SERVICE, parse: parseKeepingIntegers });

/** True when the browser has to sign in, for the first time or again. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof HoldfastError && error.status === 401;
}

/**
 * True for an error that ends by itself: no answer, or one that says that the service cannot work
 * now.
 */
export function isOutage(error: unknown): boolean {
  return error instanceof HoldfastError && (error.status === null || error.status >= 500);
}
