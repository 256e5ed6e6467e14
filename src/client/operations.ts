// Made by `npm run write:client` from the route table of the API; do not edit it. The types of all operations, for the typed client. Nothing
// of it remains at run time, and it imports nothing of the service.
/* oxlint-disable max-lines */
import type { CallOptions, LineBody } from './call-options.ts';

/** The things that requests and answers are made of, by their names in the OpenAPI document. */
export interface Schemas {
  Abortion: {
    /** The turn that is stopped; null: none ran */
    aborted: string | null;
    /** How many waiting messages were cancelled */
    cancelled: number;
  };
  Accepted: {
    /** The message */
    message: Schemas['Message'];
    /** The session */
    session: Schemas['Session'];
    /** What happened to it when it was accepted */
    disposition: 'queued' | 'steered' | 'interrupting' | 'duplicate' | 'command' | 'rejected';
  };
  Batch: {
    /** The id */
    id: string;
    /** The name that was given to it; null: none */
    name: string | null;
    /** Its state */
    status: 'uploading' | 'running' | 'paused' | 'cancelling' | 'ended';
    /** How it ended; null: it has not ended */
    outcome: 'completed' | 'partly' | 'failed' | 'cancelled' | null;
    /** Why it is paused; null: it is not */
    pauseReason: 'manual' | 'pilot_done' | 'cost_cap' | 'failure_rate' | 'provider_refused' | 'budget' | null;
    /** What led to the pause, for people */
    pauseDetail: string | null;
    /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
    via: 'live' | 'provider-batch' | 'auto';
    /** The agent of items that name none */
    agentId: string;
    /** How many items are in flight at most */
    concurrency: number;
    /** How many items are fed in turn with those of other batches */
    weight: number;
    /** So many items run first; null: no pilot, or it is over */
    pilot: number | null;
    /** The batch pauses when more of its last 50 ended items, or of its pilot, failed */
    maxFailurePercent: number;
    /** When items that were not fed expire; null: never */
    deadlineAt: string | null;
    /** How many items are in each state */
    counts: {
      /** All items */
      total: number;
      /** Items that were not fed */
      pending: number;
      /** Items that wait for a worker */
      waiting: number;
      /** Items whose turn runs */
      running: number;
      /** Turns that wait for something without a slot */
      parked: number;
      /** Items that were answered */
      answered: number;
      /** Items whose answer was silent */
      silent: number;
      /** Items that failed */
      failed: number;
      /** Items that were cancelled */
      cancelled: number;
      /** Items that the deadline reached first */
      expired: number;
    };
    /** Items that ended per minute, lately; null: not known */
    ratePerMinute: number | null;
    /** When it is expected to end; null: not known */
    eta: {
      /** The earliest expected end */
      from: string;
      /** The latest expected end */
      to: string;
    } | null;
    /** The tokens of its ended items */
    usage: Schemas['Usage'];
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars; sums of it are exact */
    costMicros: number | null;
    /** Model calls whose cost is not known, because their model has no price */
    unpricedCalls: number;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
    /** What is reserved for calls that are being made, in US dollars */
    reservedUsd: number;
    /** What was paid for answers that were not used, in US dollars */
    wastedUsd: number;
    /** The batch pauses when its ended items have cost so much; null: no limit */
    maxCostUsd: number | null;
    /** What it is expected to cost in all, from 20 ended items on; null: not known */
    expectedCostUsd: number | null;
    /** What the same conversations cost in live calls with a warm cache; null: not known */
    liveCostUsd: number | null;
    /** How much cheaper it was than live, in percent; negative when it was more expensive; null: not known */
    savedPercent: number | null;
    /** The part of the prompt tokens that was read from the cache of the provider; null: not known */
    cacheHitRate: number | null;
    /** The rounds of a batch that does not run live: calls with the same number in their conversations, by their way */
    hops: {
      /** The number, counted from 1 */
      n: number;
      /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
      via: 'live' | 'provider-batch';
      /** Why */
      reason: string;
      /** How many requests it had */
      requests: number;
      /** When it was submitted to the provider */
      submittedAt: string | null;
      /** When it ended; null: it has not */
      endedAt: string | null;
      /** The part of the prompt tokens that was read from the cache of the provider; null: not known */
      cacheHitRate: number | null;
      /** What it cost in US dollars; null: that is not known, because the model has no price */
      costUsd: number | null;
      /** The ids of the provider for them */
      providerBatchIds: string[];
    }[];
    /** The fields that do not fit */
    errors: {
      /** A stable code for programs */
      code: string;
      /** How many there are */
      count: number;
      /** The message of the first of them */
      sample: string;
    }[];
    /** The API key by which it was submitted */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When its first item could be fed; null: it is uploading */
    startedAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
  };
  BatchItem: {
    /** The number, counted from 1 */
    n: number;
    /** The name that the submitter gave the item; each may be used once */
    customId: string | null;
    /** The key of the session */
    sessionKey: string;
    /** Its state */
    status: 'pending' | 'waiting' | 'running' | 'parked' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'expired';
    /** How often it was fed, this time included; 1 before the first time */
    attempt: number;
    /** The id of the message */
    messageId: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** Why it failed, expired or was cancelled */
    error: Schemas['Fault'];
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
    /** Why it waits; null: it does not wait */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** Only what is not older */
      since: string;
      /** The latest time when it ends; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    } | null;
  };
  BatchPatch: {
    /** A new name; null: none */
    name?: string | null;
    /** How many items are in flight at most */
    concurrency?: number;
    /** How many items are fed in turn with those of other batches */
    weight?: number;
    /** The batch pauses when its ended items have cost so much; null: no limit */
    maxCostUsd?: number | null;
    /** The batch pauses when more of its last 50 ended items, or of its pilot, failed */
    maxFailurePercent?: number;
    /** Items that are not fed within so many seconds expire */
    deadlineSeconds?: number;
    /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
    via?: 'live' | 'provider-batch' | 'auto';
  };
  Budget: {
    /** The id */
    id: string;
    /** What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>` */
    scope: string;
    /** How long a window is */
    per: 'hour' | 'day' | 'month' | 'total';
    /** The time zone in which hours, days and months begin */
    zone: string;
    /** The limit in US dollars */
    limitUsd: number;
    /** The part of the limit at which `budget.warned` is sent, in percent */
    warnPercent: number;
    /** What a turn does whose next call finds no room: `pause` parks it, `fail` ends it */
    action: 'pause' | 'fail';
    /** True: each call reserves the most that it can cost */
    strict: boolean;
    /** What is spent of it, in US dollars */
    spentUsd: number;
    /** What is reserved for calls that are being made, in US dollars */
    reservedUsd: number;
    /** Whether a call was refused in the present window, since the budget was changed last */
    isReached: boolean;
    /** When the present window began; null: no call was made in it yet */
    startsAt: string | null;
    /** When the present window ends; null: it has no end, or no call was made in it yet */
    endsAt: string | null;
    /** Whether it belongs to the configuration, to a request, or to a batch */
    origin: 'config' | 'api' | 'batch';
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
  };
  BatchRequest: {
    /** A name for people */
    name?: string;
    /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
    via?: 'live' | 'provider-batch' | 'auto';
    /** The agent of items that name none */
    agentId?: string;
    /** The model of items that name none */
    model?: string;
    /** The thinking level of items that name none */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
    /** Which sections the system prompt has */
    promptMode?: 'full' | 'minimal' | 'none';
    /** What happens to a request that the provider has not answered by the deadline */
    fallback?: 'live' | 'fail';
    /** How long cached prompts are kept by the provider */
    cache?: 'auto' | '1h' | '5m' | 'off';
    /** How many items are in flight at most */
    concurrency?: number;
    /** How many items are fed in turn with those of other batches */
    weight?: number;
    /** So many items run first; the others follow when they went well */
    pilot?: number;
    /** The batch pauses when its ended items have cost so much; null: no limit */
    maxCostUsd?: number;
    /** The batch pauses when more of its last 50 ended items, or of its pilot, failed */
    maxFailurePercent?: number;
    /** Items that are not fed within so many seconds expire */
    deadlineSeconds?: number;
    /** Where the end of the batch is reported, signed */
    deliver?: {
      /** An http or https URL */
      url: string;
    };
    /** The items of the page */
    items?: unknown[];
  };
  BatchResult: {
    /** The number, counted from 1 */
    n: number;
    /** The name that the submitter gave the item; each may be used once */
    customId: string | null;
    /** Its status */
    status: 'pending' | 'waiting' | 'running' | 'parked' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'expired';
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** What went wrong; null: nothing */
    error: Schemas['Fault'];
    /** The key of the session */
    sessionKey: string;
    /** The id of the message */
    messageId: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** How often it was begun, this time included */
    attempt: number;
    /** The tokens that were used */
    usage: Schemas['Usage'];
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
  };
  BulkAction: {
    /** The id */
    id: string;
    /** What is done to each */
    action: 'retry' | 'abort' | 'cancel' | 'redrive' | 'discard';
    /** What it is done to */
    target: 'turns' | 'messages' | 'deliveries' | 'dead-letters';
    /** What it was submitted with: `ids` (how many), or the filter */
    filter: Record<string, unknown>;
    /** Why */
    reason: string | null;
    /** How many are carried out per second at most; null or absent: as many as can be */
    perSecond: number | null;
    /** Whether the first one goes alone, and the others follow when it has ended well; if it has not, the action ends */
    canary: boolean;
    /** `running`; `cancelling`: those in progress finish; `completed`; `cancelled`; `canary_failed`: the first one did not end well, and the others were skipped */
    status: 'running' | 'cancelling' | 'completed' | 'cancelled' | 'canary_failed';
    /** How many it is about */
    total: number;
    /** How many were carried out */
    done: number;
    /** How many were not changed */
    skipped: number;
    /** How many could not be carried out because of a fault */
    failed: number;
    /** Who has submitted it: `admin`, or `key:<name>` */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When it ended; null: it has not */
    endedAt: string | null;
  };
  BulkItem: {
    /** Its place in the order in which they are carried out */
    n: number;
    /** The id of the turn, message, delivery or dead letter */
    id: string;
    /** Its status */
    status: 'pending' | 'done' | 'skipped' | 'failed';
    /** Why it was skipped or has failed; null: neither */
    reason: string | null;
    /** The messages that wait because of it; null: none */
    messageIds: string[] | null;
    /** When it ended; null: it has not */
    settledAt: string | null;
  };
  Compacted: {
    /** The message */
    message: Schemas['Message'];
    /** The turn; null: no turn has claimed it */
    turn: Schemas['Turn'] | null;
    /** The compaction */
    compaction: Schemas['Compaction'] | null;
  };
  Compaction: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** The number of the transcript, counted from 1 */
    transcriptNo: number;
    /** The id of the turn; null: there is none */
    turnId: string;
    /** Why */
    reason: 'manual' | 'threshold' | 'overflow';
    /** Its status */
    status: 'running' | 'completed' | 'failed' | 'timedOut' | 'restored';
    /** How often it was begun, this time included */
    attempt: number;
    /** Tokens of the context before */
    tokensBefore: number;
    /** Tokens of the context afterwards; null: it did not succeed */
    tokensAfter: number | null;
    /** The entry of the summary; null: there is none */
    summaryEntryId: string | null;
    /** How many entries the summary replaces */
    retiredEntries: number;
    /** The file that notes were added to; null: none */
    memoryPath: string | null;
    /** Which workspace files later requests still contain */
    audit: Record<string, unknown> | null;
    /** What went wrong; null: nothing */
    error: Schemas['Fault'];
    /** Whether it can be undone now */
    isRestorable: boolean;
    /** When it began */
    startedAt: string;
    /** When it ended; null: it has not */
    endedAt: string | null;
  };
  Cron: {
    /** The id */
    id: string;
    /** The name */
    name: string;
    /** The id of an agent of the configuration */
    agentId: string;
    /** Where it comes from */
    origin: 'config' | 'api' | 'agent';
    /** When it fires */
    schedule: {
      /** What kind it is */
      kind: 'at';
      /** When it happens, or happened */
      at: string;
    } | {
      /** What kind it is */
      kind: 'every';
      /** The length of a step, in milliseconds; a request may also send a text such as "5m" */
      everyMs: number;
      /** The time from which the steps are counted */
      anchor: string;
    } | {
      /** What kind it is */
      kind: 'cron';
      /** A cron expression with 5 or 6 fields */
      expr: string;
      /** An IANA time zone; absent: that of the agent */
      tz: string;
      /** A delay that spreads crons with the same slot, in milliseconds */
      staggerMs?: number;
    };
    /** The session in which it runs: main, isolated, or session:<key> */
    target: string;
    /** What a run does */
    payload: {
      /** What kind it is */
      kind: 'systemEvent';
      /** The text */
      text: string;
    } | {
      /** What kind it is */
      kind: 'agentTurn';
      /** The message */
      message: string;
      /** A model as provider/model, or an alias; null or absent: what the configuration says */
      model?: string;
      /** The thinking level of the model; null or absent: what the configuration says */
      thinking?: string;
      /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
      via?: 'live' | 'provider-batch' | 'auto';
      /** How long a run may take */
      timeoutSeconds?: number;
    };
    /** Whether the session runs immediately or with its next heartbeat */
    wake: 'now' | 'next-heartbeat';
    /** What happens to slots that were missed; null: what the configuration says */
    misfire: 'run_once' | 'run_all' | 'skip' | null;
    /** Where the reply of a run is sent; null: as the configuration says */
    delivery: {
      /** Where the reply goes */
      mode: 'none' | 'last' | 'webhook';
      /** An http or https URL */
      url?: string;
    } | null;
    /** Whether the cron is deleted after a successful run */
    deleteAfterRun: boolean;
    /** Whether it fires */
    enabled: boolean;
    /** Why Holdfast disabled it; null: it is enabled, or its owner disabled it */
    disabledReason: string | null;
    /** Failed runs in a row */
    failures: number;
    /** The last slot that fired; null: none has */
    lastSlotAt: string | null;
    /** The next slot; null: there is none */
    nextSlotAt: string | null;
    /** The next slot with its stagger */
    nextRunAt: string | null;
    /** When it was created */
    createdAt: string;
    /** When it changed last */
    updatedAt: string;
  };
  CronFire: {
    /** The id of the cron */
    cronId: string;
    /** The slot */
    scheduledFor: string;
    /** Its status */
    status: 'claimed' | 'completed' | 'failed' | 'missed' | 'skipped';
    /** Why */
    reason: string | null;
    /** How many slots it replaces */
    slots: number;
    /** Whether a person or a program asked for it */
    isManual: boolean;
    /** The id of the message */
    messageId: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it fired; null: it has not */
    firedAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars; sums of it are exact */
    costMicros: number | null;
    /** Model calls whose cost is not known, because their model has no price */
    unpricedCalls: number;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
  };
  DeadLetter: {
    /** The id */
    id: string;
    /** What kind it is */
    kind: string;
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** The id of the delivery */
    deliveryId: string | null;
    /** A stable code for programs */
    code: string;
    /** Why */
    reason: string;
    /** Its state */
    state: 'open' | 'redriven' | 'discarded';
    /** When it was created */
    createdAt: string;
    /** When it was settled; null: it has not been */
    settledAt: string | null;
  };
  DeadLetterGroup: {
    /** What kind it is */
    kind: string;
    /** A stable code for programs */
    code: string;
    /** How many there are */
    count: number;
    /** When the oldest was created */
    firstAt: string;
    /** When the newest was created */
    lastAt: string;
    /** The newest dead letters of the group */
    letters: Schemas['DeadLetter'][];
  };
  Delivery: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** Its number in the session */
    seq: number;
    /** The channel that it is sent through */
    channel: string;
    /** Where it is sent */
    target: {
      /** An http or https URL */
      url?: string;
      [field: string]: unknown;
    };
    /** The body that is sent */
    payload: {
      /** The type */
      type?: string;
      /** The key of the session */
      sessionKey?: string;
      /** The id of the turn; null: there is none */
      turnId?: string | null;
      /** The messages of the turn */
      messageIds?: string[];
      /** The text */
      text?: string;
      [field: string]: unknown;
    };
    /** Its status */
    status: 'pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'expired' | 'discarded';
    /** How often it was sent */
    attempts: number;
    /** When it is sent next */
    dueAt: string;
    /** When delivery attempts end */
    expiresAt: string;
    /** The HTTP status of the last answer; null: there was none */
    lastStatus: number | null;
    /** Why the last attempt failed; null: it did not fail, or none was made */
    lastError: string | null;
    /** When it was created */
    createdAt: string;
    /** When it was settled; null: it has not been */
    settledAt: string | null;
  };
  DeliveryDetails: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** Its number in the session */
    seq: number;
    /** The channel that the message came through */
    channel: string;
    /** The session in which it runs: main, isolated, or session:<key> */
    target: {
      /** An http or https URL */
      url?: string;
      [field: string]: unknown;
    };
    /** What a run does */
    payload: {
      /** The type */
      type?: string;
      /** The key of the session */
      sessionKey?: string;
      /** The id of the turn; null: there is none */
      turnId?: string | null;
      /** The messages of the turn */
      messageIds?: string[];
      /** The text */
      text?: string;
      [field: string]: unknown;
    };
    /** Its status */
    status: 'pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'expired' | 'discarded';
    /** How often it was sent */
    attempts: number;
    /** When it is sent next */
    dueAt: string;
    /** When delivery attempts end */
    expiresAt: string;
    /** The HTTP status of the last answer; null: there was none */
    lastStatus: number | null;
    /** Why the last attempt failed; null: it did not fail, or none was made */
    lastError: string | null;
    /** When it was created */
    createdAt: string;
    /** When it was settled; null: it has not been */
    settledAt: string | null;
    /** The results of its attempts, oldest first, as far as the log of events still has them */
    log: {
      /** How often it was begun, this time included */
      attempt: number;
      /** When the result was stored */
      at: string;
      /** What it was after the attempt; `pending`: it is tried again */
      status: 'pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'expired' | 'discarded';
      /** The HTTP status of the answer; null: there was none */
      httpStatus: number | null;
    }[];
  };
  DeliveryCount: {
    /** Its status */
    status: 'pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'expired' | 'discarded';
    /** How many there are */
    count: number;
    /** Whether there are more than are counted */
    isCapped: boolean;
    /** When the message that waits longest arrived; null: none waits */
    oldestAt: string | null;
  };
  CronInput: {
    /** The name */
    name?: string;
    /** The id of an agent of the configuration */
    agentId?: string;
    /** When it fires */
    schedule: {
      /** What kind it is */
      kind: 'at';
      /** When it happens, or happened */
      at: string;
    } | {
      /** What kind it is */
      kind: 'every';
      /** The length of a step, in milliseconds; a request may also send a text such as "5m" */
      everyMs: number | string;
      /** The time from which the steps are counted */
      anchor?: string;
    } | {
      /** What kind it is */
      kind: 'cron';
      /** A cron expression with 5 or 6 fields */
      expr: string;
      /** An IANA time zone; absent: that of the agent */
      tz?: string;
      /** A delay that spreads crons with the same slot, in milliseconds */
      staggerMs?: number;
    };
    /** The session in which it runs: main, isolated, or session:<key> */
    target?: string;
    /** What a run does */
    payload: {
      /** What kind it is */
      kind: 'systemEvent';
      /** The text */
      text: string;
    } | {
      /** What kind it is */
      kind: 'agentTurn';
      /** The message */
      message: string;
      /** A model as provider/model, or an alias; null or absent: what the configuration says */
      model?: string;
      /** The thinking level of the model; null or absent: what the configuration says */
      thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
      /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
      via?: 'live' | 'provider-batch' | 'auto';
      /** How long a run may take */
      timeoutSeconds?: number;
    };
    /** Whether the session runs immediately or with its next heartbeat */
    wake?: 'now' | 'next-heartbeat';
    /** What happens to slots that were missed; null: what the configuration says */
    misfire?: 'run_once' | 'run_all' | 'skip' | null;
    /** Where the reply of a run is sent; null: as the configuration says */
    delivery?: {
      /** What happens to the message while the session is busy */
      mode: 'none';
    } | {
      /** What happens to the message while the session is busy */
      mode: 'last';
    } | {
      /** What happens to the message while the session is busy */
      mode?: 'webhook';
      /** An http or https URL */
      url?: string;
    } | null;
    /** Whether the cron is deleted after a successful run */
    deleteAfterRun?: boolean;
    /** Whether it fires */
    enabled?: boolean;
  };
  CronPatch: {
    /** The name */
    name?: string;
    /** The id of an agent of the configuration */
    agentId?: string;
    /** When it fires */
    schedule?: {
      /** What kind it is */
      kind: 'at';
      /** When it happens, or happened */
      at: string;
    } | {
      /** What kind it is */
      kind: 'every';
      /** The length of a step, in milliseconds; a request may also send a text such as "5m" */
      everyMs: number | string;
      /** The time from which the steps are counted */
      anchor?: string;
    } | {
      /** What kind it is */
      kind: 'cron';
      /** A cron expression with 5 or 6 fields */
      expr: string;
      /** An IANA time zone; absent: that of the agent */
      tz?: string;
      /** A delay that spreads crons with the same slot, in milliseconds */
      staggerMs?: number;
    };
    /** The session in which it runs: main, isolated, or session:<key> */
    target?: string;
    /** What a run does */
    payload?: {
      /** What kind it is */
      kind: 'systemEvent';
      /** The text */
      text: string;
    } | {
      /** What kind it is */
      kind: 'agentTurn';
      /** The message */
      message: string;
      /** A model as provider/model, or an alias; null or absent: what the configuration says */
      model?: string;
      /** The thinking level of the model; null or absent: what the configuration says */
      thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
      /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
      via?: 'live' | 'provider-batch' | 'auto';
      /** How long a run may take */
      timeoutSeconds?: number;
    };
    /** Whether the session runs immediately or with its next heartbeat */
    wake?: 'now' | 'next-heartbeat';
    /** What happens to slots that were missed; null: what the configuration says */
    misfire?: 'run_once' | 'run_all' | 'skip' | null;
    /** Where the reply of a run is sent; null: as the configuration says */
    delivery?: {
      /** What happens to the message while the session is busy */
      mode: 'none';
    } | {
      /** What happens to the message while the session is busy */
      mode: 'last';
    } | {
      /** What happens to the message while the session is busy */
      mode?: 'webhook';
      /** An http or https URL */
      url?: string;
    } | null;
    /** Whether the cron is deleted after a successful run */
    deleteAfterRun?: boolean;
    /** Whether it fires */
    enabled?: boolean;
  };
  Entry: {
    /** The id */
    id: string;
    /** Its number in the session */
    seq: number;
    /** The entry before it; null: it is the first */
    parentId: string | null;
    /** What kind it is */
    kind: 'prompt' | 'answer' | 'results' | 'steer' | 'summary';
    /** Who speaks */
    role: 'user' | 'assistant';
    /** Content blocks in the shapes of Anthropic's Messages API: text, tool_use, tool_result, thinking, image */
    content: {
      /** The type */
      type: string;
      [field: string]: unknown;
    }[];
    /** The id of the turn; null: there is none */
    turnId: string;
    /** Its state */
    state: 'active' | 'pruned' | 'compacted' | 'hidden';
    /** When it was created */
    createdAt: string;
  };
  Fault: {
    /** A stable code for programs */
    code: string;
    /** The message */
    message: string;
    [field: string]: unknown;
  } | null;
  LiveEvent: {
    /** The type */
    type: 'reset';
    /** The key of the session */
    sessionKey: null;
    /** The id of the turn; null: there is none */
    turnId: null;
    /** When it happens, or happened */
    at: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'message.accepted';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the message */
    messageId: string;
    /** Its number in the session */
    seq: number;
    /** What kind it is */
    kind: string;
    /** What happened to it when it was accepted */
    disposition: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'message.settled';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the message */
    messageId: string;
    /** Its status */
    status: 'waiting' | 'claimed' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'dropped';
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'turn.started';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** What kind it is */
    kind: string;
    /** The messages of the turn */
    messageIds: string[];
    /** How often it was begun, this time included */
    attempt: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'turn.parked';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** A stable code for programs */
    code: string;
    /** When it is tried again, in milliseconds from then */
    dueInMs: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'turn.resumed';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** A stable code for programs */
    code: string | null;
    /** How long the turn was parked, in milliseconds */
    waitedMs: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'turn.ended';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** Its status */
    status: 'running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming';
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** What went wrong; null: nothing */
    error: Schemas['Fault'];
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars; sums of it are exact */
    costMicros: number | null;
    /** Model calls whose cost is not known, because their model has no price */
    unpricedCalls: number;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
    /** The id of an agent of the configuration */
    agentId: string;
    /** What kind it is */
    kind: string;
    /** The class of turns with its own concurrency */
    lane: string;
    /** A model as provider/model, or an alias; null or absent: what the configuration says */
    model: string | null;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'model.started';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The number of the model call in its turn */
    call: number;
    /** The id of the call */
    callId: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'model.delta';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The number of the model call in its turn */
    call: number;
    /** The text */
    text: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'model.reasoning';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The number of the model call in its turn */
    call: number;
    /** The text */
    text: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'model.ended';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The number of the model call in its turn */
    call: number;
    /** The id of the call */
    callId: string;
    /** Its status */
    status: 'ok' | 'failed' | 'aborted';
    /** Why the model stopped; null: it has not */
    stopReason?: string | null;
    /** The tokens that were used */
    usage: Schemas['Usage'];
    /** The part of `cacheWriteTokens` that the provider keeps for an hour */
    cacheWrite1hTokens: number;
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars; sums of it are exact */
    costMicros: number | null;
    /** Whether the call broke off, and its tokens and cost are what was reported until then */
    isEstimated: boolean;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
    /** The prices that hold for it: standard, or those of batches of the provider */
    tier: 'standard' | 'batch';
    /** The id of an agent of the configuration */
    agentId: string;
    /** What kind it is */
    kind: string;
    /** The class of turns with its own concurrency */
    lane: string;
    /** A model as provider/model, or an alias; null or absent: what the configuration says */
    model: string | null;
    /** From the start of the call to the first part of its answer, in milliseconds; null: there was none */
    firstChunkMs: number | null;
    /** What went wrong; null: nothing */
    error?: Schemas['Fault'];
    /** When the call is made again, in milliseconds from then */
    retryInMs?: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'model.blocked';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The platform that the channel belongs to */
    provider: string | null;
    /** A stable code for programs */
    code: string;
    /** The text */
    text: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'tool.started';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the call */
    callId: string;
    /** The name: of a batch, a cron or a tool, or the one under which a process holds locks */
    name: string;
    /** The step of the turn, counted from 1 */
    step: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'tool.ended';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the call */
    callId: string;
    /** The name: of a batch, a cron or a tool, or the one under which a process holds locks */
    name: string;
    /** Its status */
    status: string;
    /** Whether the result says that the tool failed */
    isError: boolean;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'steer.injected';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The messages of the turn */
    messageIds: string[];
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'compaction.started';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the compaction */
    compactionId: string;
    /** Why */
    reason: string;
    /** How often it was begun, this time included */
    attempt: number;
    /** Tokens of the context before */
    tokensBefore: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'compaction.ended';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the compaction */
    compactionId: string;
    /** Its status */
    status: string;
    /** Tokens of the context before */
    tokensBefore: number | null;
    /** Tokens of the context afterwards; null: it did not succeed */
    tokensAfter: number | null;
    /** What went wrong; null: nothing */
    error: Schemas['Fault'];
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'announce.queued';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the run of the subagent */
    runId: string;
    /** The session key of the subagent */
    childSessionKey: string;
    /** The id of the message */
    messageId: string;
    /** Its status */
    status: string;
    /** What happened to it when it was accepted */
    disposition: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'delivery.sent';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the delivery */
    deliveryId: string;
    /** How often it was begun, this time included */
    attempt: number;
    /** Its status */
    status: string;
    /** The HTTP status of the answer; null: there was none */
    httpStatus?: number | null;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'delivery.failed';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the delivery */
    deliveryId: string;
    /** How often it was begun, this time included */
    attempt: number;
    /** Its status */
    status: string;
    /** The HTTP status of the answer; null: there was none */
    httpStatus?: number | null;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'cron.fired';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the cron */
    cronId: string;
    /** The name: of a batch, a cron or a tool, or the one under which a process holds locks */
    name: string;
    /** The slot */
    scheduledFor: string;
    /** The id of the message */
    messageId: string | null;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'heartbeat.fired';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the poll */
    heartbeatId: string;
    /** The id of an agent of the configuration */
    agentId: string;
    /** What made it */
    trigger: 'interval' | 'manual';
    /** The slot */
    scheduledFor: string;
    /** The id of the message */
    messageId: string | null;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'batch.created';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the batch */
    batchId: string;
    /** The name: of a batch, a cron or a tool, or the one under which a process holds locks */
    name: string | null;
    /** The items of the page */
    items: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'batch.progress';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the batch */
    batchId: string;
    /** How many items are in each state */
    counts: {
      /** How many there are */
      total: number;
      /** Items that were fed and have not ended */
      inFlight: number;
      /** Items that were answered */
      answered: number;
      /** Items whose answer was silent */
      silent: number;
      /** Items that failed */
      failed: number;
      /** Items that were cancelled */
      cancelled: number;
      /** Items that the deadline reached first */
      expired: number;
    };
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'batch.hop';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the batch */
    batchId: string;
    /** The number, counted from 1 */
    n: number;
    /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
    via: 'live' | 'provider-batch';
    /** How many requests it had */
    requests: number;
    /** The part of the prompt tokens that was read from the cache of the provider; null: not known */
    cacheHitRate: number | null;
    /** The same in whole micro-dollars; sums of it are exact */
    costMicros: number | null;
    /** What the same answers cost in live calls, in micro-dollars; null: not known */
    liveMicros: number | null;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'batch.paused';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the batch */
    batchId: string;
    /** Why */
    reason: 'manual' | 'pilot_done' | 'cost_cap' | 'failure_rate' | 'provider_refused' | 'budget';
    /** An explanation for people */
    detail: string | null;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'batch.resumed';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the batch */
    batchId: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'batch.ended';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the batch */
    batchId: string;
    /** How it ended; null: it has not ended */
    outcome: 'completed' | 'partly' | 'failed' | 'cancelled';
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'budget.warned';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the budget; that of the batch, for its cost cap */
    budgetId: string;
    /** What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>` */
    scope: string;
    /** How long a window is */
    per: 'hour' | 'day' | 'month' | 'total';
    /** The same in whole micro-dollars */
    limitMicros: number;
    /** What the calls of the window have cost, in whole micro-dollars */
    spentMicros: number;
    /** What calls in flight have reserved, in whole micro-dollars */
    reservedMicros: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'budget.reached';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the budget; that of the batch, for its cost cap */
    budgetId: string;
    /** What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>` */
    scope: string;
    /** How long a window is */
    per: 'hour' | 'day' | 'month' | 'total';
    /** The same in whole micro-dollars */
    limitMicros: number;
    /** What the calls of the window have cost, in whole micro-dollars */
    spentMicros: number;
    /** What calls in flight have reserved, in whole micro-dollars */
    reservedMicros: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'worker.started';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the process */
    workerId: string;
    /** The name: of a batch, a cron or a tool, or the one under which a process holds locks */
    name: string;
    /** The name of the host */
    host: string;
    /** The id of the process on its host */
    pid: number;
    /** The roles of the process */
    roles: string[];
    /** The version of Holdfast that the process runs */
    version: string;
    /** Whether it was lost and reports again */
    isBack: boolean;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'worker.lost';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the process */
    workerId: string;
    /** The name: of a batch, a cron or a tool, or the one under which a process holds locks */
    name: string;
    /** The name of the host */
    host: string;
    /** The id of the process on its host */
    pid: number;
    /** The roles of the process */
    roles: string[];
    /** The version of Holdfast that the process runs */
    version: string;
    /** When it reported last */
    seenAt: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'worker.drained';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the process */
    workerId: string;
    /** The name: of a batch, a cron or a tool, or the one under which a process holds locks */
    name: string;
    /** The name of the host */
    host: string;
    /** The id of the process on its host */
    pid: number;
    /** The roles of the process */
    roles: string[];
    /** The version of Holdfast that the process runs */
    version: string;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'bulk.progress';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The id of the bulk action */
    bulkActionId: string;
    /** Its status */
    status: 'running' | 'cancelling' | 'completed' | 'cancelled' | 'canary_failed';
    /** How many there are */
    total: number;
    /** How many were carried out */
    done: number;
    /** How many were not changed */
    skipped: number;
    /** How many could not be carried out */
    failed: number;
    [field: string]: unknown;
  } | {
    /** The type */
    type: 'session.reset';
    /** The key of the session */
    sessionKey: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it happens, or happened */
    at: string;
    /** The number of the transcript, counted from 1 */
    transcriptNo: number;
    /** The number of the transcript that was ended */
    previousTranscriptNo: number;
    /** Why */
    reason: string;
    [field: string]: unknown;
  };
  Heartbeat: {
    /** The id */
    id: string;
    /** The id of an agent of the configuration */
    agentId: string;
    /** The key of the session */
    sessionKey: string;
    /** The slot */
    scheduledFor: string;
    /** What made it */
    trigger: 'interval' | 'manual';
    /** Its status */
    status: 'claimed' | 'fired' | 'skipped';
    /** Why */
    reason: string | null;
    /** An explanation for people */
    detail: string | null;
    /** The result; null: there is none yet */
    result: 'acknowledged' | 'alert' | 'duplicate' | 'failed' | null;
    /** The id of the message */
    messageId: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it was settled; null: it has not been */
    settledAt: string | null;
  };
  InboundMessage: {
    /** The text */
    text: string;
    /** The id of the message on the platform; unique per channel, account and chat forever */
    messageId?: string;
    /** The channel that the message came through */
    channel?: string;
    /** The account of the bot on the platform */
    accountId?: string;
    /** The id of the chat on the platform */
    chatId?: string;
    /** What kind of chat it is */
    chatType?: 'direct' | 'group' | 'channel';
    /** The platform that the channel belongs to */
    provider?: string;
    /** The part of the platform that the message came from */
    surface?: string;
    /** When the message was sent, as ISO 8601 or epoch milliseconds */
    timestamp?: string | number;
    /** Who sent the message */
    sender?: {
      /** The id of the sender on the platform */
      id?: string;
      /** The name */
      name?: string;
      /** The user name on the platform */
      username?: string;
      /** The tag of the sender */
      tag?: string;
      /** The phone number */
      e164?: string;
    };
    /** The group chat that the message belongs to */
    group?: {
      /** The name of the group */
      subject?: string;
      /** The name of the channel of the group */
      channel?: string;
      /** The name of the space or server */
      space?: string;
      /** The names of the members */
      members?: string[];
    };
    /** The name of the conversation, as the platform shows it */
    conversationLabel?: string;
    /** Whether the agent was mentioned in a group */
    wasMentioned?: boolean;
    /** The message that this one replies to */
    replyTo?: {
      /** The platform id of the message that is replied to */
      id?: string;
      /** The name of who sent the original */
      senderLabel?: string;
      /** The text of the message */
      body?: string;
      /** Whether a part of the message is quoted */
      isQuote?: boolean;
    };
    /** Where a forwarded message comes from */
    forwarded?: {
      /** Who sent the original */
      from?: string;
      /** The type */
      type?: string;
      /** The user name on the platform */
      username?: string;
      /** A short title */
      title?: string;
      /** The signature of the author of the original */
      signature?: string;
      /** What kind of chat it is */
      chatType?: string;
      /** When the original was sent */
      date?: string | number;
    };
    /** Messages of the chat that the agent has not seen, oldest first */
    history?: {
      /** Who sent the message */
      sender?: string;
      /** When the message was sent, as ISO 8601 or epoch milliseconds */
      timestamp?: string | number;
      /** The text of the message */
      body: string;
    }[];
    /** The thread that the message belongs to */
    thread?: {
      /** The id */
      id?: string;
      /** A name for people */
      label?: string;
      /** The message that began the thread */
      starterBody?: string;
      /** The messages of the thread before this one */
      historyBody?: string;
    };
    /** Files and images that came with the message */
    media?: {
      /** The path of a file in the workspace */
      path?: string;
      /** The type */
      type?: string;
      /** An http or https URL */
      url?: string;
      /** The transcript of a voice message */
      transcript?: string;
    }[];
    /** Texts of others that the agent reads as data */
    untrustedContext?: string[];
    /** What the operator says to the agent about this group */
    groupSystemPrompt?: string;
    /** What happens to the message while the session is busy */
    mode?: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback';
    /** A model as provider/model, or an alias; null or absent: what the configuration says */
    model?: string;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
    /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
    via?: 'live' | 'provider-batch' | 'auto';
    /** Where the reply is sent */
    deliver?: {
      /** An http or https URL */
      url: string;
    };
    /** The message fails with the code `expired` when its answer has not begun by then */
    expiresAt?: string | number;
    /** The message arrives in its session at this time, as if it were sent then; until then it waits with the code `delayed` */
    deliverAt?: string | number;
    /** Over 0: when a worker is free, the session goes before those that wait in its lane; under 0: after all others, the lowest last */
    priority?: number;
  };
  Message: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** Its number in the session */
    seq: number;
    /** What kind it is */
    kind: 'message' | 'announcement' | 'cron' | 'heartbeat' | 'followup' | 'batch' | 'compaction';
    /** The text */
    text: string;
    /** Its status */
    status: 'waiting' | 'claimed' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'dropped';
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** The failed message that this message repeats; null: it repeats none */
    retryOf: string | null;
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** What went wrong; null: nothing */
    error: Schemas['Fault'];
    /** Why it waits; null: it does not wait */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** When it began to wait */
      since: string;
      /** The latest time when it ends; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    } | null;
    /** When it was accepted */
    receivedAt: string;
    /** When it was settled; null: it has not been */
    settledAt: string | null;
  };
  ModelRequest: {
    /** The id of the turn; null: there is none */
    turnId: string;
    /** The number of the model call in its turn */
    call: number;
    /** The step of the turn, counted from 1 */
    step: number;
    /** What the call was for */
    purpose: 'answer' | 'compaction' | 'flush';
    /** Its status */
    status: 'ok' | 'failed' | 'aborted';
    /** The body of the call, in the shapes of Anthropic's Messages API */
    request: Record<string, unknown>;
    /** Of the bytes that were sent; null: nothing was sent */
    requestSha256: string | null;
    /** Whether the body that is given here has the same hash */
    matches: boolean | null;
    /** In the order of the provider's cache: tools, system prompt, messages */
    parts: ({
      /** Where it stands in the body: system[0], tools[3], messages[4].content[1] */
      path: string;
      /** A section, a tool, a part of a prompt, or the type of a block */
      name: string;
      /** Whose words it holds: holdfast, configuration, sender, tool:<name>, plugin:<id>, model */
      origin: string;
      /** How far its text is trusted */
      trust: 'trusted' | 'untrusted' | 'model';
      /** An estimate */
      tokens: number;
      /** Whether the provider is asked to keep everything up to here in its cache */
      cacheMarker: boolean;
      /** The part of the text that it is, in UTF-16 units; null: all of it */
      span: {
        /** The start, in UTF-16 units */
        start: number;
        /** The end, in UTF-16 units */
        end: number;
      } | null;
      /** The entry of the transcript that it is of */
      entry: {
        /** The id */
        id: string;
        /** Its number in the session */
        seq: number;
        /** What kind it is */
        kind: 'prompt' | 'answer' | 'results' | 'steer' | 'summary';
        /** The id of the turn; null: there is none */
        turnId: string;
      } | null;
    })[];
  };
  Pause: {
    /** The id */
    id: string;
    /** Only sessions of this lane; null: of any */
    lane: 'main' | 'subagent' | 'cron' | 'batch' | null;
    /** Only sessions of this agent; null: of any */
    agent: string | null;
    /** Only this session; null: any */
    session: string | null;
    /** Why, as the person has said; null: nothing was said */
    reason: string | null;
    /** Who has paused it: `admin`, or `key:<name>` */
    pausedBy: string;
    /** When it was made */
    since: string;
  };
  OpenAiError: {
    /** What is wrong */
    error: {
      /** What is wrong and what is allowed, for people */
      message: string;
      /** The kind of error, in the words of OpenAI */
      type: string;
      /** The parameter that does not fit; null: none */
      param: string | null;
      /** A stable code; that of a problem where OpenAI has none */
      code: string | null;
    };
  };
  Problem: {
    /** A URN of the code */
    type: string;
    /** The meaning of the code, for people */
    title: string;
    /** The HTTP status */
    status: number;
    /** An explanation for people */
    detail: string;
    /** The path that was requested */
    instance: string;
    /** A stable code for programs */
    code: string;
    /** The id of the request, as in the header x-request-id */
    requestId: string;
    /** What is wrong, field by field */
    errors?: {
      /** The field that does not fit; empty: the whole body */
      path: string;
      /** What is wrong with the field */
      message: string;
    }[];
    [field: string]: unknown;
  };
  Readiness: {
    /** Its status */
    status: 'ready' | 'degraded' | 'unavailable';
    /** What the service needs, each with its state */
    dependencies: {
      /** The name */
      name: string;
      /** Its status */
      status: 'ok' | 'failed';
      /** How long it took, in milliseconds */
      durationMs: number;
      /** What went wrong; null: nothing */
      error: string | null;
    }[];
    /** What keeps the service from working; GET /v1/attention and holdfast doctor say more */
    troubles: ('no_worker' | 'no_scheduler' | 'reconciler_stalled' | 'outbox_stalled' | 'versions_differ' | 'clock_off' | 'events_held')[];
    /** The model that answers */
    model: {
      /** The provider of the model */
      provider: string;
      /** The name */
      name: string;
      /** True: the built-in script answers, because no key of a provider is configured */
      isScripted: boolean;
    };
  };
  Session: {
    /** The id */
    id: string;
    /** The session key */
    key: string;
    /** The id of an agent of the configuration */
    agentId: string;
    /** What kind it is */
    kind: 'main' | 'direct' | 'group' | 'subagent' | 'cron' | 'batch' | 'heartbeat' | 'other';
    /** Its status */
    status: 'idle' | 'waiting' | 'running';
    /** The session that spawned it; null: none did */
    parentKey: string | null;
    /** A name for people */
    label: string | null;
    /** The channel that the message came through */
    channel: string | null;
    /** What happens to a message while the session is busy; null: what the configuration says */
    queueMode: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback' | null;
    /** How long no message may arrive before a turn begins, in milliseconds; null: what the configuration says */
    queueDebounceMs: number | null;
    /** The largest number of messages in a turn; null: what the configuration says */
    queueCap: number | null;
    /** What happens to messages over the cap; null: what the configuration says */
    queueDrop: 'wait' | 'summarize' | 'old' | 'new' | null;
    /** A model as provider/model, or an alias; null or absent: what the configuration says */
    model: string | null;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking: string | null;
    /** Whether the thinking of the model is shown: `off`, `on` (in front of replies) or `stream` (as live events); null: `off` */
    reasoning: string | null;
    /** The fencing token of the lock */
    epoch: number;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** How many messages wait */
    waitingMessages: number;
    /** How many system events wait */
    systemEvents: number;
    /** The tokens so far */
    tokens: {
      /** Input tokens */
      input: number;
      /** Output tokens */
      output: number;
      /** Tokens in the context of the model */
      context: number;
    };
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars; sums of it are exact */
    costMicros: number | null;
    /** Model calls whose cost is not known, because their model has no price */
    unpricedCalls: number;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
    /** When it was created */
    createdAt: string;
    /** When it changed last */
    updatedAt: string;
  };
  SessionPatch: {
    /** What happens to a message while the session is busy; null: what the configuration says */
    queueMode?: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback' | null;
    /** How long no message may arrive before a turn begins, in milliseconds; null: what the configuration says */
    queueDebounceMs?: number | null;
    /** The largest number of messages in a turn; null: what the configuration says */
    queueCap?: number | null;
    /** What happens to messages over the cap; null: what the configuration says */
    queueDrop?: 'wait' | 'summarize' | 'old' | 'new' | null;
    /** A model as provider/model, or an alias; null or absent: what the configuration says */
    model?: string | null;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive' | null;
    /** Whether the thinking of the model is shown: `off`, `on` (in front of replies) or `stream` (as live events); null: `off` */
    reasoning?: 'off' | 'on' | 'stream' | null;
    /** A name for people */
    label?: string | null;
  };
  Settled: {
    /** The message */
    message: Schemas['Message'];
    /** The turn; null: no turn has claimed it */
    turn: Schemas['Turn'] | null;
    /** The text of the reply; null: there is none */
    reply: string | null;
  };
  Span: {
    /** What kind it is */
    kind: 'accept' | 'gather' | 'lock.wait' | 'queue.wait' | 'prompt.assemble' | 'rate.wait' | 'provider.wait' | 'worker.lost' | 'model.call' | 'compaction' | 'tool.exec' | 'deliver' | 'announce';
    /** The name */
    name: string;
    /** The number, counted from 1 */
    n: number | null;
    /** When it began */
    startedAt: string;
    /** When it ended; null: it has not */
    endedAt: string | null;
  };
  Spawned: {
    /** The id of the run of the subagent */
    runId: string;
    /** The session key of the subagent */
    childSessionKey: string;
  };
  SpawnRequest: {
    /** What the subagent is to do */
    task: string;
    /** A name for people */
    label?: string;
    /** The id of an agent of the configuration */
    agentId?: string;
    /** A model as provider/model, or an alias; null or absent: what the configuration says */
    model?: string;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
    /** How long the run may take; 0: no limit */
    runTimeoutSeconds?: number;
    /** What happens to the session of the subagent after its run */
    cleanup?: 'keep' | 'delete';
    /** What happens to the message while the session is busy */
    mode?: 'run' | 'session';
    /** Where the reply is sent */
    deliver?: {
      /** An http or https URL */
      url: string;
    };
  };
  Stats: {
    /** How many sessions there are */
    sessions: number;
    /** How many messages there are, by status */
    messages: Record<string, number>;
    /** How many turns there are, by status */
    turns: Record<string, number>;
    /** How many deliveries there are, by status */
    deliveries: Record<string, number>;
    /** How long the oldest waiting message has waited, in milliseconds; null: none waits */
    oldestWaitMs: number | null;
    /** How many sessions are locked by a worker */
    liveLocks: number;
    /** How many jobs are in the queue, by lane */
    queueDepth: Record<string, number>;
    /** How many system events wait */
    systemEventsWaiting: number;
    /** How many dead letters are open */
    deadLetters: number;
  };
  Step: {
    /** The number, counted from 1 */
    n: number;
    /** The model calls of the step */
    calls: ({
      /** The number, counted from 1 */
      n: number;
      /** What the call was for */
      purpose: 'answer' | 'compaction';
      /** Its status */
      status: 'ok' | 'failed' | 'aborted';
      /** Why the model stopped; null: it has not */
      stopReason: string | null;
      /** What went wrong; null: nothing */
      error: Schemas['Fault'];
      /** A model as provider/model, or an alias; null or absent: what the configuration says */
      model: string | null;
      /** The tokens that were used */
      usage: Schemas['Usage'];
      /** The part of `cacheWriteTokens` that the provider keeps for an hour */
      cacheWrite1hTokens: number;
      /** What it cost in US dollars; null: that is not known, because the model has no price */
      costUsd: number | null;
      /** The same in whole micro-dollars; sums of it are exact */
      costMicros: number | null;
      /** The version of the price table that gave the cost; null: none did */
      priceVersion: string | null;
      /** The prices that hold for it: standard, or those of batches of the provider */
      tier: 'standard' | 'batch';
      /** Whether the call broke off, and its tokens and cost are what was reported until then */
      isEstimated: boolean;
      /** Whether some of it is of the scripted model, so that no money was spent */
      simulated: boolean;
      /** When it began */
      startedAt: string;
      /** When the first part of the answer arrived; null: there was none */
      firstChunkAt: string | null;
      /** When it ended; null: it has not */
      endedAt: string;
      /** Measurements of the call */
      notes: {
        /** The size of the request */
        requestBytes: number;
        /** The size of the answer */
        responseBytes: number;
        /** Milliseconds until the first byte of the answer; null: there was none */
        firstByteMs: number | null;
        /** How long it took, in milliseconds */
        durationMs: number;
        /** Milliseconds that the call had waited for a rate limit or a block of its model before it was made; absent: it had not */
        rateWaitMs?: number;
        /** The repairs of the answer of the model */
        repairs?: {
          /** The step of the turn, counted from 1 */
          step: string;
          /** The id of the call */
          callId: string | null;
          /** The answer of the model */
          was: string;
        }[];
        /** Why the call was made live although it could have gone through a batch of the provider */
        way?: string;
      } | null;
    })[];
    /** The tool calls of the step */
    tools: {
      /** The id of the call */
      callId: string;
      /** The name */
      name: string;
      /** Its status */
      status: 'intent' | 'done' | 'failed' | 'unknown' | 'skipped';
      /** Whether the call may run again after a crash */
      isIdempotent: boolean;
      /** How often the call was started */
      runs: number;
      /** When it began */
      startedAt: string;
      /** When it ended; null: it has not */
      endedAt: string | null;
    }[];
  };
  Subagent: {
    /** The id of the run of the subagent */
    runId: string;
    /** The session key of the subagent */
    childSessionKey: string;
    /** The session that spawned it */
    parentSessionKey: string;
    /** A name for people */
    label: string | null;
    /** What the subagent is to do */
    task: string;
    /** How many sessions are above it: 1 for a subagent of an ordinary session */
    depth: number;
    /** Its status */
    status: 'running' | 'ok' | 'failed' | 'timedOut' | 'killed';
    /** run: it ends with its task; session: it can be given further tasks */
    mode: 'run' | 'session';
    /** What happens to the session of the subagent after its run */
    cleanup: 'keep' | 'delete';
    /** The result; null: there is none yet */
    result: string | null;
    /** What went wrong; null: nothing */
    error: string | null;
    /** The tokens so far */
    tokens: {
      /** Input tokens */
      input: number;
      /** Output tokens */
      output: number;
    };
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars; sums of it are exact */
    costMicros: number | null;
    /** Model calls whose cost is not known, because their model has no price */
    unpricedCalls: number;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
    /** When it was created */
    createdAt: string;
    /** The latest time when the run is ended; null: there is no limit */
    deadlineAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** The message by which the parent receives the result; null: there is none yet */
    announcement: {
      /** The id of the message */
      messageId: string;
      /** The key of the session */
      sessionKey: string;
      /** Its status */
      status: 'waiting' | 'claimed' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'dropped';
    } | null;
  };
  SystemEvent: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** The text */
    text: string;
    /** A name that groups events of one origin */
    contextKey: string | null;
    /** Whether its text comes from the operator */
    trusted: boolean;
    /** Its state */
    state: 'queued' | 'consumed' | 'dropped';
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** Why it was dropped; null: it was not */
    dropReason: string | null;
    /** When it was created */
    createdAt: string;
    /** When it was settled; null: it has not been */
    settledAt: string | null;
  };
  Transcript: {
    /** The number of the transcript, counted from 1 */
    transcriptNo: number;
    /** Whether new entries are added to it */
    isCurrent: boolean;
    /** The number of entries */
    entries: number;
    /** When it ended; null: it has not */
    endedAt: string | null;
  };
  Turn: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** What kind it is */
    kind: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction';
    /** The class of turns with its own concurrency */
    lane: 'main' | 'subagent' | 'cron' | 'batch';
    /** Its status */
    status: 'running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming';
    /** How often it was begun, this time included */
    attempt: number;
    /** Its attempts, oldest first; left out with `steps=none`, and of a turn that is part of the answer to a message */
    attempts?: {
      /** How often it was begun, this time included */
      attempt: number;
      /** The process that ran the turn last */
      worker: string;
      /** The fencing token of the lock */
      epoch: number;
      /** When a worker claimed the session for the turn */
      claimedAt: string;
      /** When it ended; null: it has not */
      endedAt: string | null;
      /** How the attempt ended: its worker was lost, released the turn, or parked it; null: it is the last one */
      how: 'lost' | 'released' | 'parked' | null;
    }[];
    /** The turn before it in its session; null: it is the first, or that turn was deleted */
    previousTurnId?: string | null;
    /** The turn after it in its session; null: it is the last */
    nextTurnId?: string | null;
    /** The fencing token of the lock */
    epoch: number;
    /** The process that ran the turn last */
    worker: string;
    /** A model as provider/model, or an alias; null or absent: what the configuration says */
    model: string;
    /** What answers the turn and why it was chosen; null: the turn has no answer, as a compaction */
    harness: {
      /** The id */
      id: string;
      /** Why */
      reason: 'pinned' | 'forced_built_in' | 'forced_plugin' | 'forced_plugin_fallback' | 'auto_plugin' | 'auto_fallback';
    } | null;
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** What went wrong; null: nothing */
    error: Schemas['Fault'];
    /** Why it waits; null: it does not wait */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** When it began to wait */
      since: string;
      /** The latest time when it ends; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    } | null;
    /** The tokens that were used */
    usage: Schemas['Usage'];
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars; sums of it are exact */
    costMicros: number | null;
    /** Model calls whose cost is not known, because their model has no price */
    unpricedCalls: number;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
    /** When its first message was accepted */
    queuedAt: string;
    /** When a worker claimed the session for the turn */
    claimedAt: string;
    /** When it began */
    startedAt: string;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** How many steps the turn has */
    stepCount: number;
    /** The steps of the turn; a list has only the last ones */
    steps: Schemas['Step'][];
    /** How long each part of the turn took */
    spans: Schemas['Span'][];
  };
  ListedTurn: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** What kind it is */
    kind: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction';
    /** The class of turns with its own concurrency */
    lane: 'main' | 'subagent' | 'cron' | 'batch';
    /** Its status */
    status: 'running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming';
    /** How often it was begun, this time included */
    attempt: number;
    /** How often it was sent */
    attempts?: {
      /** How often it was begun, this time included */
      attempt: number;
      /** The process that ran the turn last */
      worker: string;
      /** The fencing token of the lock */
      epoch: number;
      /** When a worker claimed the session for the turn */
      claimedAt: string;
      /** When it ended; null: it has not */
      endedAt: string | null;
      /** joins: it joins the running turn; waits: it is the next turn; again: the subagent had ended and starts again as `runId` */
      how: 'lost' | 'released' | 'parked' | null;
    }[];
    /** The turn before it in its session; null: it is the first, or that turn was deleted */
    previousTurnId?: string | null;
    /** The turn after it in its session; null: it is the last */
    nextTurnId?: string | null;
    /** The fencing token of the lock */
    epoch: number;
    /** The process that ran the turn last */
    worker: string;
    /** A model as provider/model, or an alias; null or absent: what the configuration says */
    model: string;
    /** What answers the turn and why it was chosen; null: the turn has no answer, as a compaction */
    harness: {
      /** The id */
      id: string;
      /** Why */
      reason: 'pinned' | 'forced_built_in' | 'forced_plugin' | 'forced_plugin_fallback' | 'auto_plugin' | 'auto_fallback';
    } | null;
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** What went wrong; null: nothing */
    error: Schemas['Fault'];
    /** Why it waits; null: it does not wait */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** When it began to wait */
      since: string;
      /** The latest time when it ends; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    } | null;
    /** The tokens that were used */
    usage: Schemas['Usage'];
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars; sums of it are exact */
    costMicros: number | null;
    /** Model calls whose cost is not known, because their model has no price */
    unpricedCalls: number;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
    /** When its first message was accepted */
    queuedAt: string;
    /** When a worker claimed the session for the turn */
    claimedAt: string;
    /** When it began */
    startedAt: string;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** How many steps the turn has */
    stepCount: number;
    /** The last steps of the turn; absent with steps=none */
    steps?: Schemas['Step'][];
    /** How long each of the last parts of the turn took; absent with steps=none */
    spans?: Schemas['Span'][];
  };
  Usage: {
    /** Input tokens that were not in the cache */
    inputTokens: number;
    /** Output tokens */
    outputTokens: number;
    /** Input tokens read from the cache of the provider */
    cacheReadTokens: number;
    /** Input tokens written to the cache of the provider */
    cacheWriteTokens: number;
  };
  WaitingMessage: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** Its number in the session */
    seq: number;
    /** What kind it is */
    kind: 'message' | 'announcement' | 'cron' | 'heartbeat' | 'followup' | 'batch' | 'compaction';
    /** The text */
    text: string;
    /** Its status */
    status: 'waiting';
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** The failed message that this message repeats; null: it repeats none */
    retryOf: string | null;
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** What went wrong; null: nothing */
    error: Schemas['Fault'];
    /** Why it waits; null: it does not wait */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** When it began to wait for this */
      since: string;
      /** The latest time when it ends; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    };
    /** When it was accepted */
    receivedAt: string;
    /** When it was settled; null: it has not been */
    settledAt: string | null;
    /** The class of turns with its own concurrency */
    lane: 'main' | 'subagent' | 'cron' | 'batch';
    /** Its place in the queue of its session, from 1 */
    position: number;
  };
  Worker: {
    /** The id */
    id: string;
    /** The name under which it holds locks: the `worker` of turns */
    name: string;
    /** The name of the host */
    host: string;
    /** The id of the process on its host */
    pid: number;
    /** The roles of the process */
    roles: string[];
    /** The version of Holdfast */
    version: string;
    /** Whether it runs, drains, or is lost because it has missed three reports */
    state: 'running' | 'draining' | 'lost';
    /** When the process was started */
    startedAt: string;
    /** When it reported last */
    seenAt: string;
    /** Since when it drains or is asked to; null: it is not */
    drainingAt: string | null;
    /** Since when it cannot reach the queue; null: it can */
    queueAwaySince: string | null;
    /** What its lanes may run and run now, by lane; empty without the role of the worker */
    lanes: Record<string, {
      /** How many jobs the lane runs at the same time */
      slots: number;
      /** How many it runs now */
      inUse: number;
    }>;
  };
}

/** One function for each operation, named as in the OpenAPI document. Each throws `HoldfastError`. */
export interface OperationFunctions {
  /** Accept an inbound message; with Prefer: wait, answer when it is settled. `POST /v1/sessions/{key}/messages` */
  sendMessage(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    body: Schemas['InboundMessage'];
  }, options?: CallOptions): Promise<Schemas['Settled'] | Schemas['Accepted']>;
  /** Messages, newest first; with some statuses, of some ids, or of one session. `GET /v1/messages` */
  listMessages(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Its status */
    status?: readonly ('waiting' | 'claimed' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'dropped')[] | undefined;
    /** Only of these ids */
    ids?: readonly string[] | undefined;
    /** The session */
    session?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Message'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** One message and its outcome. `GET /v1/messages/{id}` */
  getMessage(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Message']>;
  /** Sessions, newest first; order=updated: last changed first. `GET /v1/sessions` */
  listSessions(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Only of this agent */
    agent?: string | undefined;
    /** What kind it is */
    kind?: readonly ('main' | 'direct' | 'group' | 'subagent' | 'cron' | 'batch' | 'heartbeat' | 'other')[] | undefined;
    /** Its status */
    status?: readonly ('idle' | 'waiting' | 'running')[] | undefined;
    /** Only sessions of this channel */
    channel?: string | undefined;
    /** An id, a session key, the id that the platform gave a message, or an error code; a text that is none of them is looked for in session keys */
    q?: string | undefined;
    /** created: newest first; updated: last changed first, of the 10,000 newest sessions and those of the 10,000 newest turns */
    order?: 'created' | 'updated' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Session'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** One session. `GET /v1/sessions/{key}` */
  getSession(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
  }, options?: CallOptions): Promise<Schemas['Session']>;
  /** Override the configuration for one session; null clears an override. `PATCH /v1/sessions/{key}` */
  updateSession(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    body?: Schemas['SessionPatch'];
  }, options?: CallOptions): Promise<Schemas['Session']>;
  /** Erase a session with all subagents below it: every row and file. `DELETE /v1/sessions/{key}` */
  eraseSession(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    /** True: count what would be removed, and stop and remove nothing */
    dryRun?: boolean | undefined;
    /** Why, for the log of changes */
    reason?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The session key */
    key: string;
    /** How many rows were removed, by table; tables of which nothing was removed are missing */
    removed: Record<string, number>;
    /** How many files with outputs of commands in the background were deleted */
    files: number;
  }>;
  /** Stop the running turn and cancel the waiting messages; queued: keep keeps them. `POST /v1/sessions/{key}/abort` */
  abortSession(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    body?: {
      /** What happens to waiting messages */
      queued?: 'keep' | 'cancel';
    };
  }, options?: CallOptions): Promise<Schemas['Abortion']>;
  /** Everything that is stored of a conversation, as lines. `GET /v1/sessions/{key}/export` */
  exportSession(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
  }, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;
  /** Erase all sessions in which only one person has written. `DELETE /v1/subjects/{senderId}` */
  eraseSubject(input: {
    /** The sender.id of the messages of a person */
    senderId: string;
    /** True: count what would be removed, and stop and remove nothing */
    dryRun?: boolean | undefined;
    /** Why, for the log of changes */
    reason?: string | undefined;
    /** Only sessions with messages of this channel: two channels may use the same id for two people */
    channel?: string | undefined;
    /** keep: leave sessions in which others have written too; erase: erase them as well */
    shared?: 'keep' | 'erase' | undefined;
  }, options?: CallOptions): Promise<{
    /** The `sender.id` of the person */
    senderId: string;
    /** How many sessions there are */
    sessions: {
      /** The session key */
      key: string;
      /** How many rows were removed, by table; tables of which nothing was removed are missing */
      removed: Record<string, number>;
      /** How many files with outputs of commands in the background were deleted */
      files: number;
    }[];
    /** keep: leave sessions in which others have written too; erase: erase them as well */
    shared: string[];
  }>;
  /** Entries, oldest first (order=desc: newest first): the active ones, or with state=all every one. `GET /v1/sessions/{key}/transcript` */
  listEntries(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Its state */
    state?: 'active' | 'all' | undefined;
    /** The order of the items */
    order?: 'asc' | 'desc' | undefined;
    /** The number of an earlier transcript; absent: the current one */
    transcript?: number | undefined;
    /** Parts with more characters are cut: they have `omittedChars` and `href`, where the whole text is. The arguments of a call become the beginning of their JSON */
    partChars?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Entry'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** The text of one part of an entry, or a piece of it. `GET /v1/sessions/{key}/entries/{id}/parts/{n}` */
  getEntryPart(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    /** The id */
    id: string;
    /** The number of the call of the model, or of the part of an entry, counted from 1 */
    n: number;
    /** The first character, counted from 0 */
    offset?: number | undefined;
    /** The number of characters; absent: all that follow */
    length?: number | undefined;
  }, options?: CallOptions): Promise<string>;
  /** All runs of subagents below the root of the family of a session, with what each used. `GET /v1/sessions/{key}/family` */
  getFamily(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
  }, options?: CallOptions): Promise<{
    /** The session at the top of the family */
    rootKey: string;
    /** What the root itself used */
    root: {
      /** The tokens so far */
      tokens: {
        /** Input tokens */
        input: number;
        /** Output tokens */
        output: number;
      };
      /** What it cost in US dollars; null: that is not known, because the model has no price */
      costUsd: number | null;
      /** The same in whole micro-dollars; sums of it are exact */
      costMicros: number | null;
    };
    /** The runs below the root, each after its parent */
    items: ({
      /** The id of the run of the subagent */
      runId: string;
      /** The run that spawned it; null: the root did */
      parentRunId: string | null;
      /** The key of the session */
      sessionKey: string;
      /** The session that spawned it */
      parentSessionKey: string;
      /** A name for people */
      label: string | null;
      /** The beginning of what it was asked to do */
      task: string;
      /** The id of an agent of the configuration */
      agentId: string;
      /** How many sessions are above it: 1 for a run of the root */
      depth: number;
      /** Its status */
      status: 'running' | 'ok' | 'failed' | 'timedOut' | 'killed';
      /** What happens to the message while the session is busy */
      mode: 'run' | 'session';
      /** When it was created */
      createdAt: string;
      /** When it ended; null: it has not */
      endedAt: string | null;
      /** Its open turn, or its last one; null: it has had none */
      turnId: string | null;
      /** How its end reached a session above it; null: it has not ended */
      announcement: {
        /** `waiting`: no turn has claimed it yet; `steered`: it joined a turn that ran; `ownTurn`: it began a turn, alone or with other announcements; `notSent`: it was settled without a turn, because none was requested or its recipient was stopped; `noRecipient`: no session was left to receive it */
        how: 'waiting' | 'steered' | 'ownTurn' | 'notSent' | 'noRecipient';
        /** The message; null: there is none */
        messageId: string | null;
        /** The session that receives it; null: none was left */
        sessionKey: string | null;
        /** The status of the message; null: there is none */
        status: 'waiting' | 'claimed' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'dropped' | null;
        /** The turn that claimed it; null: none has */
        turnId: string | null;
      } | null;
      /** What the run itself used */
      own: {
        /** The tokens so far */
        tokens: {
          /** Input tokens */
          input: number;
          /** Output tokens */
          output: number;
        };
        /** What it cost in US dollars; null: that is not known, because the model has no price */
        costUsd: number | null;
        /** The same in whole micro-dollars; sums of it are exact */
        costMicros: number | null;
      };
      /** What the run and all runs below it used together */
      subtree: {
        /** The tokens so far */
        tokens: {
          /** Input tokens */
          input: number;
          /** Output tokens */
          output: number;
        };
        /** What it cost in US dollars; null: that is not known, because the model has no price */
        costUsd: number | null;
        /** The same in whole micro-dollars; sums of it are exact */
        costMicros: number | null;
        /** How many runs there are, this one included */
        runs: number;
      };
    })[];
    /** Whether there are more runs than are shown */
    isCapped: boolean;
  }>;
  /** Compact the session as soon as it is idle; with Prefer: wait, answer when that is done. `POST /v1/sessions/{key}/compact` */
  compactSession(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    body?: {
      /** What the summary must keep */
      instructions?: string;
    };
  }, options?: CallOptions): Promise<Schemas['Compacted'] | {
    /** The message */
    message: Schemas['Message'];
    /** The session */
    session: Schemas['Session'];
  }>;
  /** The compactions of a session, newest first. `GET /v1/sessions/{key}/compactions` */
  listCompactions(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Compaction'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Undo a compaction: its entries are active again, newer entries stay, and later compactions are undone with it. `POST /v1/sessions/{key}/compactions/{id}/restore` */
  restoreCompaction(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** The compaction */
    compaction: Schemas['Compaction'];
    /** The session */
    session: Schemas['Session'];
  }>;
  /** Start a new transcript under the same key; the old one is kept. abort: true stops a running turn first. `POST /v1/sessions/{key}/reset` */
  resetSession(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    body?: {
      /** True: stop a running turn first */
      abort?: boolean;
    };
  }, options?: CallOptions): Promise<{
    /** The session */
    session: Schemas['Session'];
    /** The number of the transcript, counted from 1 */
    transcriptNo: number;
    /** The number of the transcript that was ended */
    previousTranscriptNo: number;
  }>;
  /** The transcripts of a session, the current one first; GET .../transcript?transcript= reads one. `GET /v1/sessions/{key}/transcripts` */
  listTranscripts(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Transcript'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Create a session with a copy of this one, up to an entry or to its end. `POST /v1/sessions/{key}/fork` */
  forkSession(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    body: {
      /** The session key */
      key: string;
      /** The last entry that is copied; absent: all of them */
      entryId?: string;
    };
  }, options?: CallOptions): Promise<{
    /** The session */
    session: Schemas['Session'];
    /** The number of entries */
    entries: number;
  }>;
  /** Spawn a subagent in the background; its result is announced to the session. `POST /v1/sessions/{key}/spawn` */
  storeSpawn(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    body: Schemas['SpawnRequest'];
  }, options?: CallOptions): Promise<Schemas['Spawned']>;
  /** The subagents that a session has spawned, newest first. `GET /v1/sessions/{key}/subagents` */
  listSubagents(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Subagent'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** One run of a subagent. `GET /v1/subagents/{runId}` */
  getSubagent(input: {
    /** The id of a run of a subagent */
    runId: string;
  }, options?: CallOptions): Promise<Schemas['Subagent']>;
  /** Stop a subagent and all runs below it; its end is announced. `POST /v1/subagents/{runId}/kill` */
  killSubagent(input: {
    /** The id of a run of a subagent */
    runId: string;
  }, options?: CallOptions): Promise<{
    /** How many runs were ended; 0: it had already ended */
    killed: number;
  }>;
  /** Send a message to a subagent: it joins the running turn, or is the next turn. `POST /v1/subagents/{runId}/steer` */
  steerSubagent(input: {
    /** The id of a run of a subagent */
    runId: string;
    body: {
      /** The text */
      text?: string;
      /** The message */
      message?: string;
    };
  }, options?: CallOptions): Promise<{
    /** The id of the run of the subagent */
    runId: string;
    /** The id of the message */
    messageId: string | null;
    /** joins: it joins the running turn; waits: it is the next turn; again: the subagent had ended and starts again as `runId` */
    how: 'joins' | 'waits' | 'again';
  }>;
  /** Queue a fact for the session's next prompt. `POST /v1/sessions/{key}/system-events` */
  queueSystemEvent(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    body: {
      /** The text */
      text: string;
      /** A name that groups events of one origin */
      contextKey?: string;
      /** Whether its text comes from the operator */
      trusted?: boolean;
    };
  }, options?: CallOptions): Promise<{
    /** The system event */
    event: {
      /** The id */
      id: string;
      /** The key of the session */
      sessionKey: string;
      /** The text */
      text: string;
      /** A name that groups events of one origin */
      contextKey: string | null;
      /** Whether its text comes from the operator */
      trusted: boolean;
      /** When it was created */
      createdAt: string;
    };
    /** What happened to it when it was accepted */
    disposition: 'queued' | 'duplicate';
  }>;
  /** The waiting events, oldest first; with state=all also the consumed and the dropped ones. `GET /v1/sessions/{key}/system-events` */
  listSystemEvents(input: {
    /** The key of a session; a key without agent: belongs to the agent main */
    key: string;
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Its state */
    state?: 'queued' | 'all' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['SystemEvent'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Turns, newest first, each with its last steps; steps=none leaves steps and spans out. `GET /v1/turns` */
  listTurns(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** The session */
    session?: string | undefined;
    /** Its status */
    status?: readonly ('running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming')[] | undefined;
    /** What kind it is */
    kind?: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction' | undefined;
    /** The class of turns with its own concurrency */
    lane?: 'main' | 'subagent' | 'cron' | 'batch' | undefined;
    /** Only what is not older */
    since?: string | undefined;
    /** Only turns that started before */
    until?: string | undefined;
    /** Only of this agent */
    agent?: string | undefined;
    /** Only of this model, with or without its provider */
    model?: string | undefined;
    /** Only turns that called this tool */
    tool?: string | undefined;
    /** Only turns that ended with this error code */
    code?: string | undefined;
    /** Only turns that this worker ran last */
    worker?: string | undefined;
    /** Only turns of the items of this batch */
    batch?: string | undefined;
    /** Only turns that took at least so many milliseconds */
    minMs?: number | undefined;
    /** Only turns that cost at least so many US dollars */
    minCostUsd?: number | undefined;
    /** An id, a session key, the id that the platform gave a message, or an error code; a text that is none of them is looked for in session keys */
    q?: string | undefined;
    /** none: without steps and spans, which are most of an answer */
    steps?: 'none' | undefined;
    /** A longer `reply` is cut after so many characters; `GET /v1/turns/{id}` has all of it */
    textChars?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['ListedTurn'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** How many turns there are, up to 10000. `GET /v1/turns/count` */
  countTurns(input?: {
    /** The session */
    session?: string | undefined;
    /** Its status */
    status?: readonly ('running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming')[] | undefined;
    /** What kind it is */
    kind?: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction' | undefined;
    /** The class of turns with its own concurrency */
    lane?: 'main' | 'subagent' | 'cron' | 'batch' | undefined;
    /** Only what is not older */
    since?: string | undefined;
    /** Only turns that started before */
    until?: string | undefined;
    /** Only of this agent */
    agent?: string | undefined;
    /** Only of this model, with or without its provider */
    model?: string | undefined;
    /** Only turns that called this tool */
    tool?: string | undefined;
    /** Only turns that ended with this error code */
    code?: string | undefined;
    /** Only turns that this worker ran last */
    worker?: string | undefined;
    /** Only turns of the items of this batch */
    batch?: string | undefined;
    /** Only turns that took at least so many milliseconds */
    minMs?: number | undefined;
    /** Only turns that cost at least so many US dollars */
    minCostUsd?: number | undefined;
    /** An id, a session key, the id that the platform gave a message, or an error code; a text that is none of them is looked for in session keys */
    q?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** How many were counted */
    count: number;
    /** Whether there are more than are counted */
    isCapped: boolean;
  }>;
  /** One turn with all its steps. `GET /v1/turns/{id}` */
  getTurn(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Turn']>;
  /** The exact model request of one call of a turn. `GET /v1/turns/{id}/requests/{n}` */
  getModelRequest(input: {
    /** The id */
    id: string;
    /** The number of the call of the model, or of the part of an entry, counted from 1 */
    n: number;
  }, options?: CallOptions): Promise<Schemas['ModelRequest']>;
  /** One call of a tool: what it was given, and what came back. `GET /v1/turns/{id}/tools/{callId}` */
  getToolCall(input: {
    /** The id */
    id: string;
    /** The id of a call of a tool */
    callId: string;
  }, options?: CallOptions): Promise<{
    /** The id of the call */
    callId: string;
    /** The name */
    name: string;
    /** Its status */
    status: 'intent' | 'done' | 'failed' | 'unknown' | 'skipped';
    /** Whether the call may run again after a crash */
    isIdempotent: boolean;
    /** How often the call was started */
    runs: number;
    /** When it began */
    startedAt: string;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** The id of the turn; null: there is none */
    turnId: string;
    /** The key of the session */
    sessionKey: string;
    /** The step of the turn, counted from 1 */
    step: number;
    /** What the tool was given, as JSON text; null: the transcript does not have it any more */
    arguments: string | null;
    /** What the tool answered, as the model saw it; null: it has not ended */
    result: {
      /** The text */
      text: string;
      /** Whether the result says that the tool failed */
      isError: boolean;
    } | null;
  }>;
  /** Stop one turn; the waiting messages of its session stay. `POST /v1/turns/{id}/abort` */
  abortTurn(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** Whether the turn still ran */
    aborted: boolean;
  }>;
  /** Retry a turn that ended badly: its messages wait again. `POST /v1/turns/{id}/retry` */
  retryTurn(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** The turn whose messages wait again */
    retried: string;
    /** The messages of the turn */
    messageIds: string[];
  }>;
  /** Submit a batch, as JSON with items or as application/x-ndjson with an item per line and the settings in the query. `POST /v1/batches` */
  postBatches(input?: {
    /** A name for people */
    name?: string | undefined;
    /** How the model is asked: `live`, `provider-batch` (in batches of the provider, at half the price and within a day), or `auto` (whichever is estimated to be cheaper, for each call); absent: `live` */
    via?: 'live' | 'provider-batch' | 'auto' | undefined;
    /** The id of an agent of the configuration */
    agentId?: string | undefined;
    /** A model as provider/model, or an alias; null or absent: what the configuration says */
    model?: string | undefined;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive' | undefined;
    /** Which sections the system prompt has */
    promptMode?: 'full' | 'minimal' | 'none' | undefined;
    /** What happens to a request that the provider has not answered by the deadline */
    fallback?: 'live' | 'fail' | undefined;
    /** How long cached prompts are kept by the provider */
    cache?: 'auto' | '1h' | '5m' | 'off' | undefined;
    /** How many items are in flight at most */
    concurrency?: string | undefined;
    /** How many items are fed in turn with those of other batches */
    weight?: string | undefined;
    /** So many items run first; the others follow when they went well */
    pilot?: string | undefined;
    /** The batch pauses when its ended items have cost so much; null: no limit */
    maxCostUsd?: string | undefined;
    /** The batch pauses when more of its last 50 ended items, or of its pilot, failed */
    maxFailurePercent?: string | undefined;
    /** Items that are not fed within so many seconds expire */
    deadlineSeconds?: string | undefined;
    /** The URL to which the end of the batch is reported, signed */
    deliver?: string | undefined;
    /** The format of the lines; absent: each line may have any */
    format?: 'holdfast' | 'anthropic' | 'openai' | undefined;
    /** True: the batch is checked and its price is estimated; nothing is stored */
    dryRun?: boolean | undefined;
    /** A JSON object, or lines of JSON (application/x-ndjson) */
    body?: Schemas['BatchRequest'] | LineBody;
  }, options?: CallOptions): Promise<{
    /** The items, each as a line of an upload would be */
    items: number;
    /** The tokens so far */
    tokens: {
      /** Input tokens */
      input: number;
      /** Output tokens */
      output: number;
    };
    /** What it cost in US dollars; null: that is not known, because the model has no price */
    costUsd: {
      /** Live, without cache hits */
      live: number | null;
      /** Through batches of the provider */
      providerBatch: {
        /** At a cache hit rate of 100 percent */
        at100: number | null;
        /** At a cache hit rate of 90 percent */
        at90: number | null;
        /** At a cache hit rate of 50 percent */
        at50: number | null;
      };
    };
    /** The cheaper way */
    recommended: 'live' | 'provider-batch';
  } | Schemas['Batch']>;
  /** Batches, newest first. `GET /v1/batches` */
  listBatches(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Only batches in this state */
    status?: 'uploading' | 'running' | 'paused' | 'cancelling' | 'ended' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Batch'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** One batch with its progress. `GET /v1/batches/{id}` */
  getBatch(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Change settings of a batch that has not ended. `PATCH /v1/batches/{id}` */
  updateBatch(input: {
    /** The id */
    id: string;
    body?: Schemas['BatchPatch'];
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Delete an ended batch with its items; the sessions of its items stay. `DELETE /v1/batches/{id}` */
  deleteBatch(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** Always true */
    deleted: true;
  }>;
  /** The items of a batch, in input order. `GET /v1/batches/{id}/items` */
  listBatchItems(input: {
    /** The id */
    id: string;
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Only items in this state */
    status?: 'pending' | 'waiting' | 'running' | 'parked' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'expired' | undefined;
    /** Only items with this error code */
    code?: string | undefined;
    /** Only items whose id, session key or text contains this */
    q?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['BatchItem'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** The results of a batch as lines, in input order, also while it runs. `GET /v1/batches/{id}/results` */
  getBatchResults(input: {
    /** The id */
    id: string;
    /** Only items with larger numbers */
    after?: string | undefined;
    /** True: also items that have not ended */
    all?: boolean | undefined;
    /** The format of the lines */
    format?: 'holdfast' | 'openai' | undefined;
  }, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;
  /** Pause a batch: what is in flight finishes, and nothing more is fed. `POST /v1/batches/{id}/pause` */
  pauseBatch(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Resume a paused batch; its guards begin to count anew. `POST /v1/batches/{id}/resume` */
  resumeBatch(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Cancel a batch: what was not fed is cancelled; with running "stop" its running turns are stopped, too. `POST /v1/batches/{id}/cancel` */
  cancelBatch(input: {
    /** The id */
    id: string;
    body?: {
      /** stop: running turns are stopped; finish: they finish */
      running?: 'stop' | 'finish';
      /** Why; kept in the log of changes */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Run failed and expired items again: all, those with one error code, or a list. `POST /v1/batches/{id}/retry-failed` */
  retryFailedItems(input: {
    /** The id */
    id: string;
    body?: {
      /** Only items with this error code */
      code?: string;
      /** Only items with these numbers */
      n?: number[];
      /** Why; kept in the log of changes */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Crons, newest first. `GET /v1/crons` */
  listCrons(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Only of this agent */
    agent?: string | undefined;
    /** Whether it fires */
    enabled?: boolean | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Cron'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Make a cron. `POST /v1/crons` */
  createCron(input: {
    body: Schemas['CronInput'];
  }, options?: CallOptions): Promise<Schemas['Cron']>;
  /** Of some crons: their next slots, their last fires with costs, and what a month costs. `GET /v1/crons/summaries` */
  listCronSummaries(input?: {
    /** Only of these ids */
    ids?: readonly string[] | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: ({
      /** The id of the cron */
      cronId: string;
      /** Slots before it are skipped, because runs have failed; null: it does not rest */
      restsUntil: string | null;
      /** The next slots, earliest first; none when the cron is disabled */
      slots: ({
        /** The slot */
        slotAt: string;
        /** When it fires: the slot and its stagger */
        runAt: string;
        /** The last time that the clocks of the zone are set between the slot before it, or now, and this one; null: they are not */
        clockChange: {
          /** When the clocks are set */
          changedAt: string;
          /** How far the clocks are ahead of UTC before, in minutes */
          offsetMinutesBefore: number;
          /** How far they are ahead of UTC after it, in minutes */
          offsetMinutesAfter: number;
        } | null;
      })[];
      /** The last 20 fires, newest slot first */
      fires: Schemas['CronFire'][];
      /** What the newest of these fires with a known cost has cost */
      lastCost: {
        /** What it cost in US dollars; null: that is not known, because the model has no price */
        costUsd: number | null;
        /** The same in whole micro-dollars; sums of it are exact */
        costMicros: number | null;
      };
      /** The calendar month in the zone of the cron, else in UTC, if it runs all month */
      month: {
        /** How many slots the month has; 0 when the cron is disabled */
        slotCount: number;
        /** What they cost in dollars at the mean of these fires; null: no cost is known */
        costUsd: number | null;
        /** The same in millionths of a dollar */
        costMicros: number | null;
      };
    })[];
  }>;
  /** One cron. `GET /v1/crons/{id}` */
  getCron(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Cron']>;
  /** Change a cron; a new schedule begins now and resets the count of failed runs. `PATCH /v1/crons/{id}` */
  updateCron(input: {
    /** The id */
    id: string;
    body?: Schemas['CronPatch'];
  }, options?: CallOptions): Promise<Schemas['Cron']>;
  /** Delete a cron and its fires; the transcripts of its runs stay. `DELETE /v1/crons/{id}` */
  deleteCron(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** Always true */
    deleted: true;
  }>;
  /** Run a cron now; its schedule does not change. `POST /v1/crons/{id}/run` */
  runCron(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['CronFire']>;
  /** The fires of a cron, newest first. `GET /v1/crons/{id}/fires` */
  listFires(input: {
    /** The id */
    id: string;
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['CronFire'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** The next slots of a cron as if it were enabled; the request changes nothing. `GET /v1/crons/{id}/next` */
  listNextSlots(input: {
    /** The id */
    id: string;
    /** How many there are */
    count?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: ({
      /** The slot */
      slotAt: string;
      /** When it fires: the slot and its stagger */
      runAt: string;
      /** The last time that the clocks of the zone are set between the slot before it, or now, and this one; null: they are not */
      clockChange: {
        /** When the clocks are set */
        changedAt: string;
        /** How far the clocks are ahead of UTC before, in minutes */
        offsetMinutesBefore: number;
        /** How far they are ahead of UTC after it, in minutes */
        offsetMinutesAfter: number;
      } | null;
    })[];
  }>;
  /** Polls, newest first: made or skipped, with their results. `GET /v1/heartbeats` */
  listHeartbeats(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Only of this agent */
    agent?: string | undefined;
    /** Its status */
    status?: 'claimed' | 'fired' | 'skipped' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Heartbeat'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Poll an agent now, at any hour and also when nothing has changed. `POST /v1/agents/{agent}/heartbeat` */
  pollAgent(input: {
    /** The id of an agent */
    agent: string;
  }, options?: CallOptions): Promise<Schemas['Heartbeat']>;
  /** Deliveries, newest first. `GET /v1/deliveries` */
  listDeliveries(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** The session */
    session?: string | undefined;
    /** Only of this turn */
    turn?: string | undefined;
    /** Its status */
    status?: readonly ('pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'expired' | 'discarded')[] | undefined;
    /** Only to this channel: webhook, or the name of a channel */
    channel?: string | undefined;
    /** The id of a delivery, a turn or a message, or a session key; a text that is none of them is looked for in session keys and last errors */
    q?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Delivery'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** How many deliveries there are of each status, and the age of the oldest. `GET /v1/deliveries/count` */
  countDeliveries(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['DeliveryCount'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** One delivery with its attempts. `GET /v1/deliveries/{id}` */
  getDelivery(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['DeliveryDetails']>;
  /** Send a delivery again that failed, expired, was discarded or has an unknown result. `POST /v1/deliveries/{id}/redrive` */
  redriveDelivery(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Delivery']>;
  /** Discard a delivery. `POST /v1/deliveries/{id}/discard` */
  discardDelivery(input: {
    /** The id */
    id: string;
    body?: {
      /** Why, for the log of changes */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['Delivery']>;
  /** Dead letters by kind and error, each group with its newest letters. `GET /v1/dead-letters` */
  listDeadLetters(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Its state */
    state?: 'open' | 'redriven' | 'discarded' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['DeadLetterGroup'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Retry the turns and send the deliveries of open dead letters again: at once, at most 500 in one request; or with canary or perSecond in the background, all of them. `POST /v1/dead-letters/redrive` */
  redriveDeadLetters(input: {
    body: {
      /** Whether the first one goes alone, and the others follow when it has ended well; if it has not, the action ends */
      canary?: boolean;
      /** How many are carried out per second at most; null or absent: as many as can be */
      perSecond?: number;
      /** Why */
      reason?: string;
      /** Only of these ids */
      ids?: string[];
      /** What kind it is */
      kind?: 'turn' | 'delivery' | 'announcement';
      /** A stable code for programs */
      code?: string;
    };
  }, options?: CallOptions): Promise<{
    /** How many are retried */
    redriven: number;
    /** How many were not changed */
    skipped: number;
    /** Open letters that match this request and were not processed; send it again for them */
    remaining: number;
    /** The newest dead letters of the group */
    letters: {
      /** The id */
      id: string;
      /** The result; null: there is none yet */
      result: 'redriven' | 'skipped';
      /** Why */
      reason: string | null;
      /** The messages of the turn */
      messageIds: string[];
    }[];
  } | Schemas['BulkAction']>;
  /** Discard open dead letters: at once, or with perSecond in the background. `POST /v1/dead-letters/discard` */
  discardDeadLetters(input: {
    body: {
      /** Whether the first one goes alone, and the others follow when it has ended well; if it has not, the action ends */
      canary?: boolean;
      /** How many are carried out per second at most; null or absent: as many as can be */
      perSecond?: number;
      /** Why */
      reason?: string;
      /** Only of these ids */
      ids?: string[];
      /** What kind it is */
      kind?: 'turn' | 'delivery' | 'announcement';
      /** A stable code for programs */
      code?: string;
    };
  }, options?: CallOptions): Promise<{
    /** How many were discarded */
    discarded: number;
  } | Schemas['BulkAction']>;
  /** Do something to many things: the ids are fixed now, and schedulers work them off in the background. `POST /v1/bulk-actions` */
  createBulkAction(input: {
    body: {
      /** What is done to each: `retry` and `abort` turns, `cancel` messages that wait, `redrive` and `discard` deliveries and dead letters */
      action: 'retry' | 'abort' | 'cancel' | 'redrive' | 'discard';
      /** What it is done to */
      target: 'turns' | 'messages' | 'deliveries' | 'dead-letters';
      /** The ids; or send a filter */
      ids?: string[];
      /** Everything that these find when the request arrives: of turns the filters of `GET /v1/turns`; of messages that wait `session`, `status`; of deliveries `session`, `status`, `channel`, `q`; of open dead letters `kind`, `code` */
      filter?: {
        /** The key of a session */
        session?: string;
        /** Only in one of these states; one of them may stand by itself */
        status?: 'running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming' | 'waiting' | 'pending' | 'sending' | 'sent' | 'unknown' | 'expired' | 'discarded' | ('running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming' | 'waiting' | 'pending' | 'sending' | 'sent' | 'unknown' | 'expired' | 'discarded')[];
        /** The kind of the turns, or of the dead letters */
        kind?: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction' | 'turn' | 'delivery' | 'announcement';
        /** The lane of the turns */
        lane?: 'main' | 'subagent' | 'cron' | 'batch';
        /** Turns that started then or later */
        since?: string;
        /** Turns that started before */
        until?: string;
        /** The error code of the turns, or of the dead letters */
        code?: string;
        /** The agent of the turns */
        agent?: string;
        /** The model of the turns */
        model?: string;
        /** Turns that called this tool */
        tool?: string;
        /** The worker of the turns */
        worker?: string;
        /** Turns of the items of this batch */
        batch?: string;
        /** Turns that took at least so many milliseconds */
        minMs?: number;
        /** Turns that cost at least so many US dollars */
        minCostUsd?: number;
        /** An id, a session key, the platform id of a message or an error code; else a part of the session key */
        q?: string;
        /** The channel of the deliveries: webhook, or the name of a channel */
        channel?: string;
      };
      /** Whether the first one goes alone, and the others follow when it has ended well; if it has not, the action ends */
      canary?: boolean;
      /** How many are carried out per second at most; null or absent: as many as can be */
      perSecond?: number;
      /** Why */
      reason?: string;
      /** True: count what the request is about, and do nothing */
      dryRun?: boolean;
    };
  }, options?: CallOptions): Promise<{
    /** How many it is about */
    total: number;
    /** The ids; or send a filter */
    ids: string[];
  } | Schemas['BulkAction']>;
  /** Bulk actions, newest first. `GET /v1/bulk-actions` */
  listBulkActions(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['BulkAction'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** One bulk action with its progress. `GET /v1/bulk-actions/{id}` */
  getBulkAction(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['BulkAction']>;
  /** What a bulk action is about, in the order in which it is carried out, each with its result. `GET /v1/bulk-actions/{id}/items` */
  listBulkItems(input: {
    /** The id */
    id: string;
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Its status */
    status?: 'pending' | 'done' | 'skipped' | 'failed' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['BulkItem'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Begin nothing more of a bulk action; what is in progress finishes, and what was done stays. `POST /v1/bulk-actions/{id}/cancel` */
  cancelBulkAction(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['BulkAction']>;
  /** What was used and what it cost, by minute, hour or day in UTC, oldest first. `GET /v1/usage` */
  getUsage(input?: {
    /** The length of a step; absent: day */
    by?: 'minute' | 'hour' | 'day' | undefined;
    /** Steps that start then or later; absent: an hour, a day or 30 days ago, for minutes, hours and days */
    from?: string | undefined;
    /** Steps that start before; absent: now */
    to?: string | undefined;
    /** What the steps are grouped by; in the answer the name of the group, null: all together */
    group?: 'agent' | 'model' | 'lane' | 'tier' | 'kind' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: {
      /** When the step starts */
      startsAt: string;
      /** What the steps are grouped by; in the answer the name of the group, null: all together */
      group: string | null;
      /** Turns that ended */
      turns: number;
      /** Turns that failed or timed out */
      failedTurns: number;
      /** Model calls that ended */
      calls: number;
      /** Model calls that failed */
      failures: number;
      /** Model calls whose cost is not known, because their model has no price */
      unpricedCalls: number;
      /** Input tokens that were not in the cache */
      inputTokens: number;
      /** Output tokens */
      outputTokens: number;
      /** Input tokens read from the cache of the provider */
      cacheReadTokens: number;
      /** Input tokens written to the cache of the provider */
      cacheWriteTokens: number;
      /** The part of `cacheWriteTokens` that the provider keeps for an hour */
      cacheWrite1hTokens: number;
      /** What it cost in US dollars; null: that is not known, because the model has no price */
      costUsd: number | null;
      /** The same in whole micro-dollars; sums of it are exact */
      costMicros: number | null;
      /** How long the turns had waited when they began, together, in milliseconds */
      waitMs: number;
      /** The durations of the turns together, in milliseconds */
      turnMs: number;
      /** The durations of the calls together, in milliseconds */
      callMs: number;
      /** The times from the starts of the calls to the first parts of their answers together, in milliseconds */
      firstChunkMs: number;
      /** Whether some of it is of the scripted model, so that no money was spent */
      simulated: boolean;
    }[];
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
  }>;
  /** The price table in use. `GET /v1/prices` */
  getPrices(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The version of the price table */
    version: string;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
    /** The rows; of several that match a model and a day, the first holds */
    rows: ({
      /** provider/model, in which * stands for any text */
      model: string;
      /** The first day on which it is in effect; null: it has no beginning */
      from: string | null;
      /** The last day on which it is in effect; null: it has no end */
      to: string | null;
      /** Dollars per million input tokens that were not in the cache */
      inputPerMTok: number;
      /** Dollars per million tokens of the answer */
      outputPerMTok: number;
      /** Dollars per million tokens that are read from the cache */
      cacheReadPerMTok: number;
      /** Dollars per million tokens that are written to it for five minutes */
      cacheWrite5mPerMTok: number;
      /** Dollars per million tokens that are written to the cache for an hour */
      cacheWrite1hPerMTok: number;
      /** The prices of every token of a call with a long prompt; null: the length changes nothing */
      longPrompt: {
        /** The prices hold for prompts that are longer than this */
        overTokens: number;
        /** Dollars per million input tokens that were not in the cache */
        inputPerMTok: number;
        /** Dollars per million tokens of the answer */
        outputPerMTok: number;
        /** Dollars per million tokens that are read from the cache */
        cacheReadPerMTok: number;
        /** Dollars per million tokens that are written to it for five minutes */
        cacheWrite5mPerMTok: number;
        /** Dollars per million tokens that are written to the cache for an hour */
        cacheWrite1hPerMTok: number;
      } | null;
      /** What a call in a batch of the provider costs, in percent of the prices */
      batchPercent: number;
      /** Where the prices are from */
      source: string;
      /** The day on which the prices were compared with their source last; null: not known */
      checkedAt: string | null;
    })[];
  }>;
  /** The budgets that hold, with what is spent and reserved in their present windows, oldest first. `GET /v1/budgets` */
  listBudgets(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Budget'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: null;
  }>;
  /** Make a budget; it counts the calls that begin from now on. `POST /v1/budgets` */
  createBudget(input: {
    body: {
      /** What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>` */
      scope: string;
      /** How long a window is */
      per: 'hour' | 'day' | 'month' | 'total';
      /** The time zone in which hours, days and months begin */
      zone?: string;
      /** The limit in US dollars */
      limitUsd: number;
      /** The part of the limit at which `budget.warned` is sent, in percent */
      warnPercent?: number;
      /** What a turn does whose next call finds no room: `pause` parks it, `fail` ends it */
      action?: 'pause' | 'fail';
      /** True: each call reserves the most that it can cost */
      strict?: boolean;
    };
  }, options?: CallOptions): Promise<Schemas['Budget']>;
  /** Change a budget; turns that wait for it ask again. `PATCH /v1/budgets/{id}` */
  updateBudget(input: {
    /** The id */
    id: string;
    body?: {
      /** The limit in US dollars */
      limitUsd?: number;
      /** The part of the limit at which `budget.warned` is sent, in percent */
      warnPercent?: number;
      /** What a turn does whose next call finds no room: `pause` parks it, `fail` ends it */
      action?: 'pause' | 'fail';
      /** True: each call reserves the most that it can cost */
      strict?: boolean;
    };
  }, options?: CallOptions): Promise<Schemas['Budget']>;
  /** Remove a budget; turns that wait for it resume. `DELETE /v1/budgets/{id}` */
  deleteBudget(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** Always true */
    deleted: true;
  }>;
  /** Batches that were submitted to the provider, newest first. `GET /v1/provider-batches` */
  listProviderBatches(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Its status */
    status?: 'open' | 'submitting' | 'unknown' | 'submitted' | 'canceling' | 'ended' | 'read' | 'lost' | 'failed' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: ({
      /** The id */
      id: string;
      /** The id that the provider gave it; null: it is not known, or there is none */
      providerId: string | null;
      /** Its status */
      status: 'open' | 'submitting' | 'unknown' | 'submitted' | 'canceling' | 'ended' | 'read' | 'lost' | 'failed';
      /** Whether it was found in the list of the provider, because the answer to the submission was lost */
      isAdopted: boolean;
      /** How many requests it has */
      requestCount: number;
      /** What the provider says of the requests, by their status; null: it has not been asked yet */
      counts: Record<string, number> | null;
      /** Answers that were paid for and that no turn uses; null: none */
      wasted: {
        /** How many answers there are */
        answers: number;
        /** Input tokens that were not in the cache */
        inputTokens: number;
        /** Output tokens */
        outputTokens: number;
        /** Input tokens read from the cache of the provider */
        cacheReadTokens: number;
        /** Input tokens written to the cache of the provider */
        cacheWriteTokens: number;
      } | null;
      /** What was paid for answers that were not used, in US dollars */
      wastedUsd: number | null;
      /** What went wrong last; null: nothing */
      error: string | null;
      /** When it was created */
      createdAt: string;
      /** When the provider had accepted it; null: that is not known */
      submittedAt: string | null;
      /** When delivery attempts end */
      expiresAt: string | null;
      /** When it ended; null: it has not */
      endedAt: string | null;
    })[];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Give a submission up: it is not followed any more, and its requests go into another one. `POST /v1/provider-batches/{id}/forget` */
  forgetProviderBatch(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** The id */
    id: string;
    /** The id that the provider gave it; null: it is not known, or there is none */
    providerId: string | null;
    /** Its status */
    status: 'open' | 'submitting' | 'unknown' | 'submitted' | 'canceling' | 'ended' | 'read' | 'lost' | 'failed';
    /** Whether it was found in the list of the provider, because the answer to the submission was lost */
    isAdopted: boolean;
    /** How many requests it has */
    requestCount: number;
    /** How many items are in each state */
    counts: Record<string, number> | null;
    /** Answers that were paid for and that no turn uses; null: none */
    wasted: {
      /** How many answers there are */
      answers: number;
      /** Input tokens that were not in the cache */
      inputTokens: number;
      /** Output tokens */
      outputTokens: number;
      /** Input tokens read from the cache of the provider */
      cacheReadTokens: number;
      /** Input tokens written to the cache of the provider */
      cacheWriteTokens: number;
    } | null;
    /** What was paid for answers that were not used, in US dollars */
    wastedUsd: number | null;
    /** What went wrong; null: nothing */
    error: string | null;
    /** When it was created */
    createdAt: string;
    /** When it was submitted to the provider */
    submittedAt: string | null;
    /** When delivery attempts end */
    expiresAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
  }>;
  /** Sign a browser in with an API key, or with a code for one sign-in; sets a cookie. `POST /v1/auth/sessions` */
  signIn(input: {
    body: {
      /** An API key */
      key?: string;
      /** A code of `POST /v1/auth/codes`; it can be used once */
      code?: string;
    };
  }, options?: CallOptions): Promise<undefined>;
  /** Who is signed in, and until when. `GET /v1/auth/sessions/current` */
  getSignIn(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** Who it is: `admin`, or `key:<name>` */
    principal: string;
    /** Who speaks */
    role: 'viewer' | 'operator' | 'admin';
    /** When the browser is signed out; null: the request came with a key, which needs no sign-in */
    expiresAt: string | null;
  }>;
  /** Sign out. `DELETE /v1/auth/sessions/current` */
  signOut(input?: {
    /** True: sign out everywhere, that is, every browser that signed in with the same key */
    all?: boolean | undefined;
  }, options?: CallOptions): Promise<undefined>;
  /** Make a code for one sign-in of a browser with the key of this request; it is valid for a minute. `POST /v1/auth/codes` */
  createSignInCode(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The code, for one sign-in; null: the answer to a retry, because codes are not stored */
    code: string | null;
    /** When it stops being valid */
    expiresAt: string;
  }>;
  /** API keys that were made while the service ran, newest first, also those that are revoked. `GET /v1/keys` */
  listKeys(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: {
      /** The id */
      id: string;
      /** The name */
      name: string;
      /** `viewer` reads, `operator` also changes what runs, `admin` also manages keys */
      role: 'viewer' | 'operator' | 'admin';
      /** The API key by which it was submitted */
      createdBy: string;
      /** When it was created */
      createdAt: string;
      /** When it stops being valid; null: never */
      expiresAt: string | null;
      /** When it was used last, exact to a minute; null: never */
      lastUsedAt: string | null;
      /** When it was revoked; null: it was not */
      revokedAt: string | null;
    }[];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Make an API key. The answer is the only place where it is shown. `POST /v1/keys` */
  createKey(input: {
    body: {
      /** Whose key it is, in budgets (`key:<name>`) and in the log of changes; unique among valid keys */
      name: string;
      /** `viewer` reads, `operator` also changes what runs, `admin` also manages keys */
      role: 'viewer' | 'operator' | 'admin';
      /** When it stops being valid; null or absent: never */
      expiresAt?: string;
    };
  }, options?: CallOptions): Promise<{
    /** The id */
    id: string;
    /** Whose key it is, in budgets (`key:<name>`) and in the log of changes; unique among valid keys */
    name: string;
    /** `viewer` reads, `operator` also changes what runs, `admin` also manages keys */
    role: 'viewer' | 'operator' | 'admin';
    /** The API key by which it was submitted */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When it stops being valid; null or absent: never */
    expiresAt: string | null;
    /** When it was used last, exact to a minute; null: never */
    lastUsedAt: string | null;
    /** When it was revoked; null: it was not */
    revokedAt: string | null;
    /** The key; null: the answer to a retry, because keys are not stored. Keep it: it is not shown again */
    key: string | null;
  }>;
  /** Revoke a key, and sign out every browser that signed in with it; other processes know of it within a second. `DELETE /v1/keys/{id}` */
  revokeKey(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** The id */
    id: string;
    /** The name */
    name: string;
    /** Who speaks */
    role: 'viewer' | 'operator' | 'admin';
    /** The API key by which it was submitted */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When delivery attempts end */
    expiresAt: string | null;
    /** When it was used last, exact to a minute; null: never */
    lastUsedAt: string | null;
    /** When it was revoked; null: it was not */
    revokedAt: string | null;
  }>;
  /** What people and programs have changed through the API, newest first; messages and system events are not in it. `GET /v1/audit` */
  listAudit(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** Who has sent it: `admin`, or `key:<name>` */
    principal?: string | undefined;
    /** The name of the operation in this document */
    action?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: {
      /** The id */
      id: string;
      /** When the request began */
      at: string;
      /** Who has sent it: `admin`, or `key:<name>` */
      principal: string;
      /** The role of its key */
      role: 'viewer' | 'operator' | 'admin';
      /** The name of the operation in this document */
      action: string;
      /** The path of the request, with the id of what it made */
      target: string;
      /** The reason that the request gave; null: none */
      reason: string | null;
      /** The id of the request */
      requestId: string;
      /** `ok`, or the code of the problem; null: it has not ended, or the process ended before it */
      outcome: string | null;
    }[];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Every message that waits, oldest first, with the reason. `GET /v1/waiting` */
  listWaiting(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
    /** The class of turns with its own concurrency */
    lane?: 'main' | 'subagent' | 'cron' | 'batch' | undefined;
    /** The session */
    session?: string | undefined;
    /** Only of this batch */
    batch?: string | undefined;
    /** A longer `text` is cut after so many characters; `GET /v1/messages/{id}` has all of it */
    textChars?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['WaitingMessage'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
    /** How many messages wait in all, up to 10,000 */
    count: number;
    /** Whether there are more than are counted */
    isCapped: boolean;
  }>;
  /** The processes of the service, newest first. `GET /v1/workers` */
  listWorkers(input?: {
    /** How many items a page has at most */
    limit?: number | undefined;
    /** Where the page begins: `nextCursor` of the page before */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Worker'][];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: string | null;
  }>;
  /** Drain a process: it notices within 3 s, finishes or releases its turns, and ends. `POST /v1/workers/{id}/drain` */
  drainWorker(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Worker']>;
  /** What is paused, oldest first. `GET /v1/pauses` */
  listPauses(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Pause'][];
  }>;
  /** Pause a lane, an agent or a session, what fits several of them, or everything. Running turns finish. `POST /v1/pause` */
  pause(input?: {
    body?: {
      /** Only sessions of this lane */
      lane?: 'main' | 'subagent' | 'cron' | 'batch';
      /** Only sessions of this agent */
      agent?: string;
      /** Only this session */
      session?: string;
      /** Why; `why` of what waits and the log of changes have it */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['Pause']>;
  /** End the pause of exactly this lane, agent or session; without any of them, all pauses. `POST /v1/resume` */
  resume(input?: {
    body?: {
      /** The lane that the pause names */
      lane?: 'main' | 'subagent' | 'cron' | 'batch';
      /** The agent that the pause names */
      agent?: string;
      /** The session that the pause names */
      session?: string;
      /** Why, for the log of changes */
      reason?: string;
    };
  }, options?: CallOptions): Promise<{
    /** The pauses that this request has ended; none: there was no pause of this scope */
    ended: Schemas['Pause'][];
    /** The pauses that there are now */
    remaining: Schemas['Pause'][];
  }>;
  /** The agents with a summary of their settings, their crons and their sessions. `GET /v1/agents` */
  listAgents(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The agents in the order of the configuration */
    items: {
      /** The id */
      id: string;
      /** The model as provider/model */
      model: string;
      /** Models that are asked in this order when the model is away */
      fallbacks: string[];
      /** The thinking level of the model; null or absent: what the configuration says */
      thinking: string;
      /** Which sections the system prompt has */
      promptMode: string;
      /** The folder of its files */
      workspace: string;
      /** The tools that it may have: what every policy allows and none denies */
      toolPolicies: {
        /** Names of tools; absent: all */
        allow?: string[];
        /** Names of tools */
        deny: string[];
      }[];
      /** When it is polled */
      heartbeat: {
        /** The interval in milliseconds; 0: never */
        everyMs: number;
        /** Where alerts go: none, last or a channel */
        target: string;
      };
      /** How many crons it has */
      crons: {
        /** All of them */
        total: number;
        /** Those that fire */
        enabled: number;
      };
      /** Its sessions among the 10,000 newest, without those of batches */
      sessions: {
        /** How many there are */
        count: number;
        /** Whether older sessions were not counted */
        isCapped: boolean;
      };
    }[];
    /** The cursor of the next page; null: this is the last one */
    nextCursor: null;
  }>;
  /** Every setting of this process with its source, and the versions it runs on. Secrets are fingerprints. `GET /v1/config` */
  getConfig(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The file that the process has read; null: there is none */
    file: string | null;
    /** Every setting of the process that answers, in the order of the configuration */
    items: {
      /** Where it is in the file (`agents.list[0].id`), or `runtime.` and `start.` for what variables and options say */
      path: string;
      /** The value in use, durations in the unit of the name; null: it is not set and has no default. Of a secret, `isSet` and `fingerprint`, which is the first 8 hex digits of its SHA-256 */
      value: unknown;
      /** Whether `value` is the fingerprint of a secret */
      isSecret: boolean;
      /** What decides it */
      source: 'default' | 'file' | 'environment' | 'command line';
      /** The file with the line, the variable or the option that decides it; null: the default */
      at: string | null;
      /** Whether a change takes effect only when the process starts again */
      needsRestart: boolean;
    }[];
    /** What the process runs on */
    versions: {
      /** Holdfast */
      holdfast: string;
      /** Node */
      node: string;
      /** PostgreSQL */
      postgres: string;
      /** The newest migration of the database */
      layout: string;
      /** The backend of the queue: `postgres` or `redis` */
      queue: string;
      /** `embedded`: its own in the data directory */
      database: 'embedded' | 'configured';
    };
    /** The model that answers */
    model: {
      /** The platform that the channel belongs to */
      provider: string;
      /** The name */
      name: string;
      /** True: the built-in script answers, because no key of a provider is configured */
      isScripted: boolean;
    };
  }>;
  /** Read the configuration again in the process that answers, and use what can change while it runs. `PATCH /v1/config` */
  reloadConfig(input: {
    body: {
      /** Always true */
      reload: true;
    };
  }, options?: CallOptions): Promise<{
    /** The file that the process reads; null: there is none */
    file: string | null;
    /** The machine of the process that answers */
    host: string;
    /** The id of that process */
    pid: number;
    /** Every setting that differs; empty: none */
    items: {
      /** As in `GET /v1/config` */
      path: string;
      /** The value of the running process; null: it has none. Of a secret, `isSet` and `fingerprint` */
      value: unknown;
      /** The value in the file or the environment as they are now, in the same form */
      next: unknown;
      /** Whether the values are fingerprints of a secret */
      isSecret: boolean;
      /** Whether the new value takes effect only when the process starts again */
      needsRestart: boolean;
    }[];
  }>;
  /** What differs between the configuration of this process and what its file and environment say now. `GET /v1/config/diff` */
  compareConfig(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The file that the process reads; null: there is none */
    file: string | null;
    /** The machine of the process that answers */
    host: string;
    /** The id of that process */
    pid: number;
    /** Every setting that differs; empty: none */
    items: {
      /** As in `GET /v1/config` */
      path: string;
      /** The value of the running process; null: it has none. Of a secret, `isSet` and `fingerprint` */
      value: unknown;
      /** The value in the file or the environment as they are now, in the same form */
      next: unknown;
      /** Whether the values are fingerprints of a secret */
      isSecret: boolean;
      /** Whether the new value takes effect only when the process starts again */
      needsRestart: boolean;
    }[];
  }>;
  /** What waits, runs and was spent, with the last 60 minutes; at most a second old. `GET /v1/overview` */
  getOverview(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The time of the database */
    now: string;
    /** Messages that wait; the count stops at 10,000 */
    waiting: {
      /** How many there are */
      count: number;
      /** Whether there are more than are counted */
      isCapped: boolean;
      /** When the message that waits longest arrived; null: none waits */
      oldestAt: string | null;
    };
    /** Turns that wait for something without a slot */
    parked: number;
    /** Turns that a worker runs */
    running: number;
    /** How many turns can run at once */
    slots: {
      /** How many it runs now */
      inUse: number;
      /** Slots of all workers that neither drain nor are lost */
      total: number;
    };
    /** Turns that ended, per minute, in the last five minutes that are over */
    turnsPerMinute: number;
    /** The share of the turns of the last hour that neither failed nor timed out; null: none ended */
    successRate: number | null;
    /** Within which 95 % of the calls of the newest 1,000 turns of the last hour began to answer, in milliseconds; null: there were none */
    firstChunkP95Ms: number | null;
    /** Within which 95 % of those turns ended, in milliseconds; null: there were none */
    turnP95Ms: number | null;
    /** The share of the input tokens of the last hour that was read from the cache; null: there were none */
    cacheHitRatio: number | null;
    /** What calls have cost since midnight in UTC, in US dollars */
    spentTodayUsd: number;
    /** The budget of which the most is used; null: there is none */
    budget: {
      /** The id */
      id: string;
      /** The name */
      name: string;
      /** The limit in US dollars */
      limitUsd: number;
      /** What is spent of it, in US dollars */
      spentUsd: number;
      /** What is spent and reserved, in percent of the limit */
      usedPercent: number;
    } | null;
    /** Whether some of it is of the scripted model, so that no money was spent */
    simulated: boolean;
    /** The last 60 minutes, oldest first: each column has a value for each minute */
    points: {
      /** When the minutes start; the last one is not over */
      startsAt: string[];
      /** Messages that were accepted */
      arrivals: number[];
      /** Turns that ended */
      ends: number[];
      /** Turns that failed or timed out */
      failures: number[];
      /** How long the oldest waiting message has waited, in milliseconds; null: none waits */
      oldestWaitMs: number[];
      /** Input tokens that were not in the cache */
      inputTokens: number[];
      /** Output tokens */
      outputTokens: number[];
      /** Input tokens read from the cache of the provider */
      cacheReadTokens: number[];
      /** Input tokens written to the cache of the provider */
      cacheWriteTokens: number[];
      /** What the calls cost in US dollars */
      costUsd: number[];
    };
    /** What its lanes may run and run now, by lane; empty without the role of the worker */
    lanes: {
      /** The class of turns with its own concurrency */
      lane: 'main' | 'subagent' | 'cron' | 'batch';
      /** Sessions that have work and that no worker holds */
      depth: number;
      /** When the message that waits longest arrived; null: none waits */
      oldestAt: string | null;
      /** Turns that a worker runs */
      running: number;
      /** Turns that all workers together can run at once */
      slots: number;
    }[];
  }>;
  /** What needs a person, errors first; at most a second old. `GET /v1/attention` */
  getAttention(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** What needs a person, errors first; empty when all is well */
    items: {
      /** What kind it is */
      kind: 'dead_letters' | 'worker_silent' | 'lock_expired' | 'paused' | 'cron_missed' | 'cron_late' | 'deliveries_failing' | 'model_blocked' | 'model_away' | 'model_unpriced' | 'provider_batch_unknown' | 'provider_batch_old' | 'no_worker' | 'no_scheduler' | 'reconciler_stalled' | 'outbox_stalled' | 'versions_differ' | 'clock_off' | 'events_held' | 'budget';
      /** error: something does not work; warning: it may soon not */
      severity: 'error' | 'warning';
      /** The text */
      text: string;
      /** How many there are */
      count: number;
      /** Since when; null: not known */
      since: string | null;
      /** The path of the screen that shows it */
      href: string;
      /** What to do next */
      fix: string;
    }[];
  }>;
  /** Counts of sessions, messages, turns and deliveries. `GET /v1/stats` */
  getStats(input?: Record<string, never>, options?: CallOptions): Promise<Schemas['Stats']>;
  /** Whether this process is alive. `GET /healthz` */
  getHealth(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** Its status */
    status: 'ok';
  }>;
  /** Whether each dependency is available, and which model is in use. `GET /readyz` */
  getReadiness(input?: Record<string, never>, options?: CallOptions): Promise<Schemas['Readiness']>;
  /** All metrics, for Prometheus. `GET /metrics` */
  getMetrics(input?: Record<string, never>, options?: CallOptions): Promise<string>;
  /** This document. `GET /openapi.json` */
  getOpenApi(input?: Record<string, never>, options?: CallOptions): Promise<unknown>;
}

/** What the items of each list are. */
export interface ListItems {
  listMessages: Schemas['Message'];
  listSessions: Schemas['Session'];
  listEntries: Schemas['Entry'];
  listCompactions: Schemas['Compaction'];
  listTranscripts: Schemas['Transcript'];
  listSubagents: Schemas['Subagent'];
  listSystemEvents: Schemas['SystemEvent'];
  listTurns: Schemas['ListedTurn'];
  listBatches: Schemas['Batch'];
  listBatchItems: Schemas['BatchItem'];
  listCrons: Schemas['Cron'];
  listFires: Schemas['CronFire'];
  listHeartbeats: Schemas['Heartbeat'];
  listDeliveries: Schemas['Delivery'];
  listDeadLetters: Schemas['DeadLetterGroup'];
  listBulkActions: Schemas['BulkAction'];
  listBulkItems: Schemas['BulkItem'];
  listProviderBatches: {
    /** The id */
    id: string;
    /** The id that the provider gave it; null: it is not known, or there is none */
    providerId: string | null;
    /** Its status */
    status: 'open' | 'submitting' | 'unknown' | 'submitted' | 'canceling' | 'ended' | 'read' | 'lost' | 'failed';
    /** Whether it was found in the list of the provider, because the answer to the submission was lost */
    isAdopted: boolean;
    /** How many requests it has */
    requestCount: number;
    /** What the provider says of the requests, by their status; null: it has not been asked yet */
    counts: Record<string, number> | null;
    /** Answers that were paid for and that no turn uses; null: none */
    wasted: {
      /** How many answers there are */
      answers: number;
      /** Input tokens that were not in the cache */
      inputTokens: number;
      /** Output tokens */
      outputTokens: number;
      /** Input tokens read from the cache of the provider */
      cacheReadTokens: number;
      /** Input tokens written to the cache of the provider */
      cacheWriteTokens: number;
    } | null;
    /** What was paid for answers that were not used, in US dollars */
    wastedUsd: number | null;
    /** What went wrong last; null: nothing */
    error: string | null;
    /** When it was created */
    createdAt: string;
    /** When the provider had accepted it; null: that is not known */
    submittedAt: string | null;
    /** When delivery attempts end */
    expiresAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
  };
  listKeys: {
    /** The id */
    id: string;
    /** The name */
    name: string;
    /** `viewer` reads, `operator` also changes what runs, `admin` also manages keys */
    role: 'viewer' | 'operator' | 'admin';
    /** The API key by which it was submitted */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When it stops being valid; null: never */
    expiresAt: string | null;
    /** When it was used last, exact to a minute; null: never */
    lastUsedAt: string | null;
    /** When it was revoked; null: it was not */
    revokedAt: string | null;
  };
  listAudit: {
    /** The id */
    id: string;
    /** When the request began */
    at: string;
    /** Who has sent it: `admin`, or `key:<name>` */
    principal: string;
    /** The role of its key */
    role: 'viewer' | 'operator' | 'admin';
    /** The name of the operation in this document */
    action: string;
    /** The path of the request, with the id of what it made */
    target: string;
    /** The reason that the request gave; null: none */
    reason: string | null;
    /** The id of the request */
    requestId: string;
    /** `ok`, or the code of the problem; null: it has not ended, or the process ended before it */
    outcome: string | null;
  };
  listWaiting: Schemas['WaitingMessage'];
  listWorkers: Schemas['Worker'];
}

/** What the streams of events may be asked for. */
export interface StreamInputs {
  streamTurnEvents: {
    /** The id */
    id: string;
    /** Resume after the event with this id */
    after?: string | undefined;
  };
  streamEvents: {
    /** Resume after the event with this id */
    after?: string | undefined;
    /** The session */
    session?: string | undefined;
    /** Only events of these types */
    types?: readonly ('message.accepted' | 'message.settled' | 'turn.started' | 'turn.parked' | 'turn.resumed' | 'turn.ended' | 'model.started' | 'model.delta' | 'model.reasoning' | 'model.ended' | 'model.blocked' | 'tool.started' | 'tool.ended' | 'steer.injected' | 'compaction.started' | 'compaction.ended' | 'announce.queued' | 'delivery.sent' | 'delivery.failed' | 'cron.fired' | 'heartbeat.fired' | 'batch.created' | 'batch.progress' | 'batch.hop' | 'batch.paused' | 'batch.resumed' | 'batch.ended' | 'budget.warned' | 'budget.reached' | 'worker.started' | 'worker.lost' | 'worker.drained' | 'bulk.progress' | 'session.reset')[] | undefined;
  };
}
