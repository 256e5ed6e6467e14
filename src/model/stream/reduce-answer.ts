// The reducer: the events of one streamed answer become an answer. An answer exists only after
// `message_stop`; until then nothing of it may be kept (G12). It uses no clock and no network, and
// returns the same answer for any split of the stream's bytes.
//
// Each event changes the draft and says what it adds to the reply's text; that is all that happens
// while an answer streams. Faults are repaired once, when the answer is complete, by the steps in
// `STEPS`, read from top to bottom:
//
//   drop-blank-text     blank texts are removed: providers send them, and refuse them in later
//                       requests
//   call-ids            missing, double and unacceptable ids of calls become `call_auto_N`
//   tool-names          `Read`, ` read `, `functions.read:3` become the tool that is meant
//   read-arguments      arguments become objects
//   decode-arguments    entities in them become characters, for providers that encode them
//   repair-arguments    arguments that are nearly JSON are repaired
//   whole-characters    halves of surrogate pairs become U+FFFD and NULs go: providers refuse them
//                       in every later request. Arguments with a NUL are not read
//   mark-malformed      those that are not, or may be cut off, are marked: such a call is never run
//   stop-reason         an answer that a filter ended, or an unknown reason within a call, gets a
//                       text instead of its calls
//   unknown-tools       a tool that does not exist, called again and again, ends the turn
//
// Joined, what the events added is the answer's text as `joinText` gives it: what a step adds is
// reported with `message_stop`.
import {
  createStorableFilter,
  cutHead,
  isBlank,
  storableText,
  storableValue,
  chainFilters,
  type TextFilter,
} from '../../core/text.ts';
import type { BlockOrigin, ContentBlock } from '../../core/content.ts';
import type { ModelAnswer, Usage } from '../../core/model-request.ts';
import {
  decodeArguments,
  keepWholeCharacters,
  markMalformed,
  readArguments,
  repairArguments,
  giveCallIds,
  nameTools,
  endUnknownTools,
} from './repair-calls.ts';
import type { AnswerRules, DraftAnswer, DraftBlock } from './draft-answer.ts';
import { given, isObject } from '../../core/json.ts';
import { createReplacer } from './replace-text.ts';
import { readStopReason, takeStopReason, usageAfter } from './stop-reasons.ts';
import { cut, malformed, StreamFault, type BlockStart, type StreamEvent } from './stream-event.ts';

/**
 * A step of finishing: takes the whole answer and returns it, the same object when it has nothing
 * to do. Pure; never throws.
 */
interface FinishingStep {
  name: string;
  apply(answer: DraftAnswer, rules: AnswerRules): DraftAnswer;
}

/**
 * The order matters: names are found with the ids as they came, arguments are decoded before they
 * are repaired.
 */
export const STEPS: readonly FinishingStep[] = [
  { name: 'drop-blank-text', apply: dropBlankText },
  { name: 'call-ids', apply: giveCallIds },
  { name: 'tool-names', apply: nameTools },
  { name: 'read-arguments', apply: readArguments },
  { name: 'decode-arguments', apply: decodeArguments },
  { name: 'repair-arguments', apply: repairArguments },
  { name: 'whole-characters', apply: keepWholeCharacters },
  { name: 'mark-malformed', apply: markMalformed },
  { name: 'stop-reason', apply: takeStopReason },
  { name: 'unknown-tools', apply: endUnknownTools },
];

/** The provider's id of an answer, and its tokens so far. */
export interface ReportedUsage {
  id: string;
  usage: Usage;
}

/**
 * A block while it grows. `text` collects its deltas: the text, the thinking, or the JSON of the
 * tool's input.
 */
interface GrowingBlock {
  start: BlockStart;
  text: string;
  signature: string;
  origin: BlockOrigin | undefined;
  /**
   * Whether any of the text was reported; leading white space waits for the first letter, because a
   * blank block is dropped.
   */
  isReported: boolean;
  /**
   * Of a text: keeps its characters whole, and holds back its end while something to replace may
   * begin there. Null once it has ended.
   */
  filter: TextFilter | null;
}

/** Collects one answer. */
export class AnswerReducer {
  readonly #rules: AnswerRules;
  readonly #blocks: GrowingBlock[] = [];
  #usage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  #id: string | null = null;
  #model = '';
  #stopReason: string | null = null;
  #isTextReported = false;
  /** The complete answer; null before `message_stop`. */
  answer: ModelAnswer | null = null;

  /** The usage that the provider has reported so far; null before `message_start`. */
  get reported(): ReportedUsage | null {
    return this.#id === null ? null : { id: this.#id, usage: this.#usage };
  }

  constructor(rules: AnswerRules) {
    this.#rules = rules;
  }

  /**
   * Takes the next event and returns the text that it adds to the reply; events after
   * `message_stop` add nothing. Throws `StreamFault`: `malformed_stream`, or what an error event
   * says.
   */
  take(event: StreamEvent): string {
    if (this.answer !== null) return '';
    switch (event.type) {
      case 'content_block_delta':
        return this.#grow(event);
      case 'message_start':
        return this.#begin(event);
      case 'content_block_start':
        return this.#endBlock() + this.#start(event);
      case 'content_block_stop':
        return this.#endBlock();
      case 'message_delta':
        this.#stopReason = wireReasonOf(event) ?? this.#stopReason;
        this.#usage = usageAfter(this.#usage, event.usage);
        return '';
      case 'message_stop':
        return this.#endBlock() + this.#finish();
      case 'error':
        throw new StreamFault(
          event.error?.type ?? 'api_error',
          event.error?.message ?? 'The provider ended the stream with an error.',
          { errorCode: event.error?.details?.error_code ?? null },
        );
      default:
        // ping, and event types that the provider may add.
        return '';
    }
  }

  #begin({ message }: StreamEvent): string {
    if (typeof message?.id !== 'string' || this.#id !== null) {
      throw malformed('The stream sent a message_start without a message, or a second one.');
    }
    this.#id = storableText(message.id);
    this.#model = storableText(message.model);
    this.#usage = usageAfter(this.#usage, message.usage);
    return '';
  }

  #start({ content_block: start, index }: StreamEvent): string {
    if (!start || this.#id === null || index !== this.#blocks.length)
      throw malformed('The stream started a block out of order.');
    const { replacements } = this.#rules;
    const replacers = replacements.length > 0 ? [createReplacer(replacements)] : [];
    const block: GrowingBlock = {
      start,
      text: start.thinking ?? start.data ?? '',
      signature: start.signature ?? '',
      origin: undefined,
      isReported: false,
      filter: start.type === 'text' ? chainFilters([createStorableFilter(), ...replacers]) : null,
    };
    this.#blocks.push(block);
    return start.type === 'text' && start.text ? this.#addText(block, start.text) : '';
  }

  #grow({ delta, index = -1 }: StreamEvent): string {
    const block = this.#blocks[index];
    if (!block || !delta) throw malformed('The stream sent a delta without its block.');
    switch (delta.type ?? '') {
      case 'text_delta':
        // The text of the reply is streamed as it arrives: it cannot return to an earlier block.
        if (index !== this.#blocks.length - 1) throw malformed('The stream sent text for a block that has ended.');
        return this.#addText(block, delta.text ?? '');
      case 'input_json_delta':
        block.text += delta.partial_json ?? '';
        return '';
      case 'thinking_delta':
        block.text += delta.thinking ?? '';
        return '';
      case 'signature_delta':
        block.signature += delta.signature ?? '';
        return '';
      case 'origin_delta':
        block.origin = readOrigin(delta.origin);
        return '';
      default:
        return '';
    }
  }

  #addText(block: GrowingBlock, text: string): string {
    return this.#report(block, block.filter?.push(text) ?? text);
  }

  /** The last block has ended: what its filter held back is text now. */
  #endBlock(): string {
    const block = this.#blocks.at(-1);
    if (!block?.filter) return '';
    const rest = block.filter.end();
    block.filter = null;
    return this.#report(block, rest);
  }

  /**
   * Adds to a text block; returns the addition to the reply: a newline before a further block, as
   * `joinText` joins them.
   */
  #report(block: GrowingBlock, text: string): string {
    block.text += text;
    if (block.isReported) return text;
    // All that came before was blank.
    if (isBlank(text)) return '';
    block.isReported = true;
    return this.#joint() + block.text;
  }

  #joint(): string {
    const joint = this.#isTextReported ? '\n' : '';
    this.#isTextReported = true;
    return joint;
  }

  /** Takes the answer down the steps; returns the text that they added. */
  #finish(): string {
    if (this.#id === null || this.#stopReason === null) {
      throw malformed('The stream ended without a message or a stop reason.');
    }
    if (readStopReason(this.#stopReason) === 'interrupted')
      throw cut(`The server interrupted the answer (stop reason ${JSON.stringify(cutHead(this.#stopReason, 100))}).`);
    const whole: DraftAnswer = {
      blocks: this.#blocks.flatMap((block) => toBlock(block) ?? []),
      wireStopReason: this.#stopReason,
      stopReason: 'end_turn',
      usage: this.#usage,
      repairs: [],
      malformedInputs: {},
    };
    const finished = STEPS.reduce((answer, step) => step.apply(answer, this.#rules), whole);
    // Some servers write an empty reason into every event.
    if (this.#stopReason === '' && finished.stopReason === 'unhandled')
      throw cut('The answer ended within a tool call.');
    this.answer = buildAnswer(finished, this.#id, this.#model);
    const added = finished.blocks.filter((block) => block.type === 'text' && !whole.blocks.includes(block));
    return added.map((block) => this.#joint() + (block.type === 'text' ? block.text : '')).join('');
  }
}

function wireReasonOf({ delta }: StreamEvent): string | null {
  const reason: unknown = delta?.stop_reason ?? null;
  if (reason !== null && typeof reason !== 'string') throw malformed('The stop reason is not a text.');
  return reason === null ? null : storableText(reason);
}

function readOrigin(value: unknown): BlockOrigin {
  const { provider, model, metadata } = isObject(value) ? value : {};
  if (typeof provider !== 'string' || typeof model !== 'string' || !isObject(metadata)) {
    throw malformed('The origin of a block is not a provider, a model and metadata.');
  }
  return storableValue({ provider, model, metadata });
}

function toBlock({ start, text, signature, origin: from }: GrowingBlock): DraftBlock | null {
  const origin = given({ origin: from });
  switch (start.type) {
    case 'text':
      return { type: 'text', text, ...origin };
    case 'thinking':
      return { type: 'thinking', thinking: text, signature, ...origin };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: text };
    case 'tool_use': {
      const id = typeof start.id === 'string' ? start.id : '';
      const name = typeof start.name === 'string' ? start.name : '';
      const inStart = text === '' ? start.input : undefined;
      // Some put the arguments into the start of the block, as an object or as the text of one.
      const raw = typeof inStart === 'string' ? inStart : text;
      return { type: 'tool_use', id, wireId: id, name, raw, input: isObject(inStart) ? inStart : null, ...origin };
    }
    default:
      // Server-side tools are never requested; a transcript has no place for their blocks.
      return null;
  }
}

function dropBlankText(answer: DraftAnswer): DraftAnswer {
  const blocks = answer.blocks.filter((block) => block.type !== 'text' || !isBlank(block.text));
  return blocks.length === answer.blocks.length ? answer : { ...answer, blocks };
}

function buildAnswer(
  { blocks, stopReason, wireStopReason, usage, repairs, malformedInputs }: DraftAnswer,
  id: string,
  model: string,
): ModelAnswer {
  const content = blocks.map((block): ContentBlock => {
    if (block.type !== 'tool_use') return block;
    const { type, name, input, origin } = block;
    return { type, id: block.id, name, input: input ?? {}, ...given({ origin }) };
  });
  return {
    id,
    model,
    content,
    stopReason,
    usage,
    ...(stopReason === wireStopReason ? {} : { wireStopReason }),
    ...(repairs.length > 0 ? { repairs: [...repairs] } : {}),
    ...(Object.keys(malformedInputs).length > 0 ? { malformedInputs: { ...malformedInputs } } : {}),
  };
}
