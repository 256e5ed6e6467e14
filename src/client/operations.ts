// Made by `npm run write:client` from the route table of the API; do not edit it. The types of all operations, for the typed client. Nothing
// of it remains at run time, and it imports nothing of the service.
/* oxlint-disable max-lines */
import type { CallOptions, LineBody } from './call-options.ts';

/** The things that requests and answers are made of, by their names in the OpenAPI document. */
export interface Schemas {
  Abortion: {
    /** The turn that is being aborted; null: no turn was running */
    aborted: string | null;
    /** The number of cancelled waiting messages */
    cancelled: number;
  };
  Accepted: {
    /** The message */
    message: Schemas['Message'];
    /** The session */
    session: Schemas['Session'];
    /** What happened to the message when it was accepted */
    disposition: 'queued' | 'steered' | 'interrupting' | 'duplicate' | 'command' | 'rejected';
  };
  AttentionEntry: {
    /** Its id, as long as the problem lasts */
    id: string;
    /** The kind */
    kind: 'dependency' | 'dead_letters' | 'worker_silent' | 'lock_expired' | 'cron_missed' | 'cron_late' | 'model_blocked' | 'model_unpriced' | 'provider_batch_unknown' | 'provider_batch_old' | 'model_away' | 'model_limited' | 'budget_reached' | 'paused' | 'queue_unreachable' | 'no_worker' | 'no_scheduler' | 'reconciler_stalled' | 'outbox_stalled' | 'deliveries_failing' | 'versions_differ' | 'clock_off' | 'events_held' | 'budget';
    /** error: something does not work; warning: something may stop working soon */
    severity: 'error' | 'warning';
    /** The text */
    text: string;
    /** The number */
    count: number;
    /** When it began; null: not known */
    since: string | null;
    /** The path of the screen that shows it */
    href: string;
    /** What to do next */
    fix: string;
    /** open; acknowledged or snoozed by an operator, then it is not counted and stands last */
    state: 'open' | 'acknowledged' | 'snoozed';
    /** What an operator has decided; null: nothing that still holds */
    mark: {
      /** Who: `admin`, or `key:<name>` */
      by: string;
      /** When */
      at: string;
      /** The end of the snooze; null: it is acknowledged until it ends */
      until: string | null;
      /** Why; null: no reason was given */
      reason: string | null;
    } | null;
  };
  Batch: {
    /** The id */
    id: string;
    /** The name of the batch; null: it has no name */
    name: string | null;
    /** Its state */
    status: 'uploading' | 'running' | 'paused' | 'cancelling' | 'ended';
    /** How it ended; null: it has not ended */
    outcome: 'completed' | 'partly' | 'failed' | 'cancelled' | null;
    /** Why it is paused; null: it is not paused */
    pauseReason: 'manual' | 'pilot_done' | 'cost_cap' | 'failure_rate' | 'provider_refused' | 'budget' | null;
    /** The cause of the pause, for people */
    pauseDetail: string | null;
    /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
    via: 'live' | 'provider-batch' | 'auto';
    /** The agent of items without an `agentId` */
    agentId: string;
    /** The tool calls of the step */
    tools: {
      /** Names of tools; absent: all tools */
      allow?: string[];
      /** Names of tools */
      deny?: string[];
    } | null;
    /** The tags; empty: none */
    tags: Record<string, string>;
    /** The maximum number of items in flight */
    concurrency: number;
    /** The slots of the lane `batch` of all live workers together: at most so many items of all batches run at the same time */
    slots: number;
    /** The share of this batch while several batches run */
    weight: number;
    /** The number of items that run first; null: there is no pilot, or it has ended */
    pilot: number | null;
    /** The batch pauses when a larger share of its last 50 ended items, or of its pilot, has failed */
    maxFailurePercent: number;
    /** When items that have not started expire; null: never */
    deadlineAt: string | null;
    /** The number of items in each state */
    counts: {
      /** All items */
      total: number;
      /** Items that have not started */
      pending: number;
      /** Items that wait for a worker */
      waiting: number;
      /** Items whose turn is running */
      running: number;
      /** Turns that wait without a slot */
      parked: number;
      /** Answered items */
      answered: number;
      /** Items with a silent answer */
      silent: number;
      /** Failed items */
      failed: number;
      /** Cancelled items */
      cancelled: number;
      /** Items that expired because they had not started by the deadline */
      expired: number;
    };
    /** Subagents and other inputs that its items have started and that have not ended; the batch ends after them */
    followUps: number;
    /** Items that ended per minute recently; null: not known */
    ratePerMinute: number | null;
    /** When it is expected to end; null: not known */
    eta: {
      /** The earliest expected end */
      from: string;
      /** The latest expected end */
      to: string;
    } | null;
    /** The tokens that its ended items used */
    usage: Schemas['Usage'];
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** Model calls with an unknown cost, because their model has no price */
    unpricedCalls: number;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** The amount reserved for calls in flight, in US dollars */
    reservedUsd: number;
    /** The cost of answers that were not used, in US dollars */
    wastedUsd: number;
    /** The batch pauses when its ended items have cost this much; null: no limit */
    maxCostUsd: number | null;
    /** The expected total cost, once 20 items have ended; null: not known */
    expectedCostUsd: number | null;
    /** What the same conversations would cost in live calls with a warm cache; null: not known */
    liveCostUsd: number | null;
    /** How much cheaper it was than live calls, in percent; negative: it was more expensive; null: not known */
    savedPercent: number | null;
    /** The share of the prompt tokens that was read from the provider's cache; null: not known */
    cacheHitRate: number | null;
    /** The rounds of a batch that does not run live: the calls at the same position of their conversations, counted by the way in which they were made */
    hops: {
      /** The number, counted from 1 */
      n: number;
      /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
      via: 'live' | 'provider-batch';
      /** Why */
      reason: string;
      /** The number of requests */
      requests: number;
      /** When it was submitted to the provider */
      submittedAt: string | null;
      /** When it ended; null: it has not */
      endedAt: string | null;
      /** The share of the prompt tokens that was read from the provider's cache; null: not known */
      cacheHitRate: number | null;
      /** The cost in US dollars; null: not known, because the model has no price */
      costUsd: number | null;
      /** The ids of the provider's batches */
      providerBatchIds: string[];
    }[];
    /** The invalid fields */
    errors: {
      /** A stable code for programs */
      code: string;
      /** The number */
      count: number;
      /** The error message of the first of these items */
      sample: string;
    }[];
    /** The API key that submitted it */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When its first item became ready to run; null: the batch is still being uploaded */
    startedAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
  };
  BatchItem: {
    /** The number, counted from 1 */
    n: number;
    /** The name that the submitter gave the item; unique in the batch */
    customId: string | null;
    /** The key of the session */
    sessionKey: string;
    /** Its state */
    status: 'pending' | 'waiting' | 'running' | 'parked' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'expired';
    /** The number of the current or last attempt, counted from 1; 1 also before the first attempt */
    attempt: number;
    /** The id of the message */
    messageId: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** Why it failed, expired or was cancelled */
    error: Schemas['Fault'];
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** Why it waits; null: it is not waiting */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** Only items from this time or later */
      since: string;
      /** When it ends at the latest; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    } | null;
  };
  BatchPatch: {
    /** A new name; null removes the name */
    name?: string | null;
    /** The maximum number of items in flight */
    concurrency?: number;
    /** The share of this batch while several batches run */
    weight?: number;
    /** The batch pauses when its ended items have cost this much; null: no limit */
    maxCostUsd?: number | null;
    /** The batch pauses when a larger share of its last 50 ended items, or of its pilot, has failed */
    maxFailurePercent?: number;
    /** Items that have not started after this time expire */
    deadlineSeconds?: number;
    /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
    via?: 'live' | 'provider-batch' | 'auto';
  };
  Budget: {
    /** The id */
    id: string;
    /** What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>` */
    scope: string;
    /** The length of a window */
    per: 'hour' | 'day' | 'month' | 'total';
    /** The time zone in which hours, days and months begin */
    zone: string;
    /** The limit in US dollars */
    limitUsd: number;
    /** The share of the limit, in percent, at which `budget.warned` is sent */
    warnPercent: number;
    /** What happens to a turn whose next call exceeds the budget: `pause` parks the turn, `fail` ends it */
    action: 'pause' | 'fail';
    /** True: each call reserves the most that it can cost */
    strict: boolean;
    /** What is spent, in US dollars */
    spentUsd: number;
    /** The amount reserved for calls in flight, in US dollars */
    reservedUsd: number;
    /** Whether a call has been refused in the current window since the last change of the budget */
    isReached: boolean;
    /** When the current window began; null: the window has no calls yet */
    startsAt: string | null;
    /** When the current window ends; null: it has no end, or no calls yet */
    endsAt: string | null;
    /** Whether the budget was created by the configuration, a request or a batch */
    origin: 'config' | 'api' | 'batch';
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
  };
  BatchRequest: {
    /** A name for people */
    name?: string;
    /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
    via?: 'live' | 'provider-batch' | 'auto';
    /** The agent of items without an `agentId` */
    agentId?: string;
    /** The model of items without a `model` */
    model?: string;
    /** The thinking level of items without a `thinking` */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
    /** Which sections the system prompt has */
    promptMode?: 'full' | 'minimal' | 'none';
    /** What happens to a request that the provider has not answered by the deadline */
    fallback?: 'live' | 'fail';
    /** How long the provider keeps cached prompts */
    cache?: 'auto' | '1h' | '5m' | 'off';
    /** The maximum number of items in flight */
    concurrency?: number;
    /** The share of this batch while several batches run */
    weight?: number;
    /** Run this many items first; the others start if these succeed */
    pilot?: number;
    /** The batch pauses when its ended items have cost this much; null: no limit */
    maxCostUsd?: number;
    /** The batch pauses when a larger share of its last 50 ended items, or of its pilot, has failed */
    maxFailurePercent?: number;
    /** Items that have not started after this time expire */
    deadlineSeconds?: number;
    /** The URL that receives a signed report when the batch ends */
    deliver?: {
      /** An http or https URL */
      url: string;
    } | null;
    /** Which of the agent's tools its turns have, and everything that these start: names, or patterns with `*` */
    tools?: {
      /** Names of tools; absent: all tools */
      allow?: string[];
      /** Names of tools */
      deny?: string[];
    };
    /** Facts by which its turns are found again, and everything that these start */
    tags?: Record<string, string>;
    /** The items of the page */
    items?: unknown[];
  };
  BatchResult: {
    /** The number, counted from 1 */
    n: number;
    /** The name that the submitter gave the item; unique in the batch */
    customId: string | null;
    /** Its status */
    status: 'pending' | 'waiting' | 'running' | 'parked' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'expired';
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** The error; null: none */
    error: Schemas['Fault'];
    /** The key of the session */
    sessionKey: string;
    /** The id of the message */
    messageId: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** The number of the attempt, counted from 1 */
    attempt: number;
    /** The number of tokens used */
    usage: Schemas['Usage'];
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
  };
  BulkAction: {
    /** The id */
    id: string;
    /** What is done with each object */
    action: 'retry' | 'abort' | 'cancel' | 'redrive' | 'discard';
    /** The kind of the objects */
    target: 'turns' | 'messages' | 'deliveries' | 'dead-letters';
    /** What the request selected: the number of `ids`, or the filter */
    filter: Record<string, unknown>;
    /** Why */
    reason: string | null;
    /** The maximum number of objects per second; null or absent: no limit */
    perSecond: number | null;
    /** True: the first object is done alone. If it succeeds, the others follow; if not, the action ends */
    canary: boolean;
    /** `running`; `cancelling`: the objects in progress finish; `completed`; `cancelled`; `canary_failed`: the first object did not succeed, and the others were skipped */
    status: 'running' | 'cancelling' | 'completed' | 'cancelled' | 'canary_failed';
    /** The number of objects */
    total: number;
    /** How many objects were changed */
    done: number;
    /** The number of objects that were not changed */
    skipped: number;
    /** How many objects failed because of an error */
    failed: number;
    /** Who submitted it: `admin`, or `key:<name>` */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When it ended; null: it has not */
    endedAt: string | null;
  };
  BulkItem: {
    /** Its position in the order of execution */
    n: number;
    /** The id of the turn, message, delivery or dead letter */
    id: string;
    /** Its status */
    status: 'pending' | 'done' | 'skipped' | 'failed';
    /** Why it was skipped or failed; null: neither happened */
    reason: string | null;
    /** The messages that it queued; null: none */
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
    /** The number of the attempt, counted from 1 */
    attempt: number;
    /** Tokens of the context before the compaction */
    tokensBefore: number;
    /** Tokens of the context after the compaction; null: it did not succeed */
    tokensAfter: number | null;
    /** The entry of the summary; null: there is none */
    summaryEntryId: string | null;
    /** The number of entries that the summary replaces */
    retiredEntries: number;
    /** The file to which notes were added; null: none */
    memoryPath: string | null;
    /** Which workspace files later requests still contain */
    audit: Record<string, unknown> | null;
    /** The error; null: none */
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
      /** The kind */
      kind: 'at';
      /** When it happens, or happened */
      at: string;
    } | {
      /** The kind */
      kind: 'every';
      /** The length of an interval, in milliseconds; a request may also send a text such as "5m" */
      everyMs: number;
      /** The start time of the interval schedule */
      anchor: string;
    } | {
      /** The kind */
      kind: 'cron';
      /** A cron expression with 5 or 6 fields */
      expr: string;
      /** An IANA time zone; absent: the time zone of the agent */
      tz: string;
      /** A delay that spreads crons with the same slot, in milliseconds */
      staggerMs?: number;
    };
    /** The session in which it runs: main, isolated, or session:<key> */
    target: string;
    /** What a run does */
    payload: {
      /** The kind */
      kind: 'systemEvent';
      /** The text */
      text: string;
    } | {
      /** The kind */
      kind: 'agentTurn';
      /** The message */
      message: string;
      /** A model as provider/model, or an alias; null or absent: as configured */
      model?: string;
      /** The thinking level of the model; null or absent: what the configuration says */
      thinking?: string;
      /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
      via?: 'live' | 'provider-batch' | 'auto';
      /** The time limit of a run, in seconds */
      timeoutSeconds?: number;
    };
    /** Whether the session runs immediately or with its next heartbeat */
    wake: 'now' | 'next-heartbeat';
    /** What happens to missed slots; null: as configured */
    misfire: 'run_once' | 'run_all' | 'skip' | null;
    /** Where the reply of a run is sent; null: as configured */
    delivery: {
      /** Where the reply goes */
      mode: 'none' | 'last' | 'webhook';
      /** An http or https URL */
      url?: string;
    } | null;
    /** Whether the cron is deleted after a successful run */
    deleteAfterRun: boolean;
    /** The tool calls of the step */
    tools: {
      /** Names of tools; absent: all tools */
      allow?: string[];
      /** Names of tools */
      deny?: string[];
    } | null;
    /** The tags; empty: none */
    tags: Record<string, string>;
    /** Whether it fires */
    enabled: boolean;
    /** Why Holdfast disabled it; null: it is enabled, or its owner disabled it */
    disabledReason: string | null;
    /** Failed runs in a row */
    failures: number;
    /** The last slot that fired; null: no slot has fired */
    lastSlotAt: string | null;
    /** The slot that runs next; a cron that backs off after failures skips earlier ones; null: there is none */
    nextSlotAt: string | null;
    /** The next slot with its stagger */
    nextRunAt: string | null;
    /** When it was created */
    createdAt: string;
    /** When it was last changed */
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
    /** The number of slots that it replaces */
    slots: number;
    /** Whether it was started by hand or through the API */
    isManual: boolean;
    /** The id of the message */
    messageId: string | null;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** When it fired; null: it has not */
    firedAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** Model calls with an unknown cost, because their model has no price */
    unpricedCalls: number;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
  };
  DeadLetter: {
    /** The id */
    id: string;
    /** The kind */
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
    /** When it was settled; null: it has not been settled */
    settledAt: string | null;
  };
  DeadLetterGroup: {
    /** The kind */
    kind: string;
    /** A stable code for programs */
    code: string;
    /** The number */
    count: number;
    /** When the oldest was created */
    firstAt: string;
    /** When the newest was created */
    lastAt: string;
    /** The letters of the group that were created in each of the last 24 hours */
    perHour: {
      /** When the first hour starts */
      startsAt: string;
      /** One for each hour, oldest first; the last hour is not complete */
      counts: number[];
    };
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
    /** The channel that the reply is sent through */
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
    /** The number of attempts */
    attempts: number;
    /** When the next attempt is due */
    dueAt: string;
    /** When no further attempts to deliver are made */
    expiresAt: string;
    /** The HTTP status of the last answer; null: there was no answer */
    lastStatus: number | null;
    /** Why the last attempt failed; null: it did not fail, or there was no attempt */
    lastError: string | null;
    /** When it was created */
    createdAt: string;
    /** When it was settled; null: it has not been settled */
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
    /** The channel of the message */
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
    /** The number of attempts */
    attempts: number;
    /** When the next attempt is due */
    dueAt: string;
    /** When no further attempts to deliver are made */
    expiresAt: string;
    /** The HTTP status of the last answer; null: there was no answer */
    lastStatus: number | null;
    /** Why the last attempt failed; null: it did not fail, or there was no attempt */
    lastError: string | null;
    /** When it was created */
    createdAt: string;
    /** When it was settled; null: it has not been settled */
    settledAt: string | null;
    /** The results of its attempts, oldest first, as far back as the event log reaches */
    log: {
      /** The number of the attempt, counted from 1 */
      attempt: number;
      /** When the result was stored */
      at: string;
      /** Its status after the attempt; `pending`: another attempt follows */
      status: 'pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'expired' | 'discarded';
      /** The HTTP status of the answer; null: there was no answer */
      httpStatus: number | null;
    }[];
  };
  DeliveryCount: {
    /** Its status */
    status: 'pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'expired' | 'discarded';
    /** The number */
    count: number;
    /** Whether the limit of the count was reached, so that there may be more */
    isCapped: boolean;
    /** When the oldest waiting message arrived; null: none waits */
    oldestAt: string | null;
  };
  CronInput: {
    /** The name */
    name?: string;
    /** The id of an agent of the configuration */
    agentId?: string;
    /** When it fires */
    schedule: {
      /** The kind */
      kind: 'at';
      /** When it happens, or happened */
      at: string;
    } | {
      /** The kind */
      kind: 'every';
      /** The length of an interval, in milliseconds; a request may also send a text such as "5m" */
      everyMs: number | string;
      /** The start time of the interval schedule */
      anchor?: string;
    } | {
      /** The kind */
      kind: 'cron';
      /** A cron expression with 5 or 6 fields */
      expr: string;
      /** An IANA time zone; absent: the time zone of the agent */
      tz?: string;
      /** A delay that spreads crons with the same slot, in milliseconds */
      staggerMs?: number;
    };
    /** The session in which it runs: main, isolated, or session:<key> */
    target?: string;
    /** What a run does */
    payload: {
      /** The kind */
      kind: 'systemEvent';
      /** The text */
      text: string;
    } | {
      /** The kind */
      kind: 'agentTurn';
      /** The message */
      message: string;
      /** A model as provider/model, or an alias; null or absent: as configured */
      model?: string;
      /** The thinking level of the model; null or absent: what the configuration says */
      thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
      /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
      via?: 'live' | 'provider-batch' | 'auto';
      /** The time limit of a run, in seconds */
      timeoutSeconds?: number;
    };
    /** Whether the session runs immediately or with its next heartbeat */
    wake?: 'now' | 'next-heartbeat';
    /** What happens to missed slots; null: as configured */
    misfire?: 'run_once' | 'run_all' | 'skip' | null;
    /** Where the reply of a run is sent; null: as configured */
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
    /** Which of the agent's tools its turns have, and everything that these start: names, or patterns with `*` */
    tools?: {
      /** Names of tools; absent: all tools */
      allow?: string[];
      /** Names of tools */
      deny?: string[];
    };
    /** Facts by which its turns are found again, and everything that these start */
    tags?: Record<string, string>;
  };
  CronPatch: {
    /** The name */
    name?: string;
    /** The id of an agent of the configuration */
    agentId?: string;
    /** When it fires */
    schedule?: {
      /** The kind */
      kind: 'at';
      /** When it happens, or happened */
      at: string;
    } | {
      /** The kind */
      kind: 'every';
      /** The length of an interval, in milliseconds; a request may also send a text such as "5m" */
      everyMs: number | string;
      /** The start time of the interval schedule */
      anchor?: string;
    } | {
      /** The kind */
      kind: 'cron';
      /** A cron expression with 5 or 6 fields */
      expr: string;
      /** An IANA time zone; absent: the time zone of the agent */
      tz?: string;
      /** A delay that spreads crons with the same slot, in milliseconds */
      staggerMs?: number;
    };
    /** The session in which it runs: main, isolated, or session:<key> */
    target?: string;
    /** What a run does */
    payload?: {
      /** The kind */
      kind: 'systemEvent';
      /** The text */
      text: string;
    } | {
      /** The kind */
      kind: 'agentTurn';
      /** The message */
      message: string;
      /** A model as provider/model, or an alias; null or absent: as configured */
      model?: string;
      /** The thinking level of the model; null or absent: what the configuration says */
      thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
      /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
      via?: 'live' | 'provider-batch' | 'auto';
      /** The time limit of a run, in seconds */
      timeoutSeconds?: number;
    };
    /** Whether the session runs immediately or with its next heartbeat */
    wake?: 'now' | 'next-heartbeat';
    /** What happens to missed slots; null: as configured */
    misfire?: 'run_once' | 'run_all' | 'skip' | null;
    /** Where the reply of a run is sent; null: as configured */
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
    /** Which tools its turns have; null: all of the agent */
    tools?: {
      /** Names of tools; absent: all tools */
      allow?: string[];
      /** Names of tools */
      deny?: string[];
    } | null;
    /** The tags of its turns; null: none */
    tags?: Record<string, string> | null;
  };
  Entry: {
    /** The id */
    id: string;
    /** Its number in the session */
    seq: number;
    /** The entry before it; null: it is the first */
    parentId: string | null;
    /** The kind */
    kind: 'prompt' | 'answer' | 'results' | 'steer' | 'summary';
    /** Who speaks */
    role: 'user' | 'assistant';
    /** Content blocks in the shapes of Anthropic's Messages API: text, tool_use, tool_result, thinking, image */
    content: {
      /** The type */
      type: string;
      [field: string]: unknown;
    }[];
    /** Of a prompt: what its first text was put together from, with the position of each part in the whole text, in UTF-16 units. null: not known, or no prompt */
    parts: {
      /** The name */
      name: string;
      /** Where it comes from */
      origin: string;
      /** How far its text is trusted */
      trust: 'trusted' | 'untrusted';
      /** The start, in UTF-16 code units */
      start: number;
      /** The end, in UTF-16 code units */
      end: number;
    }[] | null;
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
    /** The kind */
    kind: string;
    /** What happened to the message when it was accepted */
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
    /** The kind */
    kind: string;
    /** The messages of the turn */
    messageIds: string[];
    /** The number of the attempt, counted from 1 */
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
    /** The time until the next attempt, in milliseconds */
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
    /** The error; null: none */
    error: Schemas['Fault'];
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** Model calls with an unknown cost, because their model has no price */
    unpricedCalls: number;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** The id of an agent of the configuration */
    agentId: string;
    /** The kind */
    kind: string;
    /** The lane: a class of turns with its own concurrency */
    lane: string;
    /** A model as provider/model, or an alias; null or absent: as configured */
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
    /** The number of tokens used */
    usage: Schemas['Usage'];
    /** The part of `cacheWriteTokens` that the provider keeps for an hour */
    cacheWrite1hTokens: number;
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** Whether the call was interrupted, so that its tokens and cost are only those reported until then */
    isEstimated: boolean;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** Which prices apply: standard, or those of provider batches */
    tier: 'standard' | 'batch';
    /** The id of an agent of the configuration */
    agentId: string;
    /** The kind */
    kind: string;
    /** The lane: a class of turns with its own concurrency */
    lane: string;
    /** A model as provider/model, or an alias; null or absent: as configured */
    model: string | null;
    /** From the start of the call to the first part of its answer, in milliseconds; null: there was no answer */
    firstChunkMs: number | null;
    /** The error; null: none */
    error?: Schemas['Fault'];
    /** The time until the next attempt, in milliseconds */
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
    /** The platform of the channel */
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
    /** The name of a batch, a cron or a tool, or the name under which a process holds locks */
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
    /** The name of a batch, a cron or a tool, or the name under which a process holds locks */
    name: string;
    /** Its status */
    status: string;
    /** Whether the tool failed */
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
    /** The number of the attempt, counted from 1 */
    attempt: number;
    /** Tokens of the context before the compaction */
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
    /** Tokens of the context before the compaction */
    tokensBefore: number | null;
    /** Tokens of the context after the compaction; null: it did not succeed */
    tokensAfter: number | null;
    /** The error; null: none */
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
    /** What happened to the message when it was accepted */
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
    /** The number of the attempt, counted from 1 */
    attempt: number;
    /** Its status */
    status: string;
    /** The HTTP status of the answer; null: there was no answer */
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
    /** The number of the attempt, counted from 1 */
    attempt: number;
    /** Its status */
    status: string;
    /** The HTTP status of the answer; null: there was no answer */
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
    /** The name of a batch, a cron or a tool, or the name under which a process holds locks */
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
    /** What started it */
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
    /** The name of a batch, a cron or a tool, or the name under which a process holds locks */
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
    /** The number of items in each state */
    counts: {
      /** How many there are */
      total: number;
      /** Items that have started and have not ended */
      inFlight: number;
      /** Answered items */
      answered: number;
      /** Items with a silent answer */
      silent: number;
      /** Failed items */
      failed: number;
      /** Cancelled items */
      cancelled: number;
      /** Items that expired because they had not started by the deadline */
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
    /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
    via: 'live' | 'provider-batch';
    /** The number of requests */
    requests: number;
    /** The share of the prompt tokens that was read from the provider's cache; null: not known */
    cacheHitRate: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** What live calls with the same answers would cost, in micro-dollars; null: not known */
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
    /** The id of the budget; the cost cap of a batch has the id of the batch */
    budgetId: string;
    /** What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>` */
    scope: string;
    /** The length of a window */
    per: 'hour' | 'day' | 'month' | 'total';
    /** The same limit in whole micro-dollars */
    limitMicros: number;
    /** The same in whole micro-dollars */
    spentMicros: number;
    /** What is reserved for calls in flight, in whole micro-dollars */
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
    /** The id of the budget; the cost cap of a batch has the id of the batch */
    budgetId: string;
    /** What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>` */
    scope: string;
    /** The length of a window */
    per: 'hour' | 'day' | 'month' | 'total';
    /** The same limit in whole micro-dollars */
    limitMicros: number;
    /** The same in whole micro-dollars */
    spentMicros: number;
    /** What is reserved for calls in flight, in whole micro-dollars */
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
    /** The name of a batch, a cron or a tool, or the name under which a process holds locks */
    name: string;
    /** The name of the host */
    host: string;
    /** The process id on its host */
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
    /** The name of a batch, a cron or a tool, or the name under which a process holds locks */
    name: string;
    /** The name of the host */
    host: string;
    /** The process id on its host */
    pid: number;
    /** The roles of the process */
    roles: string[];
    /** The version of Holdfast that the process runs */
    version: string;
    /** When it last reported */
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
    /** The name of a batch, a cron or a tool, or the name under which a process holds locks */
    name: string;
    /** The name of the host */
    host: string;
    /** The process id on its host */
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
    /** How many objects were changed */
    done: number;
    /** The number of objects that were not changed */
    skipped: number;
    /** How many failed */
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
    /** What started it */
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
    /** When it was settled; null: it has not been settled */
    settledAt: string | null;
  };
  InboundMessage: {
    /** The text */
    text: string;
    /** The id of the message on the platform; unique per channel, account and chat forever */
    messageId?: string;
    /** The channel of the message */
    channel?: string;
    /** The account of the bot on the platform */
    accountId?: string;
    /** The id of the chat on the platform */
    chatId?: string;
    /** The type of the chat */
    chatType?: 'direct' | 'group' | 'channel';
    /** The platform of the channel */
    provider?: string;
    /** The part of the platform that the message was sent from */
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
      /** The platform id of the message that this one replies to */
      id?: string;
      /** The name of the sender of the original message */
      senderLabel?: string;
      /** The text of the message */
      body?: string;
      /** Whether a part of the message is quoted */
      isQuote?: boolean;
    };
    /** The origin of a forwarded message */
    forwarded?: {
      /** The sender of the original message */
      from?: string;
      /** The type */
      type?: string;
      /** The user name on the platform */
      username?: string;
      /** A short title */
      title?: string;
      /** The signature of the author of the original message */
      signature?: string;
      /** The type of the chat */
      chatType?: string;
      /** When the original message was sent */
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
      /** The first message of the thread */
      starterBody?: string;
      /** The messages of the thread before this one */
      historyBody?: string;
    };
    /** Files and images of the message */
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
    /** Texts from other people or systems, which the agent treats as data */
    untrustedContext?: string[];
    /** The operator's instructions to the agent for this group */
    groupSystemPrompt?: string;
    /** What happens to the message while the session is busy */
    mode?: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback';
    /** A model as provider/model, or an alias; null or absent: as configured */
    model?: string;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
    /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
    via?: 'live' | 'provider-batch' | 'auto';
    /** Where the reply is sent */
    deliver?: {
      /** An http or https URL */
      url: string;
    } | null;
    /** Which of the agent's tools its turns have, and everything that these start: names, or patterns with `*` */
    tools?: {
      /** Names of tools; absent: all tools */
      allow?: string[];
      /** Names of tools */
      deny?: string[];
    };
    /** Facts by which its turns are found again, and everything that these start */
    tags?: Record<string, string>;
    /** If its answer has not started by this time, the message fails with the code `expired` */
    expiresAt?: string | number;
    /** When the message arrives in its session, as if it were sent then; until then it waits with the code `delayed` */
    deliverAt?: string | number;
    /** Above 0: the session runs before the others that wait in its lane; below 0: it runs after all others, the lowest last */
    priority?: number;
  };
  Message: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** Its number in the session */
    seq: number;
    /** The kind */
    kind: 'message' | 'announcement' | 'cron' | 'heartbeat' | 'followup' | 'batch' | 'compaction';
    /** The text */
    text: string;
    /** The tags; empty: none */
    tags: Record<string, string>;
    /** Its status */
    status: 'waiting' | 'claimed' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'dropped';
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** The failed message that this message repeats; null: none */
    retryOf: string | null;
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** The error; null: none */
    error: Schemas['Fault'];
    /** Why it waits; null: it is not waiting */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** When it began to wait */
      since: string;
      /** When it ends at the latest; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    } | null;
    /** When it was accepted */
    receivedAt: string;
    /** When it was settled; null: it has not been settled */
    settledAt: string | null;
  };
  ModelBlock: {
    /** The model that no worker calls, as provider/model */
    model: string;
    /** asked: the provider has asked to wait; away: the model does not answer, and one call at a time finds out whether it is back */
    kind: 'asked' | 'away';
    /** When it began */
    since: string;
    /** When the calls resume by themselves; for a model that is away, when the next call tests it */
    until: string;
    /** The answer of the provider, or the last error; null: not known */
    text: string | null;
  };
  ModelRequest: {
    /** The id of the turn; null: there is none */
    turnId: string;
    /** The number of the model call in its turn */
    call: number;
    /** The step of the turn, counted from 1 */
    step: number;
    /** The purpose of the call */
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
        /** The start, in UTF-16 code units */
        start: number;
        /** The end, in UTF-16 code units */
        end: number;
      } | null;
      /** The entry of the transcript that it is of */
      entry: {
        /** The id */
        id: string;
        /** Its number in the session */
        seq: number;
        /** The kind */
        kind: 'prompt' | 'answer' | 'results' | 'steer' | 'summary';
        /** The id of the turn; null: there is none */
        turnId: string;
      } | null;
    })[];
  };
  Pause: {
    /** The id */
    id: string;
    /** Only sessions of this lane; null: of every lane */
    lane: 'main' | 'subagent' | 'cron' | 'batch' | null;
    /** Only sessions of this agent; null: of every agent */
    agent: string | null;
    /** Only this session; null: every session */
    session: string | null;
    /** The reason; null: none was given */
    reason: string | null;
    /** Who created the pause: `admin`, or `key:<name>` */
    pausedBy: string;
    /** When it was created */
    since: string;
  };
  OpenAiError: {
    /** What is wrong */
    error: {
      /** What is wrong and what is allowed, for people */
      message: string;
      /** The kind of error, as OpenAI names it */
      type: string;
      /** The invalid parameter; null: none */
      param: string | null;
      /** A stable code: OpenAI's if it has one, or else a problem code of Holdfast */
      code: string | null;
    };
  };
  Problem: {
    /** A URN with the code */
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
      /** The invalid field; empty: the whole body */
      path: string;
      /** What is wrong with the field */
      message: string;
    }[];
    [field: string]: unknown;
  };
  Readiness: {
    /** Its status */
    status: 'ready' | 'degraded' | 'unavailable';
    /** The dependencies of the service and their states */
    dependencies: {
      /** The name */
      name: string;
      /** Its status */
      status: 'ok' | 'failed';
      /** How long it took, in milliseconds */
      durationMs: number;
      /** The error; null: none */
      error: string | null;
      /** Since when the dependency fails, as this process knows; null: it works */
      failedSince: string | null;
    }[];
    /** Problems that keep the service from working; `GET /v1/attention` and `holdfast doctor` give details */
    troubles: ('model_away' | 'model_limited' | 'budget_reached' | 'paused' | 'queue_unreachable' | 'no_worker' | 'no_scheduler' | 'reconciler_stalled' | 'outbox_stalled' | 'deliveries_failing' | 'versions_differ' | 'clock_off' | 'events_held')[];
    /** The model that answers */
    model: {
      /** The provider of the model */
      provider: string;
      /** The name */
      name: string;
      /** True: the built-in scripted model answers, because no provider key is configured */
      isScripted: boolean;
    };
    /** The version of Holdfast that answers */
    version: string;
    /** The name of the environment as configured in `api.environment`; null: it has none */
    environment: string | null;
  };
  Session: {
    /** The id */
    id: string;
    /** The session key */
    key: string;
    /** The id of an agent of the configuration */
    agentId: string;
    /** The kind */
    kind: 'main' | 'direct' | 'group' | 'subagent' | 'cron' | 'batch' | 'heartbeat' | 'other';
    /** Its status */
    status: 'idle' | 'waiting' | 'running';
    /** The session that spawned it; null: it was not spawned */
    parentKey: string | null;
    /** A name for people */
    label: string | null;
    /** The channel of the message */
    channel: string | null;
    /** What happens to a message while the session is busy; null: as configured */
    queueMode: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback' | null;
    /** A turn starts after no message has arrived for this time, in milliseconds; null: as configured */
    queueDebounceMs: number | null;
    /** The maximum number of messages in a turn; null: as configured */
    queueCap: number | null;
    /** What happens to messages above the cap; null: as configured */
    queueDrop: 'wait' | 'summarize' | 'old' | 'new' | null;
    /** A model as provider/model, or an alias; null or absent: as configured */
    model: string | null;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking: string | null;
    /** Whether the model's thinking is shown: `off`, `on` (before replies) or `stream` (as live events); null: `off` */
    reasoning: string | null;
    /** The fencing token of the lock */
    epoch: number;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** The number of waiting messages */
    waitingMessages: number;
    /** The number of system events that wait */
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
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** Model calls with an unknown cost, because their model has no price */
    unpricedCalls: number;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** When it was created */
    createdAt: string;
    /** When it was last changed */
    updatedAt: string;
  };
  SessionDetails: {
    /** The id */
    id: string;
    /** The session key */
    key: string;
    /** The id of an agent of the configuration */
    agentId: string;
    /** The kind */
    kind: 'main' | 'direct' | 'group' | 'subagent' | 'cron' | 'batch' | 'heartbeat' | 'other';
    /** Its status */
    status: 'idle' | 'waiting' | 'running';
    /** The session that spawned it; null: it was not spawned */
    parentKey: string | null;
    /** A name for people */
    label: string | null;
    /** The channel of the message */
    channel: string | null;
    /** What happens to a message while the session is busy; null: as configured */
    queueMode: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback' | null;
    /** A turn starts after no message has arrived for this time, in milliseconds; null: as configured */
    queueDebounceMs: number | null;
    /** The maximum number of messages in a turn; null: as configured */
    queueCap: number | null;
    /** What happens to messages above the cap; null: as configured */
    queueDrop: 'wait' | 'summarize' | 'old' | 'new' | null;
    /** A model as provider/model, or an alias; null or absent: as configured */
    model: string | null;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking: string | null;
    /** Whether the model's thinking is shown: `off`, `on` (before replies) or `stream` (as live events); null: `off` */
    reasoning: string | null;
    /** The fencing token of the lock */
    epoch: number;
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** The number of waiting messages */
    waitingMessages: number;
    /** The number of system events that wait */
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
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** Model calls with an unknown cost, because their model has no price */
    unpricedCalls: number;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** When it was created */
    createdAt: string;
    /** When it was last changed */
    updatedAt: string;
    /** The process that runs a turn of the session; null: none does */
    lock: {
      /** The name of the process */
      holder: string;
      /** When its lease expires unless the process renews it; in the past if the process has crashed and no other has claimed the session */
      until: string;
    } | null;
    /** Why the open turn, the oldest message or else the oldest delivery waits; null: nothing does, or a worker runs the turn. Absent in lists */
    why?: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** Only items from this time or later */
      since: string;
      /** When it ends at the latest; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    } | null;
    /** The size of the context window in tokens, as configured for the session's agent */
    contextWindow: number;
    /** The queue mode of a message to the session that has neither `channel` nor `mode` */
    apiQueueMode: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback';
  };
  SessionPatch: {
    /** What happens to a message while the session is busy; null: as configured */
    queueMode?: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog' | 'reject' | 'rollback' | null;
    /** A turn starts after no message has arrived for this time, in milliseconds; null: as configured */
    queueDebounceMs?: number | null;
    /** The maximum number of messages in a turn; null: as configured */
    queueCap?: number | null;
    /** What happens to messages above the cap; null: as configured */
    queueDrop?: 'wait' | 'summarize' | 'old' | 'new' | null;
    /** A model as provider/model, or an alias; null or absent: as configured */
    model?: string | null;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive' | null;
    /** Whether the model's thinking is shown: `off`, `on` (before replies) or `stream` (as live events); null: `off` */
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
    /** The kind */
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
    /** The task of the subagent */
    task: string;
    /** A name for people */
    label?: string;
    /** The id of an agent of the configuration */
    agentId?: string;
    /** A model as provider/model, or an alias; null or absent: as configured */
    model?: string;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive';
    /** The time limit of the run, in seconds; 0: no limit */
    runTimeoutSeconds?: number;
    /** What happens to the session of the subagent after its run */
    cleanup?: 'keep' | 'delete';
    /** What happens to the message while the session is busy */
    mode?: 'run' | 'session';
    /** Where the reply is sent */
    deliver?: {
      /** An http or https URL */
      url: string;
    } | null;
    /** Which of the agent's tools its turns have, and everything that these start: names, or patterns with `*` */
    tools?: {
      /** Names of tools; absent: all tools */
      allow?: string[];
      /** Names of tools */
      deny?: string[];
    };
    /** Facts by which its turns are found again, and everything that these start */
    tags?: Record<string, string>;
  };
  Stats: {
    /** The number of sessions */
    sessions: number;
    /** The number of messages by status */
    messages: Record<string, number>;
    /** The number of turns by status */
    turns: Record<string, number>;
    /** The number of deliveries by status */
    deliveries: Record<string, number>;
    /** How long the oldest waiting message has waited, in milliseconds; null: none waits */
    oldestWaitMs: number | null;
    /** The number of sessions that a worker has claimed */
    liveLocks: number;
    /** The number of jobs in the queue, by lane */
    queueDepth: Record<string, number>;
    /** The number of system events that wait */
    systemEventsWaiting: number;
    /** The number of open dead letters */
    deadLetters: number;
    /** The number of open problems that `GET /v1/attention` lists, at most a second old */
    attention: {
      /** Something does not work */
      errors: number;
      /** Something may stop working soon */
      warnings: number;
    };
  };
  Step: {
    /** The number, counted from 1 */
    n: number;
    /** The model calls of the step */
    calls: ({
      /** The number, counted from 1 */
      n: number;
      /** The purpose of the call */
      purpose: 'answer' | 'compaction';
      /** Its status */
      status: 'ok' | 'failed' | 'aborted';
      /** Why the model stopped; null: it has not */
      stopReason: string | null;
      /** The error; null: none */
      error: Schemas['Fault'];
      /** A model as provider/model, or an alias; null or absent: as configured */
      model: string | null;
      /** The number of tokens used */
      usage: Schemas['Usage'];
      /** The part of `cacheWriteTokens` that the provider keeps for an hour */
      cacheWrite1hTokens: number;
      /** The cost in US dollars; null: not known, because the model has no price */
      costUsd: number | null;
      /** The same in whole micro-dollars, which add up exactly */
      costMicros: number | null;
      /** The version of the price table that the cost was computed with; null: no price was found */
      priceVersion: string | null;
      /** Which prices apply: standard, or those of provider batches */
      tier: 'standard' | 'batch';
      /** Whether the call was interrupted, so that its tokens and cost are only those reported until then */
      isEstimated: boolean;
      /** Whether a part was answered by the scripted model, which costs nothing */
      simulated: boolean;
      /** When it began */
      startedAt: string;
      /** When the first part of the answer arrived; null: there was none */
      firstChunkAt: string | null;
      /** When it ended; null: it has not */
      endedAt: string;
      /** Measurements of the call */
      notes: {
        /** The size of the request, in bytes */
        requestBytes: number;
        /** The size of the answer, in bytes */
        responseBytes: number;
        /** The time to the first byte of the answer, in milliseconds; null: there was none */
        firstByteMs: number | null;
        /** How long it took, in milliseconds */
        durationMs: number;
        /** How long the call waited for a rate limit or a block of its model, in milliseconds; absent: it did not wait */
        rateWaitMs?: number;
        /** The repairs of the model's answer */
        repairs?: {
          /** The step of the turn, counted from 1 */
          step: string;
          /** The id of the call */
          callId: string | null;
          /** The model's answer before the repair */
          was: string;
        }[];
        /** Why the call was made live although provider batches were allowed */
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
    /** The task of the subagent */
    task: string;
    /** The number of sessions above it: 1 for a subagent of an ordinary session */
    depth: number;
    /** Its status */
    status: 'running' | 'ok' | 'failed' | 'timedOut' | 'killed';
    /** run: it ends with its task; session: it accepts further tasks */
    mode: 'run' | 'session';
    /** What happens to the session of the subagent after its run */
    cleanup: 'keep' | 'delete';
    /** The result; null: there is none yet */
    result: string | null;
    /** The error; null: none */
    error: string | null;
    /** The tokens so far */
    tokens: {
      /** Input tokens */
      input: number;
      /** Output tokens */
      output: number;
    };
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** Model calls with an unknown cost, because their model has no price */
    unpricedCalls: number;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** When it was created */
    createdAt: string;
    /** When the run times out; null: there is no limit */
    deadlineAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** The message that reports the result to the parent; null: there is none yet */
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
    /** A name that groups system events of the same origin */
    contextKey: string | null;
    /** Whether its text comes from the operator */
    trusted: boolean;
    /** Its state */
    state: 'queued' | 'consumed' | 'dropped';
    /** The id of the turn; null: there is none */
    turnId: string | null;
    /** Why it was dropped; null: it was not dropped */
    dropReason: string | null;
    /** When it was created */
    createdAt: string;
    /** When it was settled; null: it has not been settled */
    settledAt: string | null;
  };
  Transcript: {
    /** The number of the transcript, counted from 1 */
    transcriptNo: number;
    /** Whether it is the current transcript, which receives new entries */
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
    /** The kind */
    kind: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction';
    /** The lane: a class of turns with its own concurrency */
    lane: 'main' | 'subagent' | 'cron' | 'batch';
    /** Its status */
    status: 'running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming';
    /** The number of the attempt, counted from 1 */
    attempt: number;
    /** Its attempts, oldest first; absent with `steps=none`, and when the turn is part of the answer to a message */
    attempts?: {
      /** The number of the attempt, counted from 1 */
      attempt: number;
      /** The process that last ran the turn */
      worker: string;
      /** The fencing token of the lock */
      epoch: number;
      /** When a worker claimed the session for the turn */
      claimedAt: string;
      /** When it ended; null: it has not */
      endedAt: string | null;
      /** How the attempt ended: its worker was lost, released the turn or parked it; null: this is the last attempt */
      how: 'lost' | 'released' | 'parked' | null;
    }[];
    /** The previous turn of the session; null: this is the first turn, or the previous one was deleted */
    previousTurnId?: string | null;
    /** The next turn of the session; null: this is the last one */
    nextTurnId?: string | null;
    /** The fencing token of the lock */
    epoch: number;
    /** The process that last ran the turn */
    worker: string;
    /** The model that answered, with its provider unless that is anthropic; until then the model that it was opened with */
    model: string;
    /** The model that the turn was opened with, if another one has answered after a fallback; null: it is the same */
    askedModel: string | null;
    /** The tags; empty: none */
    tags: Record<string, string>;
    /** What answers the turn and why it was chosen; null: the turn has no answer, for example a compaction */
    harness: {
      /** The id */
      id: string;
      /** Why */
      reason: 'pinned' | 'forced_built_in' | 'forced_plugin' | 'forced_plugin_fallback' | 'auto_plugin' | 'auto_fallback';
    } | null;
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** The error; null: none */
    error: Schemas['Fault'];
    /** Why no worker runs it: it is parked, or its worker is lost; null: one does, or it has ended */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** When it began to wait */
      since: string;
      /** When it ends at the latest; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    } | null;
    /** The number of tokens used */
    usage: Schemas['Usage'];
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** Model calls with an unknown cost, because their model has no price */
    unpricedCalls: number;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** When its first message was accepted */
    queuedAt: string;
    /** When a worker claimed the session for the turn */
    claimedAt: string;
    /** When it began */
    startedAt: string;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** The number of steps of the turn */
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
    /** The kind */
    kind: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction';
    /** The lane: a class of turns with its own concurrency */
    lane: 'main' | 'subagent' | 'cron' | 'batch';
    /** Its status */
    status: 'running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming';
    /** The number of the attempt, counted from 1 */
    attempt: number;
    /** The number of attempts */
    attempts?: {
      /** The number of the attempt, counted from 1 */
      attempt: number;
      /** The process that last ran the turn */
      worker: string;
      /** The fencing token of the lock */
      epoch: number;
      /** When a worker claimed the session for the turn */
      claimedAt: string;
      /** When it ended; null: it has not */
      endedAt: string | null;
      /** joins: the task joins the running turn; waits: it is answered by the next turn; again: the subagent had ended and starts again as `runId` */
      how: 'lost' | 'released' | 'parked' | null;
    }[];
    /** The previous turn of the session; null: this is the first turn, or the previous one was deleted */
    previousTurnId?: string | null;
    /** The next turn of the session; null: this is the last one */
    nextTurnId?: string | null;
    /** The fencing token of the lock */
    epoch: number;
    /** The process that last ran the turn */
    worker: string;
    /** The model that answered, with its provider unless that is anthropic; until then the model that it was opened with */
    model: string;
    /** The model that the turn was opened with, if another one has answered after a fallback; null: it is the same */
    askedModel: string | null;
    /** The tags; empty: none */
    tags: Record<string, string>;
    /** What answers the turn and why it was chosen; null: the turn has no answer, for example a compaction */
    harness: {
      /** The id */
      id: string;
      /** Why */
      reason: 'pinned' | 'forced_built_in' | 'forced_plugin' | 'forced_plugin_fallback' | 'auto_plugin' | 'auto_fallback';
    } | null;
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** The error; null: none */
    error: Schemas['Fault'];
    /** Why it waits; null: it is not waiting */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** When it began to wait */
      since: string;
      /** When it ends at the latest; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    } | null;
    /** The number of tokens used */
    usage: Schemas['Usage'];
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: number | null;
    /** The same in whole micro-dollars, which add up exactly */
    costMicros: number | null;
    /** Model calls with an unknown cost, because their model has no price */
    unpricedCalls: number;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** When its first message was accepted */
    queuedAt: string;
    /** When a worker claimed the session for the turn */
    claimedAt: string;
    /** When it began */
    startedAt: string;
    /** When it ended; null: it has not */
    endedAt: string | null;
    /** The number of steps of the turn */
    stepCount: number;
    /** The last steps of the turn; absent with steps=none */
    steps?: Schemas['Step'][];
    /** The durations of the last parts of the turn; absent with steps=none */
    spans?: Schemas['Span'][];
  };
  Usage: {
    /** Input tokens that were not in the cache */
    inputTokens: number;
    /** Output tokens */
    outputTokens: number;
    /** Input tokens read from the provider's cache */
    cacheReadTokens: number;
    /** Input tokens written to the provider's cache */
    cacheWriteTokens: number;
  };
  WaitingMessage: {
    /** The id */
    id: string;
    /** The key of the session */
    sessionKey: string;
    /** Its number in the session */
    seq: number;
    /** The kind */
    kind: 'message' | 'announcement' | 'cron' | 'heartbeat' | 'followup' | 'batch' | 'compaction';
    /** The text */
    text: string;
    /** The tags; empty: none */
    tags: Record<string, string>;
    /** waiting, or claimed while its turn is parked */
    status: 'waiting' | 'claimed';
    /** The parked turn; null: no turn has claimed it */
    turnId: string | null;
    /** The failed message that this message repeats; null: none */
    retryOf: string | null;
    /** The text of the reply; null: there is none */
    reply: string | null;
    /** The error; null: none */
    error: Schemas['Fault'];
    /** Why it waits; null: it is not waiting */
    why: {
      /** A stable code for programs */
      code: string;
      /** The text */
      text: string;
      /** When it began to wait for this reason */
      since: string;
      /** When it ends at the latest; null: not known */
      until: string | null;
      /** The name of what it waits for; null: it has no name */
      by: string | null;
    };
    /** When it was accepted */
    receivedAt: string;
    /** When it was settled; null: it has not been settled */
    settledAt: string | null;
    /** The lane: a class of turns with its own concurrency */
    lane: 'main' | 'subagent' | 'cron' | 'batch';
    /** Its position in the queue of its session, counted from 1 */
    position: number;
  };
  Worker: {
    /** The id */
    id: string;
    /** The name under which it holds locks: the `worker` of turns */
    name: string;
    /** The name of the host */
    host: string;
    /** The process id on its host */
    pid: number;
    /** The roles of the process */
    roles: string[];
    /** The version of Holdfast */
    version: string;
    /** running, draining, or lost because it missed three reports */
    state: 'running' | 'draining' | 'lost';
    /** When the process started */
    startedAt: string;
    /** When it last reported */
    seenAt: string;
    /** When it started to drain or was asked to; null: it is not draining */
    drainingAt: string | null;
    /** When it lost the connection to the queue; null: it is connected */
    queueAwaySince: string | null;
    /** The slots of its lanes and how many are in use, by lane; empty without the role worker */
    lanes: Record<string, {
      /** The number of jobs that the lane runs at once */
      slots: number;
      /** The number of jobs that it is running */
      inUse: number;
    }>;
  };
}

/** One function for each operation, named as in the OpenAPI document. Each throws `HoldfastError`. */
export interface OperationFunctions {
  /** Accept an inbound message; with Prefer: wait, answer when it is settled. `POST /v1/sessions/{key}/messages` */
  sendMessage(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    body: Schemas['InboundMessage'];
  }, options?: CallOptions): Promise<Schemas['Settled'] | Schemas['Accepted']>;
  /** Messages, newest first; optionally with some statuses, some ids, or of one session. `GET /v1/messages` */
  listMessages(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Its status */
    status?: readonly ('waiting' | 'claimed' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'dropped')[] | undefined;
    /** Only items with these ids */
    ids?: readonly string[] | undefined;
    /** The session */
    session?: string | undefined;
    /** Only what has this tag, as `key:value` */
    tag?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Message'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** One message and its outcome. `GET /v1/messages/{id}` */
  getMessage(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Message']>;
  /** Sessions, newest first; order=updated: last changed first. `GET /v1/sessions` */
  listSessions(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Only items of this agent */
    agent?: string | undefined;
    /** The kind */
    kind?: readonly ('main' | 'direct' | 'group' | 'subagent' | 'cron' | 'batch' | 'heartbeat' | 'other')[] | undefined;
    /** Its status */
    status?: readonly ('idle' | 'waiting' | 'running')[] | undefined;
    /** Only sessions of this channel */
    channel?: string | undefined;
    /** Only what has this tag, as `key:value` */
    tag?: string | undefined;
    /** An id or its last 6 to 12 digits, a session key, the platform id of a message, or an error code; any other text must be part of the session key */
    q?: string | undefined;
    /** created: newest first; updated: last changed first, among the 5,000 newest sessions and those of the 5,000 newest turns */
    order?: 'created' | 'updated' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['SessionDetails'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** One session. `GET /v1/sessions/{key}` */
  getSession(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
  }, options?: CallOptions): Promise<Schemas['SessionDetails']>;
  /** Override the configuration for one session; null removes an override. `PATCH /v1/sessions/{key}` */
  updateSession(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    body?: Schemas['SessionPatch'];
  }, options?: CallOptions): Promise<Schemas['SessionDetails']>;
  /** Erase a session and all subagents below it, with all their rows and files. `DELETE /v1/sessions/{key}` */
  eraseSession(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    /** True: count the rows and remove nothing */
    dryRun?: boolean | undefined;
    /** Why; stored in the audit log */
    reason?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The session key */
    key: string;
    /** The number of removed rows by table; tables without removed rows are left out */
    removed: Record<string, number>;
    /** The number of deleted files with outputs of background commands */
    files: number;
  }>;
  /** Abort the running turn and cancel the waiting messages; with queued: keep, the messages stay. `POST /v1/sessions/{key}/abort` */
  abortSession(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    body?: {
      /** What happens to waiting messages */
      queued?: 'keep' | 'cancel';
    };
  }, options?: CallOptions): Promise<Schemas['Abortion']>;
  /** Export everything that is stored for a session, as lines of JSON. `GET /v1/sessions/{key}/export` */
  exportSession(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
  }, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;
  /** Erase all sessions in which only this person wrote, and the items of batches with their words. `DELETE /v1/subjects/{senderId}` */
  eraseSubject(input: {
    /** The sender.id in the messages of the person */
    senderId: string;
    /** True: count the rows and remove nothing */
    dryRun?: boolean | undefined;
    /** Why; stored in the audit log */
    reason?: string | undefined;
    /** Only sessions with messages of this channel. Two channels may use the same id for two people */
    channel?: string | undefined;
    /** keep: keep sessions in which other people wrote too; erase: erase them as well */
    shared?: 'keep' | 'erase' | undefined;
  }, options?: CallOptions): Promise<{
    /** The `sender.id` of the person */
    senderId: string;
    /** What was removed of each session in which only this person wrote */
    sessions: {
      /** The session key */
      key: string;
      /** The number of removed rows by table; tables without removed rows are left out */
      removed: Record<string, number>;
      /** The number of deleted files with outputs of background commands */
      files: number;
    }[];
    /** keep: keep sessions in which other people wrote too; erase: erase them as well */
    shared: string[];
    /** The number of items of ended batches that never became messages, whose texts were removed */
    batchItems: number;
  }>;
  /** Active entries, oldest first (order=desc: newest first); with state=all, all entries. `GET /v1/sessions/{key}/transcript` */
  listEntries(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Its state */
    state?: 'active' | 'all' | undefined;
    /** The order of the items */
    order?: 'asc' | 'desc' | undefined;
    /** The number of an earlier transcript; absent: the current one */
    transcript?: number | undefined;
    /** Longer parts are cut after this many characters. They have `omittedChars` and `href`, the path of the whole text. The arguments of a cut tool call are the beginning of their JSON text */
    partChars?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Entry'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** The text of one part of an entry, or a range of it. `GET /v1/sessions/{key}/entries/{id}/parts/{n}` */
  getEntryPart(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    /** The id */
    id: string;
    /** The number of the model call, or of the part of an entry, counted from 1 */
    n: number;
    /** The position of the first character, counted from 0 */
    offset?: number | undefined;
    /** The number of characters; absent: all until the end */
    length?: number | undefined;
  }, options?: CallOptions): Promise<string>;
  /** All subagent runs of the family of a session, with the usage of each. `GET /v1/sessions/{key}/family` */
  getFamily(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
  }, options?: CallOptions): Promise<{
    /** The session at the top of the family */
    rootKey: string;
    /** What the root session used */
    root: {
      /** The tokens so far */
      tokens: {
        /** Input tokens */
        input: number;
        /** Output tokens */
        output: number;
      };
      /** The cost in US dollars; null: not known, because the model has no price */
      costUsd: number | null;
      /** The same in whole micro-dollars, which add up exactly */
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
      /** The beginning of the task */
      task: string;
      /** The id of an agent of the configuration */
      agentId: string;
      /** The number of sessions above it: 1 for a run that the root spawned */
      depth: number;
      /** Its status */
      status: 'running' | 'ok' | 'failed' | 'timedOut' | 'killed';
      /** What happens to the message while the session is busy */
      mode: 'run' | 'session';
      /** When it was created */
      createdAt: string;
      /** When it ended; null: it has not */
      endedAt: string | null;
      /** Its open turn or its last one; null: it has had no turn */
      turnId: string | null;
      /** How its result reached a session above it; null: it has not ended */
      announcement: {
        /** `waiting`: no turn has claimed it yet; `steered`: it joined a running turn; `ownTurn`: it started a turn, alone or with other announcements; `notSent`: it was settled without a turn, because none was requested or the recipient was stopped; `noRecipient`: no session was left to receive it */
        how: 'waiting' | 'steered' | 'ownTurn' | 'notSent' | 'noRecipient';
        /** The id of the message; null: there is no message */
        messageId: string | null;
        /** The session that receives it; null: no session was left */
        sessionKey: string | null;
        /** The status of the message; null: there is no message */
        status: 'waiting' | 'claimed' | 'answered' | 'silent' | 'failed' | 'cancelled' | 'dropped' | null;
        /** The turn that claimed it; null: no turn has claimed it */
        turnId: string | null;
      } | null;
      /** What the run used, without the runs below it */
      own: {
        /** The tokens so far */
        tokens: {
          /** Input tokens */
          input: number;
          /** Output tokens */
          output: number;
        };
        /** The cost in US dollars; null: not known, because the model has no price */
        costUsd: number | null;
        /** The same in whole micro-dollars, which add up exactly */
        costMicros: number | null;
      };
      /** What the run and all runs below it used */
      subtree: {
        /** The tokens so far */
        tokens: {
          /** Input tokens */
          input: number;
          /** Output tokens */
          output: number;
        };
        /** The cost in US dollars; null: not known, because the model has no price */
        costUsd: number | null;
        /** The same in whole micro-dollars, which add up exactly */
        costMicros: number | null;
        /** The number of runs, including this one */
        runs: number;
      };
    })[];
    /** Whether there are more runs than are shown */
    isCapped: boolean;
  }>;
  /** Compact the session as soon as it is idle; with Prefer: wait, answer when that is done. `POST /v1/sessions/{key}/compact` */
  compactSession(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
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
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Compaction'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Undo a compaction and all later compactions: the compacted entries become active again, and newer entries stay. `POST /v1/sessions/{key}/compactions/{id}/restore` */
  restoreCompaction(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** The compaction */
    compaction: Schemas['Compaction'];
    /** The session */
    session: Schemas['Session'];
  }>;
  /** Start a new transcript under the same key; the old one is kept. With abort: true, a running turn is aborted first. `POST /v1/sessions/{key}/reset` */
  resetSession(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    body?: {
      /** True: abort a running turn first */
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
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Transcript'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Create a session with a copy of this one, up to an entry or to its end. `POST /v1/sessions/{key}/fork` */
  forkSession(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    body: {
      /** The session key */
      key: string;
      /** The last entry to copy; absent: copy all entries */
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
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    body: Schemas['SpawnRequest'];
  }, options?: CallOptions): Promise<Schemas['Spawned']>;
  /** The subagents that a session has spawned, newest first. `GET /v1/sessions/{key}/subagents` */
  listSubagents(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Subagent'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** One run of a subagent. `GET /v1/subagents/{runId}` */
  getSubagent(input: {
    /** The id of a run of a subagent */
    runId: string;
  }, options?: CallOptions): Promise<Schemas['Subagent']>;
  /** Stop a subagent and all runs below it; with below: keep, only the subagent. The end is announced to its parent. `POST /v1/subagents/{runId}/kill` */
  killSubagent(input: {
    /** The id of a run of a subagent */
    runId: string;
    body?: {
      /** What happens to the runs below it */
      below?: 'keep' | 'stop';
    };
  }, options?: CallOptions): Promise<{
    /** The number of stopped runs; 0: the run had already ended */
    killed: number;
  }>;
  /** Send a message to a subagent: the message joins the running turn or starts the next turn. `POST /v1/subagents/{runId}/steer` */
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
    /** joins: the task joins the running turn; waits: it is answered by the next turn; again: the subagent had ended and starts again as `runId` */
    how: 'joins' | 'waits' | 'again';
  }>;
  /** Add a system event to the session's next prompt. `POST /v1/sessions/{key}/system-events` */
  queueSystemEvent(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    body: {
      /** The text */
      text: string;
      /** A name that groups system events of the same origin */
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
      /** A name that groups system events of the same origin */
      contextKey: string | null;
      /** Whether its text comes from the operator */
      trusted: boolean;
      /** When it was created */
      createdAt: string;
    };
    /** What happened to the message when it was accepted */
    disposition: 'queued' | 'duplicate';
  }>;
  /** The waiting system events, oldest first; with state=all, also those that were consumed or dropped. `GET /v1/sessions/{key}/system-events` */
  listSystemEvents(input: {
    /** The key of a session; a key without the prefix agent: belongs to the agent main */
    key: string;
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Its state */
    state?: 'queued' | 'all' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['SystemEvent'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Turns, newest first, each with its last steps; with steps=none, without steps and spans. `GET /v1/turns` */
  listTurns(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** The session */
    session?: string | undefined;
    /** Its status */
    status?: readonly ('running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming')[] | undefined;
    /** The kind */
    kind?: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction' | undefined;
    /** The lane: a class of turns with its own concurrency */
    lane?: 'main' | 'subagent' | 'cron' | 'batch' | undefined;
    /** Only items from this time or later */
    since?: string | undefined;
    /** Only turns that started before this time */
    until?: string | undefined;
    /** Only items of this agent */
    agent?: string | undefined;
    /** Only turns of this model, with or without the name of the provider */
    model?: string | undefined;
    /** Only turns that called this tool */
    tool?: string | undefined;
    /** Only turns that ended with this error code */
    code?: string | undefined;
    /** Only turns that ran on this worker last */
    worker?: string | undefined;
    /** Only turns of the items of this batch */
    batch?: string | undefined;
    /** Only turns that took at least this long, in milliseconds */
    minMs?: number | undefined;
    /** Only turns that cost at least this much, in US dollars */
    minCostUsd?: number | undefined;
    /** Only what has this tag, as `key:value` */
    tag?: string | undefined;
    /** An id or its last 6 to 12 digits, a session key, the platform id of a message, or an error code; any other text must be part of the session key */
    q?: string | undefined;
    /** none: leave out steps and spans, the largest part of the answer */
    steps?: 'none' | undefined;
    /** A longer `reply` is cut after this many characters; `GET /v1/turns/{id}` returns all of it */
    textChars?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['ListedTurn'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** The number of turns, up to 10000. `GET /v1/turns/count` */
  countTurns(input?: {
    /** The session */
    session?: string | undefined;
    /** Its status */
    status?: readonly ('running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming')[] | undefined;
    /** The kind */
    kind?: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction' | undefined;
    /** The lane: a class of turns with its own concurrency */
    lane?: 'main' | 'subagent' | 'cron' | 'batch' | undefined;
    /** Only items from this time or later */
    since?: string | undefined;
    /** Only turns that started before this time */
    until?: string | undefined;
    /** Only items of this agent */
    agent?: string | undefined;
    /** Only turns of this model, with or without the name of the provider */
    model?: string | undefined;
    /** Only turns that called this tool */
    tool?: string | undefined;
    /** Only turns that ended with this error code */
    code?: string | undefined;
    /** Only turns that ran on this worker last */
    worker?: string | undefined;
    /** Only turns of the items of this batch */
    batch?: string | undefined;
    /** Only turns that took at least this long, in milliseconds */
    minMs?: number | undefined;
    /** Only turns that cost at least this much, in US dollars */
    minCostUsd?: number | undefined;
    /** Only what has this tag, as `key:value` */
    tag?: string | undefined;
    /** An id or its last 6 to 12 digits, a session key, the platform id of a message, or an error code; any other text must be part of the session key */
    q?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The number of turns, up to a limit */
    count: number;
    /** Whether the limit of the count was reached, so that there may be more */
    isCapped: boolean;
  }>;
  /** One turn with all its steps. `GET /v1/turns/{id}` */
  getTurn(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Turn']>;
  /** What a turn answers: its messages, each with its cause, and the system events in its prompt. `GET /v1/turns/{id}/inputs` */
  getTurnInputs(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** The messages that it answers, in their order */
    messages: ({
      /** The id */
      id: string;
      /** Its number in the session */
      seq: number;
      /** The kind */
      kind: 'message' | 'announcement' | 'cron' | 'heartbeat' | 'followup' | 'batch' | 'compaction';
      /** The text, up to 16,384 characters */
      text: string;
      /** When it was accepted */
      receivedAt: string;
      /** What caused the message; a field is null if it does not apply or its object was deleted */
      cause: {
        /** `request`: the API or a plugin; `cron`: a cron or a heartbeat; `spawn`: a session that spawned this one; `subagent`: the end of a subagent; `session`: a message from another session; `steering`: a message that first joined a running turn; `wait`: the end of a wait for subagents; `batch`: a batch; `retry`: the retry of a failed message */
        kind: 'request' | 'cron' | 'spawn' | 'subagent' | 'session' | 'steering' | 'wait' | 'batch' | 'retry';
        /** The turn that sent the message, spawned the session, or failed; null: no turn is known */
        turnId: string | null;
        /** The session of that turn, or of the subagent that ended */
        sessionKey: string | null;
        /** The message that is repeated or followed */
        messageId: string | null;
        /** The cron */
        cron: {
          /** The id */
          id: string;
          /** The name */
          name: string;
        } | null;
        /** The batch */
        batchId: string | null;
      };
    })[];
    /** The system events in its prompt, oldest first */
    systemEvents: Schemas['SystemEvent'][];
  }>;
  /** The exact model request of one call of a turn. `GET /v1/turns/{id}/requests/{n}` */
  getModelRequest(input: {
    /** The id */
    id: string;
    /** The number of the model call, or of the part of an entry, counted from 1 */
    n: number;
  }, options?: CallOptions): Promise<Schemas['ModelRequest']>;
  /** One tool call with its arguments and its result. `GET /v1/turns/{id}/tools/{callId}` */
  getToolCall(input: {
    /** The id */
    id: string;
    /** The id of a tool call */
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
    /** The arguments of the call, as JSON text; null: they are no longer in the transcript */
    arguments: string | null;
    /** The result of the tool, as the model saw it; null: the call has not ended */
    result: {
      /** The text */
      text: string;
      /** Whether the tool failed */
      isError: boolean;
    } | null;
  }>;
  /** Abort a turn; the waiting messages of its session stay. `POST /v1/turns/{id}/abort` */
  abortTurn(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** Whether the turn was still running */
    aborted: boolean;
  }>;
  /** Retry a turn that did not succeed: its messages are queued again. `POST /v1/turns/{id}/retry` */
  retryTurn(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** The turn whose messages were queued again */
    retried: string;
    /** The messages of the turn */
    messageIds: string[];
  }>;
  /** The things whose ids end with these digits, newest first, among the newest of each kind. `GET /v1/ids` */
  findIds(input?: {
    /** The last 6 to 12 digits of an id */
    endsWith?: string | undefined;
    /** Only ids of these kinds; absent: of all */
    kinds?: readonly ('turn' | 'message' | 'session' | 'delivery' | 'deadLetter' | 'batch' | 'cron' | 'run' | 'bulkAction')[] | undefined;
  }, options?: CallOptions): Promise<{
    /** The things whose ids end so, newest first; more than one: the text is not enough */
    items: {
      /** What has the id */
      kind: 'turn' | 'message' | 'session' | 'delivery' | 'deadLetter' | 'batch' | 'cron' | 'run' | 'bulkAction';
      /** The id */
      id: string;
    }[];
    /** So many of the newest things of each kind were looked at; an older one is found by its whole id only */
    lookedAt: number;
  }>;
  /** Submit a batch, as JSON with items or as application/x-ndjson with an item per line and the settings in the query. `POST /v1/batches` */
  postBatches(input?: {
    /** A name for people */
    name?: string | undefined;
    /** How model calls are made: `live`, `provider-batch` (in provider batches, at half the price and within a day), or `auto` (the way with the lower estimated cost, for each call); absent: `live` */
    via?: 'live' | 'provider-batch' | 'auto' | undefined;
    /** The id of an agent of the configuration */
    agentId?: string | undefined;
    /** A model as provider/model, or an alias; null or absent: as configured */
    model?: string | undefined;
    /** The thinking level of the model; null or absent: what the configuration says */
    thinking?: 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'adaptive' | undefined;
    /** Which sections the system prompt has */
    promptMode?: 'full' | 'minimal' | 'none' | undefined;
    /** What happens to a request that the provider has not answered by the deadline */
    fallback?: 'live' | 'fail' | undefined;
    /** How long the provider keeps cached prompts */
    cache?: 'auto' | '1h' | '5m' | 'off' | undefined;
    /** The maximum number of items in flight */
    concurrency?: string | undefined;
    /** The share of this batch while several batches run */
    weight?: string | undefined;
    /** Run this many items first; the others start if these succeed */
    pilot?: string | undefined;
    /** The batch pauses when its ended items have cost this much; null: no limit */
    maxCostUsd?: string | undefined;
    /** The batch pauses when a larger share of its last 50 ended items, or of its pilot, has failed */
    maxFailurePercent?: string | undefined;
    /** Items that have not started after this time expire */
    deadlineSeconds?: string | undefined;
    /** The URL that receives a signed report when the batch ends */
    deliver?: string | undefined;
    /** Which tools the items have, as JSON text such as {"allow": ["read"]} */
    tools?: string | undefined;
    /** The tags of the items, as JSON text */
    tags?: string | undefined;
    /** The format of the lines; absent: lines may have different formats */
    format?: 'holdfast' | 'anthropic' | 'openai' | undefined;
    /** True: check the batch and estimate its price; nothing is stored */
    dryRun?: boolean | undefined;
    /** A JSON object, or lines of JSON (application/x-ndjson) */
    body?: Schemas['BatchRequest'] | LineBody;
  }, options?: CallOptions): Promise<{
    /** The items, each in the form of a line of an upload */
    items: number;
    /** The tokens so far */
    tokens: {
      /** Input tokens */
      input: number;
      /** Output tokens */
      output: number;
    };
    /** The cost in US dollars; null: not known, because the model has no price */
    costUsd: {
      /** The cost of live calls, of which all but the first read the shared part of the prompt from the cache */
      live: number | null;
      /** The cost of calls in provider batches */
      providerBatch: {
        /** At a cache hit rate of 100 percent */
        at100: number | null;
        /** At a cache hit rate of 90 percent */
        at90: number | null;
        /** At a cache hit rate of 50 percent */
        at50: number | null;
      };
    };
    /** The cheaper value of `via`, at the hit rate that was measured last */
    recommended: 'live' | 'provider-batch';
  } | Schemas['Batch']>;
  /** Batches, newest first. `GET /v1/batches` */
  listBatches(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Only batches in this state */
    status?: 'uploading' | 'running' | 'paused' | 'cancelling' | 'ended' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Batch'][];
    /** The cursor of the next page; null: this is the last page */
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
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
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
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** The results of a batch as lines, in input order, also while it runs. `GET /v1/batches/{id}/results` */
  getBatchResults(input: {
    /** The id */
    id: string;
    /** Only items with a larger number */
    after?: string | undefined;
    /** True: include items that have not ended */
    all?: boolean | undefined;
    /** The format of the lines */
    format?: 'holdfast' | 'openai' | undefined;
  }, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;
  /** Pause a batch: items in flight finish, and no other item starts. `POST /v1/batches/{id}/pause` */
  pauseBatch(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Resume a paused batch; its cost and failure guards start again. `POST /v1/batches/{id}/resume` */
  resumeBatch(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Cancel a batch: items that have not started are cancelled; with running "stop", its running turns are aborted. `POST /v1/batches/{id}/cancel` */
  cancelBatch(input: {
    /** The id */
    id: string;
    body?: {
      /** stop: running turns are aborted; finish: running turns finish */
      running?: 'stop' | 'finish';
      /** Why; stored in the audit log */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Retry failed and expired items: all, those with one error code, or a list. `POST /v1/batches/{id}/retry-failed` */
  retryFailedItems(input: {
    /** The id */
    id: string;
    body?: {
      /** Only items with this error code */
      code?: string;
      /** Only items with these numbers */
      n?: number[];
      /** Why; stored in the audit log */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['Batch']>;
  /** Crons, newest first. `GET /v1/crons` */
  listCrons(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Only items of this agent */
    agent?: string | undefined;
    /** Whether it fires */
    enabled?: boolean | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Cron'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Create a cron. `POST /v1/crons` */
  createCron(input: {
    body: Schemas['CronInput'];
  }, options?: CallOptions): Promise<Schemas['Cron']>;
  /** The next slots, the last fires with their costs, and the expected cost per month of several crons. `GET /v1/crons/summaries` */
  listCronSummaries(input?: {
    /** Only items with these ids */
    ids?: readonly string[] | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: ({
      /** The id of the cron */
      cronId: string;
      /** The cron backs off after failed runs: slots before this time are skipped; null: it does not back off */
      restsUntil: string | null;
      /** The next slots, earliest first; empty if the cron is disabled */
      slots: ({
        /** The slot */
        slotAt: string;
        /** When it fires: the slot plus its stagger */
        runAt: string;
        /** The last clock change of the time zone between the previous slot, or now, and this slot; null: there is none */
        clockChange: {
          /** When the clocks change */
          changedAt: string;
          /** The offset from UTC before the change, in minutes */
          offsetMinutesBefore: number;
          /** The offset from UTC after the change, in minutes */
          offsetMinutesAfter: number;
        } | null;
      })[];
      /** The last 20 fires, newest slot first */
      fires: Schemas['CronFire'][];
      /** The cost of the newest of these fires with a known cost */
      lastCost: {
        /** The cost in US dollars; null: not known, because the model has no price */
        costUsd: number | null;
        /** The same in whole micro-dollars, which add up exactly */
        costMicros: number | null;
      };
      /** A forecast for this calendar month in the cron's time zone, or in UTC */
      month: {
        /** The number of slots in the month; 0 if the cron is disabled */
        slotCount: number;
        /** The cost of these slots in US dollars at the average cost of the last fires; null: no cost is known */
        costUsd: number | null;
        /** The same in whole micro-dollars */
        costMicros: number | null;
      };
    })[];
  }>;
  /** One cron. `GET /v1/crons/{id}` */
  getCron(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Cron']>;
  /** Change a cron; a new schedule starts now and resets the number of failed runs. `PATCH /v1/crons/{id}` */
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
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['CronFire'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** The next slots of a cron as if it were enabled; the request changes nothing. `GET /v1/crons/{id}/next` */
  listNextSlots(input: {
    /** The id */
    id: string;
    /** The number */
    count?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: ({
      /** The slot */
      slotAt: string;
      /** When it fires: the slot plus its stagger */
      runAt: string;
      /** The last clock change of the time zone between the previous slot, or now, and this slot; null: there is none */
      clockChange: {
        /** When the clocks change */
        changedAt: string;
        /** The offset from UTC before the change, in minutes */
        offsetMinutesBefore: number;
        /** The offset from UTC after the change, in minutes */
        offsetMinutesAfter: number;
      } | null;
    })[];
  }>;
  /** Polls, newest first: made or skipped, with their results. `GET /v1/heartbeats` */
  listHeartbeats(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Only items of this agent */
    agent?: string | undefined;
    /** Its status */
    status?: 'claimed' | 'fired' | 'skipped' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Heartbeat'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Poll an agent now, even outside its hours and if nothing has changed. `POST /v1/agents/{agent}/heartbeat` */
  pollAgent(input: {
    /** The id of an agent */
    agent: string;
  }, options?: CallOptions): Promise<Schemas['Heartbeat']>;
  /** Deliveries, newest first. `GET /v1/deliveries` */
  listDeliveries(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** The session */
    session?: string | undefined;
    /** Only deliveries of this turn */
    turn?: string | undefined;
    /** Its status */
    status?: readonly ('pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'expired' | 'discarded')[] | undefined;
    /** Only deliveries to this channel: webhook, or the name of a channel */
    channel?: string | undefined;
    /** The id of a delivery, a turn or a message or its last 6 to 12 digits, or a session key; any other text must be part of the session key or the last error */
    q?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Delivery'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** The number of deliveries by status, and the age of the oldest one. `GET /v1/deliveries/count` */
  countDeliveries(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['DeliveryCount'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** One delivery with its attempts. `GET /v1/deliveries/{id}` */
  getDelivery(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['DeliveryDetails']>;
  /** Resend a delivery that failed, expired, was discarded or has an unknown result. `POST /v1/deliveries/{id}/redrive` */
  redriveDelivery(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Delivery']>;
  /** Discard a delivery. `POST /v1/deliveries/{id}/discard` */
  discardDelivery(input: {
    /** The id */
    id: string;
    body?: {
      /** Why; stored in the audit log */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['Delivery']>;
  /** Dead letters by kind and error, each group with its newest letters. `GET /v1/dead-letters` */
  listDeadLetters(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Its state */
    state?: 'open' | 'redriven' | 'discarded' | undefined;
    /** Only letters with this error code */
    code?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['DeadLetterGroup'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Retry the turns and resend the deliveries of open dead letters: immediately, at most 500 per request; with canary or perSecond, all of them in the background. `POST /v1/dead-letters/redrive` */
  redriveDeadLetters(input: {
    body: {
      /** True: the first object is done alone. If it succeeds, the others follow; if not, the action ends */
      canary?: boolean;
      /** The maximum number of objects per second; null or absent: no limit */
      perSecond?: number;
      /** Why */
      reason?: string;
      /** Only items with these ids */
      ids?: string[];
      /** The kind */
      kind?: 'turn' | 'delivery' | 'announcement';
      /** A stable code for programs */
      code?: string;
    };
  }, options?: CallOptions): Promise<{
    /** The number of redriven objects */
    redriven: number;
    /** The number of objects that were not changed */
    skipped: number;
    /** Open letters that match this request and were not processed; send it again for them. Without those of batch items, which come last and are skipped */
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
  /** Discard open dead letters: immediately, or with perSecond in the background. `POST /v1/dead-letters/discard` */
  discardDeadLetters(input: {
    body: {
      /** True: the first object is done alone. If it succeeds, the others follow; if not, the action ends */
      canary?: boolean;
      /** The maximum number of objects per second; null or absent: no limit */
      perSecond?: number;
      /** Why */
      reason?: string;
      /** Only items with these ids */
      ids?: string[];
      /** The kind */
      kind?: 'turn' | 'delivery' | 'announcement';
      /** A stable code for programs */
      code?: string;
    };
  }, options?: CallOptions): Promise<{
    /** The number of discarded objects */
    discarded: number;
  } | Schemas['BulkAction']>;
  /** Apply an action to many objects: the request selects the objects, and schedulers process them in the background. `POST /v1/bulk-actions` */
  createBulkAction(input: {
    body: {
      /** What to do with each object: `retry` and `abort` are for turns, `cancel` is for waiting messages, `redrive` and `discard` are for deliveries and dead letters */
      action: 'retry' | 'abort' | 'cancel' | 'redrive' | 'discard';
      /** The kind of the objects */
      target: 'turns' | 'messages' | 'deliveries' | 'dead-letters';
      /** The ids; alternatively, send `filter` */
      ids?: string[];
      /** Selects the objects that match when the request arrives. Turns have the filters of `GET /v1/turns`; waiting messages `session`, `status`; deliveries `session`, `status`, `channel`, `q`; open dead letters `kind`, `code` */
      filter?: {
        /** The key of a session */
        session?: string;
        /** Only in one of these states; a single state may be sent as a string */
        status?: 'running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming' | 'waiting' | 'pending' | 'sending' | 'sent' | 'unknown' | 'expired' | 'discarded' | ('running' | 'parked' | 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut' | 'interrupted' | 'resuming' | 'waiting' | 'pending' | 'sending' | 'sent' | 'unknown' | 'expired' | 'discarded')[];
        /** The kind of the turns, or of the dead letters */
        kind?: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction' | 'turn' | 'delivery' | 'announcement';
        /** The lane of the turns */
        lane?: 'main' | 'subagent' | 'cron' | 'batch';
        /** Only turns that started at this time or later */
        since?: string;
        /** Only turns that started before this time */
        until?: string;
        /** The error code of the turns, or of the dead letters */
        code?: string;
        /** The agent of the turns */
        agent?: string;
        /** The model of the turns */
        model?: string;
        /** Only turns that called this tool */
        tool?: string;
        /** The worker of the turns */
        worker?: string;
        /** Only turns of the items of this batch */
        batch?: string;
        /** Only turns that took at least this long, in milliseconds */
        minMs?: number;
        /** Only turns that cost at least this much, in US dollars */
        minCostUsd?: number;
        /** Only what has this tag, as `key:value` */
        tag?: string;
        /** An id, a session key, the platform id of a message or an error code; any other text must be part of the session key */
        q?: string;
        /** The channel of the deliveries: webhook, or the name of a channel */
        channel?: string;
      };
      /** True: the first object is done alone. If it succeeds, the others follow; if not, the action ends */
      canary?: boolean;
      /** The maximum number of objects per second; null or absent: no limit */
      perSecond?: number;
      /** Why */
      reason?: string;
      /** True: count the objects and change nothing */
      dryRun?: boolean;
    };
  }, options?: CallOptions): Promise<{
    /** The number of objects */
    total: number;
    /** The ids; alternatively, send `filter` */
    ids: string[];
  } | Schemas['BulkAction']>;
  /** Bulk actions, newest first. `GET /v1/bulk-actions` */
  listBulkActions(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['BulkAction'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** One bulk action with its progress. `GET /v1/bulk-actions/{id}` */
  getBulkAction(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['BulkAction']>;
  /** The objects of a bulk action, in the order of execution, each with its result. `GET /v1/bulk-actions/{id}/items` */
  listBulkItems(input: {
    /** The id */
    id: string;
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Its status */
    status?: 'pending' | 'done' | 'skipped' | 'failed' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['BulkItem'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Cancel a bulk action: objects in progress finish, and completed changes stay. `POST /v1/bulk-actions/{id}/cancel` */
  cancelBulkAction(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['BulkAction']>;
  /** Usage and cost by minute, hour or day in UTC, oldest first. `GET /v1/usage` */
  getUsage(input?: {
    /** The length of an interval; absent: day */
    by?: 'minute' | 'hour' | 'day' | undefined;
    /** Only intervals that start at this time or later; absent: an hour ago for minutes, a day ago for hours, 30 days ago for days */
    from?: string | undefined;
    /** Only intervals that start before this time; absent: now */
    to?: string | undefined;
    /** What to group by; in the answer, the name of the group; null: no groups */
    group?: 'agent' | 'model' | 'lane' | 'tier' | 'kind' | undefined;
    /** Only what has this tag, as `key:value` */
    tag?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: {
      /** When the interval starts */
      startsAt: string;
      /** What to group by; in the answer, the name of the group; null: no groups */
      group: string | null;
      /** Turns that ended */
      turns: number;
      /** Turns that failed or timed out */
      failedTurns: number;
      /** Model calls that ended */
      calls: number;
      /** Model calls that failed */
      failures: number;
      /** Model calls with an unknown cost, because their model has no price */
      unpricedCalls: number;
      /** Input tokens that were not in the cache */
      inputTokens: number;
      /** Output tokens */
      outputTokens: number;
      /** Input tokens read from the provider's cache */
      cacheReadTokens: number;
      /** Input tokens written to the provider's cache */
      cacheWriteTokens: number;
      /** The part of `cacheWriteTokens` that the provider keeps for an hour */
      cacheWrite1hTokens: number;
      /** The cost in US dollars; null: not known, because the model has no price */
      costUsd: number | null;
      /** The same in whole micro-dollars, which add up exactly */
      costMicros: number | null;
      /** The total time that turns waited before they started, in milliseconds */
      waitMs: number;
      /** The total duration of the turns, in milliseconds */
      turnMs: number;
      /** The total duration of the calls, in milliseconds */
      callMs: number;
      /** The total time from the start of each call to the first part of its answer, in milliseconds */
      firstChunkMs: number;
      /** Whether a part was answered by the scripted model, which costs nothing */
      simulated: boolean;
    }[];
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
  }>;
  /** The most expensive turns, sessions and crons among the newest 10,000 turns of a time span. `GET /v1/usage/top` */
  getTopCosts(input?: {
    /** Only turns that started at this time or later; absent: a day ago */
    from?: string | undefined;
    /** The number of turns, of sessions and of crons; absent: 10; at most 100 */
    limit?: number | undefined;
    /** Only what has this tag, as `key:value` */
    tag?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The turns with the highest costs */
    turns: {
      /** The id */
      id: string;
      /** The key of the session */
      sessionKey: string;
      /** The kind */
      kind: 'message' | 'cron' | 'heartbeat' | 'announce' | 'followup' | 'batch' | 'compaction';
      /** A model as provider/model, or an alias; null or absent: as configured */
      model: string;
      /** When it began */
      startedAt: string;
      /** The cost in US dollars; null: not known, because the model has no price */
      costUsd: number;
      /** The same in whole micro-dollars, which add up exactly */
      costMicros: number;
    }[];
    /** The sessions whose turns cost the most together */
    sessions: {
      /** The key of the session */
      sessionKey: string;
      /** The number of its turns with a cost */
      turns: number;
      /** The cost in US dollars; null: not known, because the model has no price */
      costUsd: number;
      /** The same in whole micro-dollars, which add up exactly */
      costMicros: number;
    }[];
    /** The crons whose turns cost the most together; deleted ones are left out */
    crons: {
      /** The id */
      id: string;
      /** The name */
      name: string;
      /** The number of its turns with a cost */
      turns: number;
      /** The cost in US dollars; null: not known, because the model has no price */
      costUsd: number;
      /** The same in whole micro-dollars, which add up exactly */
      costMicros: number;
    }[];
    /** The number of turns that were compared */
    turnsRead: number;
    /** Whether there are older turns in the time span, which were not compared */
    isCapped: boolean;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
  }>;
  /** The price table in use. `GET /v1/prices` */
  getPrices(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The version of the price table */
    version: string;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** The rows of the price table; if several rows match a model and a day, the first one applies */
    rows: ({
      /** provider/model, in which * matches any text */
      model: string;
      /** The first day on which it is in effect; null: it has no beginning */
      from: string | null;
      /** The last day on which it is in effect; null: it has no end */
      to: string | null;
      /** Dollars per million input tokens that were not in the cache */
      inputPerMTok: number;
      /** Dollars per million tokens of the answer */
      outputPerMTok: number;
      /** Dollars per million tokens read from the cache */
      cacheReadPerMTok: number;
      /** Dollars per million tokens written to the cache for five minutes */
      cacheWrite5mPerMTok: number;
      /** Dollars per million tokens written to the cache for an hour */
      cacheWrite1hPerMTok: number;
      /** The prices for all tokens of a call with a long prompt; null: the prices do not depend on the length */
      longPrompt: {
        /** These prices apply to prompts longer than this */
        overTokens: number;
        /** Dollars per million input tokens that were not in the cache */
        inputPerMTok: number;
        /** Dollars per million tokens of the answer */
        outputPerMTok: number;
        /** Dollars per million tokens read from the cache */
        cacheReadPerMTok: number;
        /** Dollars per million tokens written to the cache for five minutes */
        cacheWrite5mPerMTok: number;
        /** Dollars per million tokens written to the cache for an hour */
        cacheWrite1hPerMTok: number;
      } | null;
      /** The price of a call in a provider batch, in percent of these prices */
      batchPercent: number;
      /** The source of the prices */
      source: string;
      /** The day of the last comparison of the prices with their source; null: not known */
      checkedAt: string | null;
    })[];
  }>;
  /** The active budgets with the spent and reserved amounts of their current windows, oldest first. `GET /v1/budgets` */
  listBudgets(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Budget'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: null;
  }>;
  /** Create a budget; it counts calls that start from now on. `POST /v1/budgets` */
  createBudget(input: {
    body: {
      /** What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>` */
      scope: string;
      /** The length of a window */
      per: 'hour' | 'day' | 'month' | 'total';
      /** The time zone in which hours, days and months begin */
      zone?: string;
      /** The limit in US dollars */
      limitUsd: number;
      /** The share of the limit, in percent, at which `budget.warned` is sent */
      warnPercent?: number;
      /** What happens to a turn whose next call exceeds the budget: `pause` parks the turn, `fail` ends it */
      action?: 'pause' | 'fail';
      /** True: each call reserves the most that it can cost */
      strict?: boolean;
    };
  }, options?: CallOptions): Promise<Schemas['Budget']>;
  /** Change a budget; turns that wait for it are checked again. `PATCH /v1/budgets/{id}` */
  updateBudget(input: {
    /** The id */
    id: string;
    body?: {
      /** The limit in US dollars */
      limitUsd?: number;
      /** The share of the limit, in percent, at which `budget.warned` is sent */
      warnPercent?: number;
      /** What happens to a turn whose next call exceeds the budget: `pause` parks the turn, `fail` ends it */
      action?: 'pause' | 'fail';
      /** True: each call reserves the most that it can cost */
      strict?: boolean;
    };
  }, options?: CallOptions): Promise<Schemas['Budget']>;
  /** Delete a budget; turns that wait for it resume. `DELETE /v1/budgets/{id}` */
  deleteBudget(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** Always true */
    deleted: true;
  }>;
  /** Batches that were submitted to the provider, newest first. `GET /v1/provider-batches` */
  listProviderBatches(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Its status */
    status?: 'open' | 'submitting' | 'unknown' | 'submitted' | 'canceling' | 'ended' | 'read' | 'lost' | 'failed' | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: ({
      /** The id */
      id: string;
      /** The provider's id of the batch; null: it is not known, or there is none */
      providerId: string | null;
      /** Its status */
      status: 'open' | 'submitting' | 'unknown' | 'submitted' | 'canceling' | 'ended' | 'read' | 'lost' | 'failed';
      /** Whether it was found in the provider's list of batches, because the answer to the submission was lost */
      isAdopted: boolean;
      /** The number of requests */
      requestCount: number;
      /** The provider's counts of the requests by status; null: it has not been asked yet */
      counts: Record<string, number> | null;
      /** Paid answers that no turn uses; null: none */
      wasted: {
        /** The number of answers */
        answers: number;
        /** Input tokens that were not in the cache */
        inputTokens: number;
        /** Output tokens */
        outputTokens: number;
        /** Input tokens read from the provider's cache */
        cacheReadTokens: number;
        /** Input tokens written to the provider's cache */
        cacheWriteTokens: number;
      } | null;
      /** The cost of answers that were not used, in US dollars */
      wastedUsd: number | null;
      /** The last error; null: none */
      error: string | null;
      /** When it was created */
      createdAt: string;
      /** When the provider accepted it; null: not known */
      submittedAt: string | null;
      /** When no further attempts to deliver are made */
      expiresAt: string | null;
      /** When it ended; null: it has not */
      endedAt: string | null;
    })[];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Abandon a submission: it is no longer polled, and its requests are submitted again. `POST /v1/provider-batches/{id}/forget` */
  forgetProviderBatch(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<{
    /** The id */
    id: string;
    /** The provider's id of the batch; null: it is not known, or there is none */
    providerId: string | null;
    /** Its status */
    status: 'open' | 'submitting' | 'unknown' | 'submitted' | 'canceling' | 'ended' | 'read' | 'lost' | 'failed';
    /** Whether it was found in the provider's list of batches, because the answer to the submission was lost */
    isAdopted: boolean;
    /** The number of requests */
    requestCount: number;
    /** The number of items in each state */
    counts: Record<string, number> | null;
    /** Paid answers that no turn uses; null: none */
    wasted: {
      /** The number of answers */
      answers: number;
      /** Input tokens that were not in the cache */
      inputTokens: number;
      /** Output tokens */
      outputTokens: number;
      /** Input tokens read from the provider's cache */
      cacheReadTokens: number;
      /** Input tokens written to the provider's cache */
      cacheWriteTokens: number;
    } | null;
    /** The cost of answers that were not used, in US dollars */
    wastedUsd: number | null;
    /** The error; null: none */
    error: string | null;
    /** When it was created */
    createdAt: string;
    /** When it was submitted to the provider */
    submittedAt: string | null;
    /** When no further attempts to deliver are made */
    expiresAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
  }>;
  /** Sign a browser in with an API key or a single-use code; sets a cookie. `POST /v1/auth/sessions` */
  signIn(input: {
    body: {
      /** An API key */
      key?: string;
      /** A code of `POST /v1/auth/codes`; it can be used once */
      code?: string;
    };
  }, options?: CallOptions): Promise<undefined>;
  /** Who is signed in, and when the sign-in expires. `GET /v1/auth/sessions/current` */
  getSignIn(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** Who sent the request: `admin`, or `key:<name>` */
    principal: string;
    /** Who speaks */
    role: 'viewer' | 'operator' | 'admin';
    /** When the sign-in of the browser expires; null: the request was sent with a key, which needs no sign-in */
    expiresAt: string | null;
  }>;
  /** Sign out. `DELETE /v1/auth/sessions/current` */
  signOut(input?: {
    /** True: sign out every browser that signed in with the same key */
    all?: boolean | undefined;
  }, options?: CallOptions): Promise<undefined>;
  /** Create a single-use code that signs a browser in with the key of this request; it expires after a minute. `POST /v1/auth/codes` */
  createSignInCode(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The code, valid for one sign-in; null: the request was a retry, and codes are not stored */
    code: string | null;
    /** When it expires */
    expiresAt: string;
  }>;
  /** API keys that were created through the API, newest first, including revoked keys. `GET /v1/keys` */
  listKeys(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: {
      /** The id */
      id: string;
      /** The name */
      name: string;
      /** `viewer` can read, `operator` can also change what runs, `admin` can also manage keys */
      role: 'viewer' | 'operator' | 'admin';
      /** The API key that submitted it */
      createdBy: string;
      /** When it was created */
      createdAt: string;
      /** When it expires; null: never */
      expiresAt: string | null;
      /** When it was last used, exact to a minute; null: never */
      lastUsedAt: string | null;
      /** When it was revoked; null: it was not revoked */
      revokedAt: string | null;
    }[];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Create an API key. Only this answer contains the key. `POST /v1/keys` */
  createKey(input: {
    body: {
      /** The name of its owner in budgets (`key:<name>`) and in the audit log; unique among valid keys */
      name: string;
      /** `viewer` can read, `operator` can also change what runs, `admin` can also manage keys */
      role: 'viewer' | 'operator' | 'admin';
      /** When it expires; null or absent: never */
      expiresAt?: string;
    };
  }, options?: CallOptions): Promise<{
    /** The id */
    id: string;
    /** The name of its owner in budgets (`key:<name>`) and in the audit log; unique among valid keys */
    name: string;
    /** `viewer` can read, `operator` can also change what runs, `admin` can also manage keys */
    role: 'viewer' | 'operator' | 'admin';
    /** The API key that submitted it */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When it expires; null or absent: never */
    expiresAt: string | null;
    /** When it was last used, exact to a minute; null: never */
    lastUsedAt: string | null;
    /** When it was revoked; null: it was not revoked */
    revokedAt: string | null;
    /** The key. Store it: it is not shown again. null: the request was a retry, and keys are not stored */
    key: string | null;
  }>;
  /** Revoke a key and sign out every browser that signed in with it; takes effect in all processes within a second. `DELETE /v1/keys/{id}` */
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
    /** The API key that submitted it */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When no further attempts to deliver are made */
    expiresAt: string | null;
    /** When it was last used, exact to a minute; null: never */
    lastUsedAt: string | null;
    /** When it was revoked; null: it was not revoked */
    revokedAt: string | null;
  }>;
  /** The audit log: changes through the API, newest first, without messages and system events. `GET /v1/audit` */
  listAudit(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** Who sent it: `admin`, or `key:<name>` */
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
      /** Who sent it: `admin`, or `key:<name>` */
      principal: string;
      /** The role of the key */
      role: 'viewer' | 'operator' | 'admin';
      /** The name of the operation in this document */
      action: string;
      /** The path of the request, with the id of the object that it created */
      target: string;
      /** The reason in the request; null: none */
      reason: string | null;
      /** The id of the request */
      requestId: string;
      /** `ok`, or the code of the problem; null: the request has not ended, or the process ended during it */
      outcome: string | null;
    }[];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** All waiting messages, oldest first, with the reason why they wait. `GET /v1/waiting` */
  listWaiting(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
    /** The lane: a class of turns with its own concurrency */
    lane?: 'main' | 'subagent' | 'cron' | 'batch' | undefined;
    /** The session */
    session?: string | undefined;
    /** Only messages of this batch */
    batch?: string | undefined;
    /** A longer `text` is cut after this many characters; `GET /v1/messages/{id}` returns all of it */
    textChars?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['WaitingMessage'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
    /** The number of waiting messages, up to 10,000 */
    count: number;
    /** Whether the limit of the count was reached, so that there may be more */
    isCapped: boolean;
  }>;
  /** The processes of the service, newest first. `GET /v1/workers` */
  listWorkers(input?: {
    /** The maximum number of items on a page */
    limit?: number | undefined;
    /** The `nextCursor` of the previous page */
    cursor?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Worker'][];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: string | null;
  }>;
  /** Drain a process: it notices within 3 s, finishes or releases its turns, and ends. `POST /v1/workers/{id}/drain` */
  drainWorker(input: {
    /** The id */
    id: string;
  }, options?: CallOptions): Promise<Schemas['Worker']>;
  /** The pauses, oldest first. `GET /v1/pauses` */
  listPauses(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['Pause'][];
  }>;
  /** Pause a lane, an agent, a session, a combination of them, or everything. Running turns finish. `POST /v1/pause` */
  pause(input?: {
    body?: {
      /** Only sessions of this lane */
      lane?: 'main' | 'subagent' | 'cron' | 'batch';
      /** Only sessions of this agent */
      agent?: string;
      /** Only this session */
      session?: string;
      /** Why; shown in the `why` of waiting messages and stored in the audit log */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['Pause']>;
  /** End the pause with exactly this lane, agent and session; without any of them, end all pauses. `POST /v1/resume` */
  resume(input?: {
    body?: {
      /** The lane of the pause */
      lane?: 'main' | 'subagent' | 'cron' | 'batch';
      /** The agent of the pause */
      agent?: string;
      /** The session of the pause */
      session?: string;
      /** Why; stored in the audit log */
      reason?: string;
    };
  }, options?: CallOptions): Promise<{
    /** The pauses that this request ended; empty: there was no pause with this scope */
    ended: Schemas['Pause'][];
    /** The pauses that remain */
    remaining: Schemas['Pause'][];
  }>;
  /** The models that no worker calls until a given time, because their provider has asked for that or they do not answer. `GET /v1/model-blocks` */
  listModelBlocks(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The items of the page */
    items: Schemas['ModelBlock'][];
  }>;
  /** Lift the block of a model; without one, all blocks. The turns that wait for it resume. `POST /v1/models/unblock` */
  unblockModels(input?: {
    body?: {
      /** The model, as provider/model; absent: all models */
      model?: string;
      /** Why; stored in the audit log */
      reason?: string;
    };
  }, options?: CallOptions): Promise<{
    /** The blocks that this request lifted; empty: there was none */
    lifted: Schemas['ModelBlock'][];
    /** The blocks that remain */
    remaining: Schemas['ModelBlock'][];
  }>;
  /** The agents with a summary of their settings, their crons and their sessions. `GET /v1/agents` */
  listAgents(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The agents in the order of the configuration */
    items: ({
      /** The id */
      id: string;
      /** The model as provider/model */
      model: string;
      /** Models to use, in this order, when the model is unavailable */
      fallbacks: string[];
      /** The thinking level of the model; null or absent: what the configuration says */
      thinking: string;
      /** Which sections the system prompt has */
      promptMode: string;
      /** The folder with its files */
      workspace: string;
      /** The policies for its tools: a tool must be allowed by every policy and denied by none */
      toolPolicies: {
        /** Names of tools; absent: all tools */
        allow?: string[];
        /** Names of tools */
        deny: string[];
      }[];
      /** When the agent is polled */
      heartbeat: {
        /** The interval in milliseconds; 0: never */
        everyMs: number;
        /** Where alerts go: none, last or a channel */
        target: string;
        /** The hours in which it is polled; null: at any time */
        activeHours: {
          /** The first minute, as HH:MM */
          start: string;
          /** The minute at which they end, as HH:MM */
          end: string;
          /** user, local, or an IANA time zone */
          timezone: string;
        } | null;
        /** What must have changed since the last poll for the agent to be called; null: it is called at each poll */
        gate: 'command' | 'url' | 'file' | null;
      };
      /** The number of its crons */
      crons: {
        /** All crons */
        total: number;
        /** Enabled crons */
        enabled: number;
      };
      /** The number of its sessions among the 10,000 newest, without those of batches */
      sessions: {
        /** The number */
        count: number;
        /** Whether older sessions were not counted */
        isCapped: boolean;
      };
    })[];
    /** The cursor of the next page; null: this is the last page */
    nextCursor: null;
  }>;
  /** All settings of this process with their sources, and the versions that it runs on. Secrets are shown as fingerprints. `GET /v1/config` */
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
      /** The platform of the channel */
      provider: string;
      /** The name */
      name: string;
      /** True: the built-in scripted model answers, because no provider key is configured */
      isScripted: boolean;
    };
  }>;
  /** Reload the configuration in the process that answers, and apply the settings that can change while it runs. `PATCH /v1/config` */
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
      /** False for budgets when the file no longer has `budgets`: they stay in force, and `budgets: []` ends them */
      hasEffect: boolean;
    }[];
  }>;
  /** The differences between the configuration in use and the current file and environment. `GET /v1/config/diff` */
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
      /** False for budgets when the file no longer has `budgets`: they stay in force, and `budgets: []` ends them */
      hasEffect: boolean;
    }[];
  }>;
  /** Waiting messages, running turns and costs, with the last 60 minutes; at most a second old. `GET /v1/overview` */
  getOverview(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The current time of the database */
    now: string;
    /** Waiting messages; the count stops at 10,000 */
    waiting: {
      /** The number */
      count: number;
      /** Whether the limit of the count was reached, so that there may be more */
      isCapped: boolean;
      /** When the oldest waiting message arrived; null: none waits */
      oldestAt: string | null;
    };
    /** Turns that wait without a slot */
    parked: number;
    /** Turns that are running on a worker */
    running: number;
    /** The slots for turns */
    slots: {
      /** The number of jobs that it is running */
      inUse: number;
      /** Slots of all workers that are neither draining nor lost */
      total: number;
    };
    /** Turns that ended per minute in the last five complete minutes */
    turnsPerMinute: number;
    /** The share of the turns of the last hour that neither failed nor timed out; null: no turn ended */
    successRate: number | null;
    /** The 95th percentile of the time to the first part of an answer, in milliseconds, for calls of the newest 1,000 turns of the last hour; null: there were none */
    firstChunkP95Ms: number | null;
    /** The 95th percentile of the duration of these turns, in milliseconds; null: there were none */
    turnP95Ms: number | null;
    /** The share of the input tokens of the last hour that was read from the cache; null: there were none */
    cacheHitRatio: number | null;
    /** The cost of calls since midnight UTC, in US dollars */
    spentTodayUsd: number;
    /** The budget with the largest used share; null: there is no budget */
    budget: {
      /** The id */
      id: string;
      /** The name */
      name: string;
      /** The limit in US dollars */
      limitUsd: number;
      /** What is spent, in US dollars */
      spentUsd: number;
      /** The spent and reserved amount, in percent of the limit */
      usedPercent: number;
    } | null;
    /** Whether a part was answered by the scripted model, which costs nothing */
    simulated: boolean;
    /** The last 60 minutes, oldest first; each column has one value per minute */
    points: {
      /** When each minute starts; the last one is not complete */
      startsAt: string[];
      /** The most messages that waited at once, up to 10,000, as the schedulers saw it every 10 seconds; null: no scheduler ran */
      waiting: (number | null)[];
      /** The most turns that ran at once, as the schedulers saw it; null: no scheduler ran */
      running: (number | null)[];
      /** Accepted messages */
      arrivals: number[];
      /** Turns that ended */
      ends: number[];
      /** Turns that failed or timed out */
      failures: number[];
      /** How long the oldest waiting message has waited, in milliseconds; null: none waits */
      oldestWaitMs: number[];
      /** The 95th percentile of the time to the first part of an answer, in milliseconds, for calls of those of the newest 1,000 turns that ended in the minute; null: there were none */
      firstChunkP95Ms: (number | null)[];
      /** The 95th percentile of the duration of those of the newest 1,000 turns that ended in the minute, in milliseconds; null: there were none */
      turnP95Ms: (number | null)[];
      /** Input tokens that were not in the cache */
      inputTokens: number[];
      /** Output tokens */
      outputTokens: number[];
      /** Input tokens read from the provider's cache */
      cacheReadTokens: number[];
      /** Input tokens written to the provider's cache */
      cacheWriteTokens: number[];
      /** The cost of the calls, in US dollars */
      costUsd: number[];
    };
    /** The slots of its lanes and how many are in use, by lane; empty without the role worker */
    lanes: ({
      /** The lane: a class of turns with its own concurrency */
      lane: 'main' | 'subagent' | 'cron' | 'batch';
      /** Sessions that have work but no worker, without those whose turn is parked */
      depth: number;
      /** Sessions whose turn is parked */
      parked: number;
      /** When the oldest waiting message arrived; null: none waits */
      oldestAt: string | null;
      /** The session of the message that waits longest, and why the message waits; null: none waits */
      oldest: {
        /** The key of the session */
        sessionKey: string;
        /** Why the message waits */
        why: {
          /** A stable code for programs */
          code: string;
          /** The text */
          text: string;
          /** Only items from this time or later */
          since: string;
          /** When it ends at the latest; null: not known */
          until: string | null;
          /** The name of what it waits for; null: it has no name */
          by: string | null;
        };
      } | null;
      /** Turns that are running on a worker */
      running: number;
      /** The number of turns that all workers together can run at once */
      slots: number;
    })[];
  }>;
  /** Problems that need an operator, errors first; at most a second old. `GET /v1/attention` */
  getAttention(input?: Record<string, never>, options?: CallOptions): Promise<{
    /** The problems that need an operator: open errors, open warnings, then what an operator has acknowledged or snoozed; empty if there are none */
    items: Schemas['AttentionEntry'][];
  }>;
  /** Acknowledge a problem: until it ends, it is not counted and stands last. `POST /v1/attention/{attentionId}/acknowledge` */
  acknowledgeAttention(input: {
    /** The id of a problem that needs attention */
    attentionId: string;
    body?: {
      /** Why; shown with the problem and stored in the audit log */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['AttentionEntry']>;
  /** Snooze a problem: for so many seconds, it is not counted and stands last; 0 ends what was decided before. `POST /v1/attention/{attentionId}/snooze` */
  snoozeAttention(input: {
    /** The id of a problem that needs attention */
    attentionId: string;
    body?: {
      /** For how long; default: 3600. 0: it is open again */
      seconds?: number;
      /** Why; shown with the problem and stored in the audit log */
      reason?: string;
    };
  }, options?: CallOptions): Promise<Schemas['AttentionEntry']>;
  /** Counts of sessions, messages, turns and deliveries, and of what needs attention. `GET /v1/stats` */
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
  listSessions: Schemas['SessionDetails'];
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
    /** The provider's id of the batch; null: it is not known, or there is none */
    providerId: string | null;
    /** Its status */
    status: 'open' | 'submitting' | 'unknown' | 'submitted' | 'canceling' | 'ended' | 'read' | 'lost' | 'failed';
    /** Whether it was found in the provider's list of batches, because the answer to the submission was lost */
    isAdopted: boolean;
    /** The number of requests */
    requestCount: number;
    /** The provider's counts of the requests by status; null: it has not been asked yet */
    counts: Record<string, number> | null;
    /** Paid answers that no turn uses; null: none */
    wasted: {
      /** The number of answers */
      answers: number;
      /** Input tokens that were not in the cache */
      inputTokens: number;
      /** Output tokens */
      outputTokens: number;
      /** Input tokens read from the provider's cache */
      cacheReadTokens: number;
      /** Input tokens written to the provider's cache */
      cacheWriteTokens: number;
    } | null;
    /** The cost of answers that were not used, in US dollars */
    wastedUsd: number | null;
    /** The last error; null: none */
    error: string | null;
    /** When it was created */
    createdAt: string;
    /** When the provider accepted it; null: not known */
    submittedAt: string | null;
    /** When no further attempts to deliver are made */
    expiresAt: string | null;
    /** When it ended; null: it has not */
    endedAt: string | null;
  };
  listKeys: {
    /** The id */
    id: string;
    /** The name */
    name: string;
    /** `viewer` can read, `operator` can also change what runs, `admin` can also manage keys */
    role: 'viewer' | 'operator' | 'admin';
    /** The API key that submitted it */
    createdBy: string;
    /** When it was created */
    createdAt: string;
    /** When it expires; null: never */
    expiresAt: string | null;
    /** When it was last used, exact to a minute; null: never */
    lastUsedAt: string | null;
    /** When it was revoked; null: it was not revoked */
    revokedAt: string | null;
  };
  listAudit: {
    /** The id */
    id: string;
    /** When the request began */
    at: string;
    /** Who sent it: `admin`, or `key:<name>` */
    principal: string;
    /** The role of the key */
    role: 'viewer' | 'operator' | 'admin';
    /** The name of the operation in this document */
    action: string;
    /** The path of the request, with the id of the object that it created */
    target: string;
    /** The reason in the request; null: none */
    reason: string | null;
    /** The id of the request */
    requestId: string;
    /** `ok`, or the code of the problem; null: the request has not ended, or the process ended during it */
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
