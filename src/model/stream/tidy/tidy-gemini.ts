// The chunks of Gemini. A body that was not streamed has the same form.
import { given, isObject } from '../../../core/json.ts';
import { readStopReason } from '../stop-reasons.ts';
import { fieldOf, figuresIn, isErrorEvent, objectsIn, reasonIn, textIn, wordIn, type Tidier } from './tidier.ts';

const FIGURES = [
  'promptTokenCount',
  'candidatesTokenCount',
  'cachedContentTokenCount',
  'thoughtsTokenCount',
  'toolUsePromptTokenCount',
  'totalTokenCount',
];

/** What only this API says. */
const OWN_REASONS: readonly string[] = ['CONTINUATION', 'MALFORMED_FUNCTION_CALL'];

export class GeminiTidier implements Tidier {
  readonly isComplete = false;
  #hasReason = false;
  /** A reason that ends the answer only if nothing follows it; null: none. */
  #doubtful: string | null = null;

  take(chunk: Record<string, unknown>): object[] {
    if (isErrorEvent(chunk)) return [chunk];
    const [candidate] = objectsIn(chunk['candidates']);
    const blockReason = wordIn(fieldOf(chunk['promptFeedback'], 'blockReason'));
    return [
      {
        ...given({
          responseId: textIn(chunk['responseId']),
          usageMetadata: figuresIn(chunk['usageMetadata'], FIGURES),
        }),
        ...(candidate === undefined ? {} : { candidates: [this.#candidate(candidate)] }),
        ...(blockReason === undefined ? {} : { promptFeedback: { blockReason } }),
      },
    ];
  }

  end(): object[] {
    return this.#doubtful === null || this.#hasReason ? [] : [{ candidates: [{ finishReason: this.#doubtful }] }];
  }

  #candidate(candidate: Record<string, unknown>): object {
    const { content } = candidate;
    const parts = objectsIn(Array.isArray(content) ? content : fieldOf(content, 'parts')).flatMap(toPart);
    const reason = reasonIn(candidate['finishReason']);
    const isKnown = reason !== null && (readStopReason(reason) !== null || OWN_REASONS.includes(reason));
    if (isKnown) this.#hasReason = true;
    else this.#doubtful = reason ?? (parts.length === 0 ? this.#doubtful : null);
    return {
      content: { parts },
      ...given({
        finishReason: isKnown ? reason : undefined,
        continuationToken: textIn(candidate['continuationToken']),
      }),
    };
  }
}

/** A text, a thought or a call; the others have no place in a transcript. */
function toPart(part: Record<string, unknown>): object[] {
  const signature = given({ thoughtSignature: textIn(part['thoughtSignature']) });
  const { functionCall: call, thought } = part;
  if (isObject(call)) return [{ functionCall: toCall(call), ...signature }];
  const text = textIn(part['text']);
  if (text === undefined && Object.keys(signature).length === 0) return [];
  return [{ text: text ?? '', ...(thought === true ? { thought } : {}), ...signature }];
}

function toCall(call: Record<string, unknown>): object {
  const { args, partialArgs, willContinue } = call;
  const parts = Array.isArray(partialArgs) ? { partialArgs: partialArgs as unknown[] } : {};
  // Without a name, an event that has arguments is a call all the same, and one that has none ends
  // an earlier call.
  const name = wordIn(call['name']) ?? (args === undefined || args === null || 'partialArgs' in parts ? undefined : '');
  return {
    ...given({ id: wordIn(call['id']), name, args: args ?? undefined }),
    ...parts,
    ...(typeof willContinue === 'boolean' ? { willContinue } : {}),
  };
}
