// The last that is done to the texts of a request, as the opening of its turn fixed it: tool results that are too long for the model's
// window are truncated, and what plugins replace is replaced. Applied to what is sent, and in the same way to what is derived afterwards.
import type { Replacement } from '../../model/stream/replace-text.ts';
import { createRequestTransform, type RequestTexts } from '../../model/stream/transform-request.ts';
import { shownCharsMax, truncateResults } from '../../core/tool-result-size.ts';
import type { TurnRequestSettings } from '../../core/view.ts';

type Transform = (texts: RequestTexts) => RequestTexts;
type InputSettings = Pick<TurnRequestSettings, 'inputReplacements' | 'resultCharsMax'>;

/** The transform of a turn's requests; texts with nothing to change stay the same objects. */
export function createInputTransform({ inputReplacements = [], resultCharsMax }: InputSettings): Transform {
  const replace = createRequestTransform(inputReplacements);
  if (resultCharsMax === undefined) return replace;
  return ({ system, messages }) => replace({ system, messages: truncateResults(messages, resultCharsMax) });
}

/** The transform that the opening of a turn fixes; empty when nothing has to be changed. */
export function viewOfTransform(replacements: readonly Replacement[], contextTokens: number): InputSettings {
  const resultCharsMax = shownCharsMax(contextTokens);
  return {
    ...(replacements.length === 0 ? undefined : { inputReplacements: replacements }),
    ...(resultCharsMax === null ? undefined : { resultCharsMax }),
  };
}
