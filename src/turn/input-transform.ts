// The last that is done to the texts of a request, as the opening of its turn fixed it: tool results that are too long for the model's
// window are truncated, and what plugins replace is replaced. Applied to what is sent, and in the same way to what is derived afterwards.
import type { Replacement } from '../core/stream/replace-text.ts';
import { createRequestTransform, type RequestTexts } from '../core/stream/transform-request.ts';
import { createResultGuard, shownCharsMax } from '../core/tool-result-size.ts';
import type { TurnRequestSettings } from '../core/view.ts';

type Transform = (texts: RequestTexts) => RequestTexts;
type InputSettings = Pick<TurnRequestSettings, 'inputReplacements' | 'resultCharsMax'>;

const NOTHING: readonly Replacement[] = [];

/** Keyed by the list of replacements: a transform caches the messages that it built, and the list is the same object from turn to turn. */
const replacing = new WeakMap<readonly Replacement[], Transform>();
const guards = new Map<number, ReturnType<typeof createResultGuard>>();

/** The transform of a turn's requests; texts with nothing to change stay the same objects. */
export function inputTransformOf({ inputReplacements = NOTHING, resultCharsMax }: InputSettings): Transform {
  let transform = replacing.get(inputReplacements);
  if (transform === undefined)
    replacing.set(inputReplacements, (transform = createRequestTransform(inputReplacements)));
  if (resultCharsMax === undefined) return transform;
  const replace = transform;
  const guard = guardOf(resultCharsMax);
  return ({ system, messages }) => replace({ system, messages: guard(messages) });
}

/** What the opening of a turn fixes; empty when nothing has to be changed. */
export function viewOfTransform(replacements: readonly Replacement[], contextTokens: number): InputSettings {
  const resultCharsMax = shownCharsMax(contextTokens);
  return {
    ...(replacements.length === 0 ? undefined : { inputReplacements: replacements }),
    ...(resultCharsMax === null ? undefined : { resultCharsMax }),
  };
}

/** One per limit; there are no more limits than agents. */
function guardOf(charsMax: number): ReturnType<typeof createResultGuard> {
  let guard = guards.get(charsMax);
  if (guard === undefined) guards.set(charsMax, (guard = createResultGuard(charsMax)));
  return guard;
}
