// The images of a turn: those that its prompt names and its messages bring, loaded once and kept as snapshots, and those of earlier
// prompts that its requests still show.
import { acceptsImages, planImages } from '../../../images/rules/plan-images.ts';
import type { InboundMessage, Media } from '../../../core/inbound.ts';
import { findImageRefs, imageNotes, isImagePath } from '../../../prompt/image-refs.ts';
import { joinParts, ownPart, type PromptPart } from '../../../prompt/prompt-parts.ts';
import type { EntryImages, SessionImages } from '../../../core/view.ts';
import type { LoadedImages } from '../../../images/load-images.ts';
import type { TurnContext } from '../context.ts';
import type { Snapshot } from '../snapshot-cache.ts';

export interface TurnImagesInput {
  /** The user prompt so far. */
  parts: readonly PromptPart[];
  /** The inputs that the turn answers. */
  messages: readonly InboundMessage[];
  workspaceDir: string;
  /** `provider/model`. */
  model: string;
  /** The number that the prompt's entry will have. */
  promptSeq: number;
  /** The images of earlier prompts that the session's view lists. */
  before: readonly SessionImages[] | undefined;
}

export interface TurnImages {
  /** The user prompt, with notes on images that are not shown. */
  parts: PromptPart[];
  /** For the views of turn and session; undefined: nothing. */
  turn: EntryImages[] | undefined;
  session: SessionImages[] | undefined;
  snapshots: Snapshot[];
}

/** Loads the images of a turn that is about to be opened. */
export async function imagesOfTurn(context: TurnContext, input: TurnImagesInput): Promise<TurnImages> {
  const mayShow = acceptsImages(input.model, context.config.images.textOnlyModels);
  const { blocks, missing } = await loadWanted(context, input, mayShow);
  const kept = blocks.map((block) => ({ block, snapshot: context.snapshotCache.keep(block).snapshot }));
  const { turn, session } = planImages({
    before: input.before,
    prompt: {
      seq: input.promptSeq,
      images: kept.map(({ block, snapshot }) => ({ sha256: snapshot.sha256, chars: block.source.data.length })),
    },
    acceptsImages: mayShow,
  });
  return {
    parts: withNotes(input.parts, imageNotes(missing)),
    turn,
    session,
    snapshots: kept.map(({ snapshot }) => snapshot),
  };
}

async function loadWanted(context: TurnContext, input: TurnImagesInput, mayShow: boolean): Promise<LoadedImages> {
  const wanted = wantedPaths(input);
  const sent = input.messages.flatMap(({ caller }) => caller?.images ?? []);
  if (wanted.length + sent.length === 0) return { blocks: [], missing: [] };
  if (mayShow) {
    const fitted = await context.images.fit(sent);
    const { blocks, missing } = await context.images.load(wanted, input.workspaceDir);
    return { blocks: [...fitted.blocks, ...blocks], missing: [...fitted.missing, ...missing] };
  }
  const names = [...sent.map((_, at) => `image ${at + 1} of the message`), ...wanted];
  return { blocks: [], missing: names.map((path) => ({ path, reason: 'the model takes no images' })) };
}

/** First the images of the messages, then those that the prompt names. */
function wantedPaths({ messages, parts }: TurnImagesInput): string[] {
  const attached = messages.flatMap(({ media = [] }) => media.flatMap(listImagePaths));
  return [...new Set([...attached, ...findImageRefs(joinParts(parts).text)])];
}

function listImagePaths({ path, type }: Media): string[] {
  if (path === undefined || /^[a-z][a-z0-9+.-]*:\/\//i.test(path)) return [];
  return type?.toLowerCase().startsWith('image/') === true || isImagePath(path) ? [path] : [];
}

// Under the note of the attachments when there is one such note, else at the end: before an untrusted body, a note could be taken
// for a part of it.
function withNotes(parts: readonly PromptPart[], notes: readonly string[]): PromptPart[] {
  if (notes.length === 0) return [...parts];
  // The paths in them came from outside.
  const note: PromptPart = { ...ownPart('image-notes', notes.join('\n')), trust: 'untrusted' };
  const mediaNotes = parts.filter(({ name }) => name === 'media-note').length;
  const lastOfNote = parts.findLastIndex(({ name }) => name === 'media-note' || name === 'media-hint');
  const at = mediaNotes === 1 ? lastOfNote + 1 : parts.length;
  return parts.toSpliced(at, 0, note);
}
