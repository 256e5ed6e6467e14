// From the entries of a transcript to the messages of a request, as the views say. The order of the steps:
//
//   acknowledged polls are left out            decided when the turn was opened (TurnRequestSettings): the same in all of its requests
//   the past is limited to its last turns
//   images follow their prompts
//   messages of plugins come first
//   all of it is joined as a provider takes it (prepare-history.ts): pairs are mended again after the limit
//   old tool results are pruned                what one call decided (CallView)
//
// The same function builds a request when it is sent and when it is shown later. Views are cheap: a turn's history grows at its
// end, a call that changes nothing has the same message objects as the call before.
import { modelNameOf } from '../core/caller-request.ts';
import type { ContentBlock, ImageBlock } from '../core/content.ts';
import type { Entry } from '../core/entry.ts';
import { imagesAfter } from '../images/rules/plan-images.ts';
import type { ModelMessage } from '../core/model-request.ts';
import type { InjectedMessage } from '../prompt/injected-messages.ts';
import { applyPruning } from './prune-tool-results.ts';
import type { CallView, TurnRequestSettings } from '../core/view.ts';
import { authorAt, dropHeartbeatPairs, limitTurns } from './past.ts';
import { createHistory, type History, type HistoryEntry } from './prepare-history.ts';
import { given } from '../core/given.ts';

/** An entry as a view needs it. Summaries come first, all others in the order of the numbers. */
export type ViewEntry = Pick<Entry, 'seq' | 'kind' | 'role' | 'content' | 'provenance'>;

/** A turn's view with everything that it only names. */
export interface ViewRules {
  view: TurnRequestSettings;
  /** The entry of the turn's prompt: everything before it is the past. */
  promptSeq: number;
  /** The model that is asked, by its own name. */
  model: string;
  injected: readonly InjectedMessage[];
  /** The block of an image's snapshot; undefined: it does not exist, and the image is left out. */
  imageOf: (sha256: string) => ImageBlock | undefined;
  isTraced?: boolean;
}

/** The messages of one request, with what they begin with and, when traced, where each block is from. */
export interface ViewedMessages {
  messages: readonly ModelMessage[];
  /** Per message, the entry that it begins with; 0: made up, -n: the nth message that a plugin put in front. */
  seqs: readonly number[];
  /** The same per message and block; empty unless traced. */
  trace: readonly (readonly number[])[];
}

/** The messages of a past or future request: all entries up to it, its turn's view and its own. */
export function viewMessages(entries: readonly ViewEntry[], rules: ViewRules, call: CallView | null): ViewedMessages {
  const history = openHistory(shownEntries(entries, rules), rules);
  const { messages, seqs, trace } = history;
  return { messages: call?.pruning === undefined ? messages : applyPruning(history, call.pruning), seqs, trace };
}

/** The entries that a turn shows: earlier ones as far as its view allows, and all of its own. The same array when that is all. */
export function shownEntries(
  entries: readonly ViewEntry[],
  { view, promptSeq }: Pick<ViewRules, 'view' | 'promptSeq'>,
): readonly ViewEntry[] {
  if (view.historyLimit === undefined && view.heartbeatAckCharsMax === undefined) return entries;
  const begin = entries.findIndex(({ seq, kind }) => kind !== 'summary' && seq >= promptSeq);
  const past = begin === -1 ? entries : entries.slice(0, begin);
  const shown = limitTurns(dropHeartbeatPairs(past, view.heartbeatAckCharsMax), view.historyLimit);
  if (shown === past) return entries;
  return begin === -1 ? shown : [...shown, ...entries.slice(begin)];
}

/** The history of a turn's requests, from the entries that it shows. It may grow: later entries of the turn are pushed. */
export function openHistory(shown: readonly ViewEntry[], rules: ViewRules): History {
  const { injected, isTraced } = rules;
  const { family, originsAfterSeq, imagesAfterSeq } = rules.view;
  const inFront: HistoryEntry[] = injected.map(({ role, content }, index) => ({ role, content, seq: -1 - index }));
  return createHistory([...inFront, ...shown.map((entry) => withCallerNames(entry, rules))], {
    ...given({ family, isTraced, originsAfterSeq, imagesAfterSeq }),
    model: rules.model,
    isOwn: isOwnRule(rules),
    isOfScope: isOfScopeRule(rules),
    ...imagesRule(shown, rules),
  });
}

/** The inputs of a history besides the entries that it shows. With equal keys, the next turn can extend the history of a turn. */
export function historyKey({ view, model, promptSeq }: ViewRules): string {
  const { family, scope, models, images, injectedSha256, originsAfterSeq, imagesAfterSeq, callerNames = [] } = view;
  // The place of an image that several prompts show depends on which of them is the turn's own.
  const ownSeq = images?.some((entry) => entry.images.length > 0) === true ? promptSeq : null;
  const asked = models === undefined ? null : [model, scope, models];
  return JSON.stringify([family, asked, images, ownSeq, injectedSha256, originsAfterSeq, imagesAfterSeq, callerNames]);
}

/** An entry that a client has sent calls its tools by the client's names. */
function withCallerNames(entry: ViewEntry, { view: { callerNames = [] } }: ViewRules): ViewEntry {
  if (callerNames.length === 0 || entry.provenance?.kind !== 'client') return entry;
  const content = entry.content.map((block) =>
    block.type === 'tool_use' ? { ...block, name: modelNameOf(block.name, callerNames) } : block,
  );
  return { ...entry, content };
}

/** The entries that the model of the call answered itself; never messages that a plugin injected. */
function isOwnRule({ view: { models, scope }, model }: ViewRules): (seq: number) => boolean {
  if (models === undefined) return (seq) => seq > 0;
  return (seq) => {
    const author = authorAt(models, seq);
    return seq > 0 && author?.model === model && author.scope === scope;
  };
}

/** The first message that is new since the last answer of the model that is asked; 0: it has given none of these answers. */
export function firstNewMessage({ messages, seqs }: Pick<History, 'messages' | 'seqs'>, rules: ViewRules): number {
  const isOwn = isOwnRule(rules);
  return messages.findLastIndex(({ role }, at) => role === 'assistant' && isOwn(seqs[at] ?? 0)) + 1;
}

/** The entries whose reasoning a key of the call's scope can read, if the model can. */
function isOfScopeRule({ view: { models, scope } }: ViewRules): (seq: number) => boolean {
  return models === undefined ? () => true : (seq) => authorAt(models, seq)?.scope === scope;
}

const NO_BLOCKS: readonly ContentBlock[] = [];

function imagesRule(
  shown: readonly ViewEntry[],
  { view, promptSeq, imageOf }: ViewRules,
): { imagesOf?: (seq: number) => readonly ContentBlock[] } {
  if (view.images === undefined) return {};
  const visible = new Set(shown.map(({ seq }) => seq));
  // The turn's own prompt is possibly not among the entries yet.
  visible.add(promptSeq);
  const shownImages = imagesAfter(view.images, { promptSeq, isVisible: (seq) => visible.has(seq), blockOf: imageOf });
  return { imagesOf: (seq) => shownImages.get(seq) ?? NO_BLOCKS };
}
