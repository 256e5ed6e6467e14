// Views: the decisions how the rows of a session become a request, stored with those rows. With
// them a request can be derived again, byte for byte, long after it was sent; without an entry in a
// view, rows are shown as they are. Everything in a view is plain JSON; `seq` is always the number
// of an entry of the session; a `sha256` names a snapshot (table `snapshots`).
import type { SentAlert } from './heartbeat.ts';
import type { ProviderFamily } from '../history/provider-family.ts';
import type { CallerNames } from './input-options.ts';
import type { HarnessReason } from './harness-selection.ts';
import type { Sampling, ThinkingSetting, RequestTraits, Effort } from './model-request.ts';
import type { InputSettings } from '../model/stream/replace-text.ts';
import type { ThinkingRequest } from './thinking-request.ts';

/**
 * The facts that the requests of a session's transcript have fixed, so that later ones keep their
 * bytes. Emptied by a reset.
 */
export interface SessionView {
  /**
   * Which model answers from which entry on, oldest first: written by the turn that changes the
   * model.
   */
  models?: ModelSpan[];
  /**
   * The end of the path before the last prompt that the provider refused: if it refuses the next
   * one, too, the end is at fault.
   */
  refusedAfterSeq?: number;
  /**
   * Blocks of entries up to this number are shown without their origins: their provider refused to
   * take those back.
   */
  originsAfterSeq?: number;
  /** Images of entries up to this number are left out: a server refused a request for its size. */
  imagesAfterSeq?: number;
  /** How far tool results are pruned: later calls repeat it until the next pruning goes further. */
  pruning?: PruningView;
  /**
   * When the provider's cache was last written or read, in milliseconds since the epoch. Kept while
   * pruning is on.
   */
  cacheTouchedAtMs?: number;
  /**
   * True once a message came from a group: decides the history limit of sessions whose key does not
   * show it.
   */
  isGroup?: boolean;
  /** The images of prompts, by the entries that show them. */
  images?: SessionImages[];
  /**
   * The workspace's files and skills as they were when the transcript began: a snapshot of
   * `SessionWorkspace`.
   */
  workspaceSha256?: string;
  /** The chat that the last message came from: a snapshot of `ChatFacts`. */
  chatSha256?: string;
  /** The role in a group that an earlier prompt has described. */
  groupIntroduced?: 'always-on' | 'trigger-only';
  /** Hashes of the states of the workspace's size that have been warned of, oldest first. */
  budgetWarnings?: string[];
  /** The alerts of heartbeats that are not sent again soon, oldest first. Kept by a reset. */
  alerts?: SentAlert[];
  /** The last alert, in views that were written before several were remembered. */
  lastAlert?: SentAlert;
}

/** What a new transcript keeps of the view of its session. */
export function viewAfterReset({ alerts }: SessionView): SessionView {
  return alerts === undefined ? {} : { alerts };
}

/** The facts that the opening of a turn fixed for all its requests. */
export interface TurnRequestSettings extends InputSettings {
  /** The provider of its model; absent: the default provider. */
  provider?: string;
  /** The family of its provider, which decides how histories are written; absent: anthropic. */
  family?: ProviderFamily;
  /** The scope of the key by which it is asked; absent: `default`. */
  scope?: string;
  /** The token limits of its requests. */
  maxTokens?: number;
  /** How its model is asked to think; absent: nothing is said about it. */
  thinking?: ThinkingSetting;
  effort?: Effort;
  /** A client's further settings for the model; absent: none. */
  sampling?: Sampling;
  /**
   * The names of the client's tools for the model; absent: the client has none, or the turn is of a
   * version without such names.
   */
  callerNames?: CallerNames;
  /** The form of its answer: a snapshot of its `ResponseFormat`; absent: any text. */
  formatSha256?: string;
  /** The budget of `thinking`, in turns that were opened before models had other ways to think. */
  thinkingBudgetTokens?: number;
  /**
   * What answers it, and why that was chosen; absent: the built-in harness, as there was nothing to
   * choose.
   */
  harness?: { id: string; reason: HarnessReason };
  /** The most user turns of the past that are shown; absent: all. */
  historyLimit?: number;
  /** `SessionView.models` at its opening, when not all of the past is known to be of one model. */
  models?: ModelSpan[];
  /** `SessionView.originsAfterSeq` and `imagesAfterSeq` at its opening. */
  originsAfterSeq?: number;
  imagesAfterSeq?: number;
  /**
   * Heartbeat pairs are left out; an answer of up to this many characters in addition to the token
   * is an acknowledgement.
   */
  heartbeatAckCharsMax?: number;
  /** The messages that plugins put before the history: a snapshot of `InjectedMessage[]`. */
  injectedSha256?: string;
  /** The images that are shown after the texts of prompts. */
  images?: EntryImages[];
  /**
   * Its first request was fixed before it opened, and is not assembled: its past is in
   * `injectedSha256`. `isSameModel`: the model that it asks wrote the answers in it.
   */
  given?: { isSameModel: boolean };
  /**
   * The positions of the sections of the system prompt, with their origin and trust: a snapshot of
   * `SectionSpan[]`.
   */
  sectionsSha256?: string;
  /**
   * The workspace and the chat that the session had in this turn: an erasure finds their snapshots
   * by them.
   */
  workspaceSha256?: string;
  chatSha256?: string;
}

/** The facts of a turn's requests since it has stepped down to another model. */
export interface FallbackView extends ThinkingRequest {
  /** `provider/model`. */
  model: string;
  /** The family of its provider; absent: anthropic. */
  family?: ProviderFamily;
  /** The scope of the key; absent: `default`. */
  scope?: string;
  /** Which model wrote which entries. */
  models: ModelSpan[];
  /**
   * Why the turn has stepped down to it; absent: it has stepped back to its first model, or that is
   * not known.
   */
  reason?: string;
}

/** The facts of one model call only. */
export interface CallView {
  /** Absent: the turn's own model was asked. */
  fallback?: FallbackView;
  /** The parts of the turn's view that a refusal has changed since its opening. */
  originsAfterSeq?: number;
  imagesAfterSeq?: number;
  /** How its server takes requests; absent: as any other. */
  traits?: RequestTraits;
  /**
   * Its limits, where those of the turn have no room in the window; absent: those of the turn, or
   * of the fallback.
   */
  limits?: ThinkingRequest;
  /** How far tool results were pruned in it. */
  pruning?: PruningView;
  /**
   * How a request in a batch of the provider keeps its prompt in the cache; absent: as live calls
   * do.
   */
  cache?: '1h' | 'off';
  /**
   * The whole request, where it is not made of the turn's view (compaction): a snapshot of a
   * `ModelRequest`.
   */
  wholeSha256?: string;
}

/**
 * Who writes: a model, by a key of a scope (absent: `default`), whose keys alone can read the
 * reasoning.
 */
export interface Author {
  model: string;
  scope?: string;
}

/** From the entry `seq` on, this author answers. */
export interface ModelSpan extends Author {
  seq: number;
}

/** The images after the text of one prompt; none: a marker says that they were shown before. */
export interface EntryImages {
  seq: number;
  images: ShownImage[];
}

/** An image: a snapshot of its `ImageBlock`, and how many characters of base64 it holds. */
export interface ShownImage {
  sha256: string;
  chars: number;
}

export interface SessionImages extends EntryImages {
  /** How many turns ago its turn was. */
  turnsAgo: number;
}

/**
 * How far pruning has come: the results of tool calls are trimmed when their answer's entry is not
 * after `trimmedUntil`, and cleared when it is not after `clearedUntil` (0: none). With the
 * settings that it was decided by, so that a change of the configuration does not change what was
 * sent.
 */
export interface PruningView {
  trimmedUntil: number;
  clearedUntil: number;
  headChars: number;
  tailChars: number;
  /** Longer results are trimmed. */
  maxChars: number;
  placeholder: string;
  tools: { allow: string[]; deny: string[] };
}
