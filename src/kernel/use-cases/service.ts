// What the use cases of a process share. It is built once per process, because it holds what
// callers share: the memory of known sessions, the statements that carry the rows of many messages,
// and the count of what waits.
import type { Publish } from '../queue/after-commit.ts';
import { livePriceBook, type Config } from '../../config.ts';
import type { MessageId, SessionKey } from '../../core/ids.ts';
import type { BatchInput, InboundMessage } from '../../core/inbound.ts';
import type { PriceBook } from '../../core/prices.ts';
import { newId } from '../../ids.ts';
import type { Acceptance } from '../inbox/accept-messages.ts';
import type { Database } from '../../database/database.ts';
import type { EffectParts, Effects } from '../effects/turn-effects.ts';
import { createInbox, type Inbox } from '../inbox/inbox.ts';
import type { NewInput } from '../inbox/new-input.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { countWaiting } from '../views/count-waiting.ts';
import { createPublish, type PublishParts } from '../queue/rings.ts';
import { confineRoots } from '../sessions/confinement.ts';
import type { Model } from '../../model/model.ts';

/** A chat command of a feature: a message that begins with its word. */
export interface ChatWord {
  /** With the slash, in lower case. */
  readonly word: string;
  /** Its line of `/help`. */
  readonly help: string;
  /**
   * True for a sender who may give it; the message of another sender is ordinary text. Asked only
   * about what the sender has written.
   */
  readonly mayGive: (config: Config, message: InboundMessage) => boolean;
  /**
   * Carries it out, and resolves with what its sender reads. A message that is sent again carries
   * it out again.
   */
  readonly carryOut: (service: Service, message: InboundMessage) => Promise<string>;
}

export interface Service {
  config: Config;
  database: Database;
  effects: Effects;
  /** The chat commands of features. */
  chat: readonly ChatWord[];
  views: ViewDatabase;
  /** What GET requests read from. */
  reads: ViewDatabase;
  /**
   * True for requests of callers that see a part of the service: what they send is data, and the
   * agents of the sessions that they send to reach only what comes from these sessions (G44).
   */
  isConfined: boolean;
  /** True for requests of a key whose messages in flight are limited. */
  countsMessages: boolean;
  inbox: Inbox;
  waiting: WaitingTotal;
  publish: Publish;
  /** What model calls cost by the configuration. */
  prices: PriceBook;
}

/**
 * Makes it. Each use case is a function of a file of this folder, which takes it as its first
 * argument.
 */
export function createService(
  parts: { config: Config; chat: readonly ChatWord[] } & EffectParts & PublishParts,
): Service {
  const { config, database, effects, chat } = parts;
  const views = database.views;
  return {
    config,
    database,
    effects,
    chat,
    views,
    reads: database.reads,
    isConfined: false,
    countsMessages: false,
    inbox: createInbox(database),
    waiting: createWaitingTotal(views),
    publish: createPublish(parts),
    prices: livePriceBook(config),
  };
}

/** Before a caller that sees a part of the service gives words to the sessions of these keys or roots. */
export async function confineSessions({ database, isConfined }: Service, keys: readonly string[]): Promise<void> {
  if (isConfined && keys.length > 0) await confineRoots(database, keys);
}

const COUNTED_EVERY_MS = 1_000;

/**
 * Stores an input of a session: at once, in the queue mode of the session, unless it says
 * otherwise. Rejects with `SessionErasedError`.
 */
export async function acceptInput(
  { config, inbox, publish }: Service,
  input: Pick<NewInput, 'sessionId' | 'kind' | 'body' | 'route'> & Partial<NewInput>,
): Promise<Acceptance> {
  const common = { messageId: newId<MessageId>(), mode: null, platformKey: null, idempotency: null };
  const { waitingPerSession: waitingMax } = config.limits;
  return publish(await inbox.accept({ ...common, waitingMax, ...input }));
}

/**
 * About how many messages wait in all sessions: exact enough to refuse more before there are far
 * too many (G27).
 */
interface WaitingTotal {
  /** The last count and the messages added since. */
  total(): number;
  add(messages: number): void;
}

function createWaitingTotal(views: ViewDatabase): WaitingTotal {
  let total = 0;
  let countedAt = Number.NEGATIVE_INFINITY;
  function countAgain(): void {
    countedAt = performance.now();
    countWaiting(views).then(
      (count) => (total = count),
      // The database is unavailable: the statement that stores something reports that.
      () => undefined,
    );
  }
  return {
    total() {
      if (performance.now() - countedAt >= COUNTED_EVERY_MS) countAgain();
      return total;
    },
    add(messages) {
      total += messages;
    },
  };
}

/** An item of a batch before it is a message. */
export interface BatchItem {
  sessionKey: SessionKey;
  input: BatchInput;
}

/** Tokens are estimates. */
export interface MeasuredPrompt {
  promptTokens: number;
  /** Its beginning, which all inputs like it share. */
  prefixTokens: number;
  /** `provider/model`. */
  model: string;
}

/**
 * Measures the prompt of an item, for an API, which knows no turns. Throws `TurnFailed` when it
 * cannot be assembled.
 */
export type MeasurePrompt = (item: BatchItem) => Promise<MeasuredPrompt>;

/** The model as workers ask it, for an API. */
export type OpenModel = () => Promise<Model>;
