// Gemini, as Google's API writes answers. The first call of an answer is signed, and so is the end
// of a text without calls.
import type { AnswerBlock, ComposedAnswer } from '../compose-answer.ts';
import { pictureOf } from '../picture.ts';
import { pieces } from '../stream-answer.ts';
import { isRecord } from '../wire.ts';
import { GEMINI_ERRORS, refusedByGemini, statusOf } from './gemini-errors.ts';
import { signCall, signText } from './gemini-signature.ts';
import type { Exchange, ModelWire } from './model-wire.ts';
import { totalsOf } from './model-wire.ts';
import { readGemini, wantsPicture } from './read-gemini.ts';

/** Without `none`, which leaves the reason out; others are sent as they are. */
const FINISH_REASONS: Readonly<Record<string, string | null>> = {
  end_turn: 'STOP',
  tool_use: 'STOP',
  stop_sequence: 'STOP',
  max_tokens: 'MAX_TOKENS',
  model_context_window_exceeded: 'MAX_TOKENS',
  content_filter: 'SAFETY',
  refusal: 'PROHIBITED_CONTENT',
  none: null,
};
/** The prompt itself is refused: there is no answer. */
const BLOCKED = 'blocked';

export const GEMINI_WIRE: ModelWire = {
  callIdStart: 'function-call-',
  read: readGemini,
  tooLong: (tokens, tokensMax) =>
    refusedByGemini(`The input token count (${tokens}) exceeds the maximum number of tokens allowed (${tokensMax}).`),
  ...GEMINI_ERRORS,
  errorFrame: (error) => frameOf(statusOf(error)),
  frames: framesOf,
  body: (answer, exchange) => JSON.stringify(chunkOf(answer, partsOf(answer, exchange, false), 'last')),
};

type Part = Record<string, unknown>;

function framesOf(answer: ComposedAnswer, exchange: Exchange): string[] {
  const parts = partsOf(answer, exchange, true);
  const frames = parts.slice(0, -1).map((part) => frameOf(chunkOf(answer, [part], 'first')));
  if (answer.malformed === 'stream') return [...frames, 'data: {"candidates": [{"content": {"par\n\n'];
  return [...frames, frameOf(chunkOf(answer, parts.slice(-1), 'last'))];
}

function frameOf(chunk: unknown): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** The parts of an answer; for a stream, texts are cut into pieces. */
function partsOf(
  { blocks, model, malformed }: ComposedAnswer,
  { body, organisation }: Exchange,
  isStream: boolean,
): Part[] {
  if (wantsPicture(body)) return [pictureFor(body)];
  const signer = { model, organisation };
  const cut = (text: string) => (isStream ? pieces(text) : [text]);
  const hasCalls = blocks.some(({ type }) => type === 'tool_use');
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  let isSigned = false;
  const parts = blocks.flatMap((block): Part[] => {
    switch (block.type) {
      case 'text':
        return cut(block.text).map((text) => ({ text }));
      case 'thinking':
        return showsThoughts(body) ? cut(block.thinking).map((text) => ({ text, thought: true })) : [];
      case 'redacted_thinking':
        return [];
      case 'tool_use': {
        const { id, name } = block;
        const args = argumentsOf(block);
        // Arguments of Gemini are JSON; a call that is none ends the answer instead.
        if (args === null || malformed === 'input') return [];
        const signature = isSigned ? {} : { thoughtSignature: signCall(signer, name, args) };
        isSigned = true;
        return [{ functionCall: { id, name, args }, ...signature }];
      }
    }
  });
  if (hasCalls || texts.length === 0) return parts;
  const thoughtSignature = signText(signer, texts.join(''));
  if (isStream) return [...parts, { text: '', thoughtSignature }];
  return parts.map((part, index) => (index === parts.length - 1 ? { ...part, thoughtSignature } : part));
}

function pictureFor(body: unknown): Part {
  const data = pictureOf(JSON.stringify(isRecord(body) ? body['contents'] : null)).toString('base64');
  return { inlineData: { mimeType: 'image/png', data } };
}

function argumentsOf({ inputJson }: AnswerBlock & { type: 'tool_use' }): Record<string, unknown> | null {
  try {
    const args: unknown = JSON.parse(inputJson);
    return isRecord(args) ? args : null;
  } catch {
    return null;
  }
}

function showsThoughts(body: unknown): boolean {
  const config = isRecord(body) && isRecord(body['generationConfig']) ? body['generationConfig'] : {};
  return isRecord(config['thinkingConfig']) && config['thinkingConfig']['includeThoughts'] === true;
}

function chunkOf(answer: ComposedAnswer, parts: Part[], place: 'first' | 'last'): unknown {
  const { id, model, stopReason } = answer;
  const { input, cached, output, reasoning } = totalsOf(answer);
  const isLast = place === 'last';
  const usageMetadata = {
    promptTokenCount: input,
    ...(isLast && { candidatesTokenCount: output - reasoning }),
    totalTokenCount: isLast ? input + output : input,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    ...(isLast && reasoning > 0 && { thoughtsTokenCount: reasoning }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  };
  const head = { usageMetadata, modelVersion: model, responseId: id };
  if (stopReason === BLOCKED) return { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, ...head };
  const finishReason = isLast ? finishReasonOf(answer) : null;
  const content = parts.length > 0 ? { content: { parts, role: 'model' } } : {};
  return { candidates: [{ ...content, ...(finishReason !== null && { finishReason }), index: 0 }], ...head };
}

function finishReasonOf({ stopReason, blocks, malformed }: ComposedAnswer): string | null {
  const isMalformed = (block: AnswerBlock) =>
    block.type === 'tool_use' && (malformed === 'input' || argumentsOf(block) === null);
  if (blocks.some(isMalformed)) return 'MALFORMED_FUNCTION_CALL';
  return Object.hasOwn(FINISH_REASONS, stopReason) ? (FINISH_REASONS[stopReason] ?? null) : stopReason;
}
