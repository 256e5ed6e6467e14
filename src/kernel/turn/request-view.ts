// The messages of a turn's requests while it runs: its view of the transcript, grown entry by
// entry, and what each call decides. What is sent here is derived again by derive-request.ts, from
// the same rows through the same functions of the core.
import type { AgentSettings } from '../../config.ts';
import { createRequestCheck, type Violation } from '../../history/check-request.ts';
import type { History } from '../../history/prepare-history.ts';
import { firstNewMessage, historyKey, openHistory, shownEntries, type ViewRules } from '../../history/past.ts';
import type { ModelMessage } from '../../core/model-request.ts';
import { applyPruning, decidePruning } from '../../history/prune-tool-results.ts';
import type { CallView, PruningView, SessionView } from '../../core/view.ts';
import type { GrowingView, Transcript } from './transcript-cache.ts';

/** A request that is about to be sent. */
export interface NextRequest {
  messages: readonly ModelMessage[];
  /** The first of them that is new since the last answer of the model. */
  newFrom: number;
  /** The decision for this call; null: none. */
  callView: CallView | null;
  /** The faults for which a provider would refuse the messages. */
  violations: Violation[];
}

/** The inputs of the decision for a call. */
export interface CallCircumstances {
  sessionView: SessionView;
  pruning: AgentSettings['contextPruning'];
  contextTokens: number;
  nowMs: number;
}

/**
 * The messages of one turn. Made when it is opened or resumed, once its prompt is on the
 * transcript.
 */
export class RequestView {
  readonly rules: ViewRules;
  readonly #transcript: Transcript;
  #view: GrowingView;
  /** The transcript as it was read last: how often it was cut, and how many entries were seen. */
  #edits: number;
  #seen: number;
  #pruning: PruningView | undefined;

  constructor(transcript: Transcript, rules: ViewRules) {
    this.rules = rules;
    this.#transcript = transcript;
    this.#edits = transcript.edits;
    this.#seen = transcript.entries.length;
    this.#view = openView(transcript, rules);
  }

  /**
   * The messages with everything that is committed so far, before anything that a single call
   * decides.
   */
  get history(): History {
    const { entries, edits } = this.#transcript;
    if (edits !== this.#edits) this.#view = openView(this.#transcript, this.rules);
    else this.#view = grow(this.#view, entries.slice(this.#seen));
    this.#edits = edits;
    this.#seen = entries.length;
    return this.#view.history;
  }

  /**
   * Decides how far tool results are pruned from now on; to be asked before every call, since warm
   * caches change nothing. Returns what the session's view becomes with it; undefined: it stays.
   */
  decide(circumstances: CallCircumstances): SessionView | undefined {
    const sessionView = sessionViewAt(this.history, circumstances);
    this.#pruning = sessionView?.pruning;
    return sessionView;
  }

  /** The messages as the next request shows them. */
  get messages(): readonly ModelMessage[] {
    const { history } = this;
    const pruning = this.#pruning;
    return pruning === undefined ? history.messages : applyPruning(history, pruning);
  }

  /** The next request, as decided. */
  next(): NextRequest {
    const { messages } = this;
    return {
      messages,
      newFrom: firstNewMessage(this.history, this.rules),
      callView: this.#pruning === undefined ? null : { pruning: this.#pruning },
      // Pruning changes no order and no pair: its input is checked, of which only the end is new.
      violations: this.#view.check(this.history.messages),
    };
  }
}

/** The session's view after a call that is made now; undefined when it stays as it is. */
function sessionViewAt(history: History, circumstances: CallCircumstances): SessionView | undefined {
  const { sessionView, pruning, contextTokens, nowMs } = circumstances;
  if (pruning.mode === 'off') return undefined;
  const { cacheTouchedAtMs } = sessionView;
  const isCold = cacheTouchedAtMs !== undefined && nowMs - cacheTouchedAtMs >= pruning.ttl;
  const decided = isCold
    ? decidePruning(history, { ...pruning, contextTokens }, sessionView.pruning)
    : sessionView.pruning;
  return { ...sessionView, ...(decided === undefined ? undefined : { pruning: decided }), cacheTouchedAtMs: nowMs };
}

/**
 * The history of an earlier turn if this one shows the past in the same way, otherwise a new one.
 */
function openView(transcript: Transcript, rules: ViewRules): GrowingView {
  const shown = shownEntries(transcript.entries, rules);
  const key = historyKey(rules);
  const before = transcript.view;
  const isSame =
    before !== null &&
    before.key === key &&
    before.firstSeq === shown[0]?.seq &&
    before.lastSeq === shown[before.count - 1]?.seq;
  const view = isSame ? grow(before, shown.slice(before.count)) : newView(key, shown, rules);
  transcript.view = view;
  return view;
}

function newView(key: string, shown: ReturnType<typeof shownEntries>, rules: ViewRules): GrowingView {
  return {
    key,
    history: openHistory(shown, rules),
    check: createRequestCheck(rules.view.family),
    count: shown.length,
    firstSeq: shown[0]?.seq,
    lastSeq: shown.at(-1)?.seq,
    imageChars: (rules.view.images ?? []).flatMap(({ images }) => images).reduce((sum, { chars }) => sum + chars, 0),
  };
}

function grow(view: GrowingView, entries: ReturnType<typeof shownEntries>): GrowingView {
  for (const entry of entries) view.history.push(entry);
  view.count += entries.length;
  view.firstSeq ??= entries[0]?.seq;
  view.lastSeq = entries.at(-1)?.seq ?? view.lastSeq;
  return view;
}
