// What a turn does for one request of a client: from its start, or from the results that the client
// has sent, until it ends or waits for the client again. Read from the live events of the turn. A
// call that was broken off by a crash is made again: what it had said is not a part of the answer,
// so a client that has received some of it gets an error when the new call says something else.
import type { ModelStopReason, TokenCounts } from '../../../core/model-request.ts';
import { parseCallerCallId, type CallerCall } from '../../../core/client-ids.ts';

/** The ends of turns whose model refuses to answer without a word. */
const REFUSALS: readonly string[] = ['model_refused', 'model_stopped_sensitive'];

/**
 * True for the end of a turn that OpenAI's clients know as an answer with the finish reason
 * `content_filter`.
 */
export function isRefusal(code: string): boolean {
  return REFUSALS.includes(code);
}

/** A live event, as far as it is read here. */
export interface TurnEvent {
  type: string;
  turnId: string | null;
  data: Record<string, unknown>;
}

/** A call that the client has to run. */
export interface WantedCall extends CallerCall {
  id: string;
  /** The id that the model has given it. */
  callId: string;
  name: string;
}

export interface SegmentUsage extends TokenCounts {
  costMicros: number;
}

export type SegmentEnd =
  | { kind: 'answered'; stopReason: ModelStopReason | null }
  | { kind: 'calls'; calls: WantedCall[] }
  | {
      kind: 'failed';
      code: string;
      message: string;
      /** True: a person, or another program, has stopped it. */
      wasStopped: boolean;
    };

/**
 * The parts of a segment, in order: texts, and one end. `cut`: text that was sent is no longer a
 * part of the answer.
 */
export type SegmentPart = { kind: 'text'; text: string } | { kind: 'cut' } | { kind: 'end'; end: SegmentEnd };

const NO_TOKENS: TokenCounts = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Between the texts of two answers of a turn. */
export const BETWEEN = '\n\n';

export class Segment {
  readonly usage: SegmentUsage = { ...NO_TOKENS, costMicros: 0 };
  /** Null: no turn has claimed the message yet. */
  turnId: string | null;
  readonly #messageId: string;
  readonly #afterStep: number;
  /** False until the events of the segment begin. */
  #isInside: boolean;
  /** The number of the model call whose text is being read. */
  #call = 0;
  /**
   * The text of that call that the client has received, and the text that the call has produced.
   */
  #shown = '';
  #said = '';
  /** The text of earlier calls that the client has received. */
  #before = '';
  #stopReason: ModelStopReason | null = null;
  #isDone = false;

  readonly #isSentWhole: boolean;
  readonly #isChecked: boolean;

  /**
   * `afterStep`: the step whose results the client has sent; 0: the segment begins with the turn.
   * `isSentWhole`: the client gets the text when all of it is known, so nothing has to be taken
   * back. `isChecked`: its text is the reply, because answers may be corrected.
   */
  constructor(about: {
    messageId: string;
    turnId: string | null;
    afterStep: number;
    isSentWhole?: boolean;
    isChecked?: boolean;
  }) {
    const { messageId, turnId, afterStep, isSentWhole = false, isChecked = false } = about;
    this.#isSentWhole = isSentWhole;
    this.#isChecked = isChecked;
    this.#messageId = messageId;
    this.turnId = turnId;
    this.#afterStep = afterStep;
    this.#isInside = afterStep === 0;
  }

  /** All that the client has of the answer. */
  get text(): string {
    return this.#before + this.#shown;
  }

  /** Takes a reply whose events are deleted. */
  remember(reply: string): void {
    this.#before = reply;
    this.#shown = '';
  }

  /** Takes the next event; returns its parts. Events of other turns have none. */
  take(event: TurnEvent): SegmentPart[] {
    if (this.#isDone) return [];
    if (event.type === 'message.settled' && event.data['messageId'] === this.#messageId && this.turnId === null)
      return this.#settled(String(event.data['status']));
    if (event.type === 'turn.started' && this.#isMine(event)) this.turnId = event.turnId;
    if (this.turnId === null || event.turnId !== this.turnId) return [];
    if (!this.#isInside) {
      this.#enter(event);
      if (event.type !== 'turn.ended') return [];
    }
    return this.#takeOwn(event);
  }

  #isMine({ data }: TurnEvent): boolean {
    return Array.isArray(data['messageIds']) && data['messageIds'].includes(this.#messageId);
  }

  #takeOwn({ type, data }: TurnEvent): SegmentPart[] {
    switch (type) {
      case 'model.started':
        return this.#begin(Number(data['call']));
      case 'model.delta':
        return this.#isChecked ? [] : this.#hear(Number(data['call']), String(data['text']));
      case 'model.ended':
        return this.#endCall(data);
      case 'turn.parked':
        return data['code'] === 'caller' ? this.#wait(data) : [];
      case 'turn.ended':
        return this.#endTurn(data);
      default:
        return [];
    }
  }

  /** The segment begins after the wait of its step. */
  #enter({ type, data }: TurnEvent): void {
    if (type === 'turn.parked' && data['code'] === 'caller' && data['step'] === this.#afterStep) this.#isInside = true;
  }

  #settled(status: string): SegmentPart[] {
    if (status === 'answered' || status === 'silent') return this.#end({ kind: 'answered', stopReason: null });
    return this.#end({
      kind: 'failed',
      code: status,
      message: `The message was ${status} before a turn took it.`,
      wasStopped: status === 'cancelled',
    });
  }

  #begin(call: number): SegmentPart[] {
    if (call <= this.#call) return [];
    this.#call = call;
    this.#said = '';
    if (this.#isSentWhole) this.#shown = '';
    return [];
  }

  #hear(call: number, text: string): SegmentPart[] {
    this.#begin(call);
    if (call < this.#call) return [];
    this.#said += text;
    return this.#show();
  }

  /**
   * The produced text that the client has not received; a `cut` when it has received another text.
   */
  #show(): SegmentPart[] {
    const said = this.#joinedText();
    if (said.length <= this.#shown.length) return this.#shown.startsWith(said) ? [] : this.#cut();
    if (!said.startsWith(this.#shown)) return this.#cut();
    const text = said.slice(this.#shown.length);
    this.#shown = said;
    return [{ kind: 'text', text }];
  }

  #cut(): SegmentPart[] {
    this.#isDone = true;
    return [{ kind: 'cut' }];
  }

  #endCall(data: Record<string, unknown>): SegmentPart[] {
    const usage = {
      ...(data['usage'] as Partial<SegmentUsage> | undefined),
      costMicros: Number(data['costMicros'] ?? 0),
    };
    for (const name of Object.keys(this.usage) as (keyof SegmentUsage)[]) this.usage[name] += usage[name] ?? 0;
    if (data['status'] !== 'ok') return [];
    this.#stopReason = (data['stopReason'] as ModelStopReason | undefined) ?? null;
    const parts = this.#checkWhole();
    this.#before += this.#shown;
    this.#shown = '';
    this.#said = '';
    return parts;
  }

  /**
   * If an answer is shorter than the text that the client has received, it differs from that of the
   * interrupted call.
   */
  #checkWhole(): SegmentPart[] {
    return this.#joinedText() === this.#shown ? [] : this.#cut();
  }

  /** The text of the call, after that of earlier calls. */
  #joinedText(): string {
    return this.#before === '' || this.#said === '' ? this.#said : BETWEEN + this.#said;
  }

  #wait(data: Record<string, unknown>): SegmentPart[] {
    const calls = (data['calls'] ?? []) as { id: string; callId: string; name: string }[];
    return this.#end({
      kind: 'calls',
      calls: calls.flatMap(({ id, callId, name }) => {
        const named = parseCallerCallId(id);
        return named === null ? [] : [{ ...named, id, callId, name }];
      }),
    });
  }

  #endTurn(data: Record<string, unknown>): SegmentPart[] {
    const { status, reply, error } = data as {
      status: string;
      reply: string | null;
      error: { code?: string; message?: string } | null;
    };
    if (status !== 'completed' && status !== 'silent') {
      const { code = status, message = `The turn ended as ${status}.` } = error ?? {};
      if (isRefusal(code)) return this.#end({ kind: 'answered', stopReason: 'refusal' });
      if (this.#isChecked && this.#stopReason === 'max_tokens')
        return this.#end({ kind: 'answered', stopReason: 'max_tokens' });
      const wasStopped = status === 'aborted' || status === 'interrupted';
      return this.#end({ kind: 'failed', code, message, wasStopped });
    }
    const rest = this.text === '' && reply !== null && reply !== '' ? this.#hearReply(reply) : [];
    return [...rest, ...this.#end({ kind: 'answered', stopReason: this.#stopReason })];
  }

  /** Live texts may be lost, the reply is not. */
  #hearReply(reply: string): SegmentPart[] {
    this.#before = reply;
    return [{ kind: 'text', text: reply }];
  }

  #end(end: SegmentEnd): SegmentPart[] {
    this.#isDone = true;
    return [{ kind: 'end', end }];
  }
}

/**
 * The events of the past without the texts of calls that were made again: no client has received
 * them. The last call of the past is kept, it may still be running.
 */
export function withoutBrokenCalls<Event extends TurnEvent>(events: readonly Event[]): Event[] {
  const numbers = new Map<string | null, { last: number; whole: Set<number> }>();
  for (const { type, turnId, data } of events) {
    if (!type.startsWith('model.') || typeof data['call'] !== 'number') continue;
    const known = numbers.get(turnId) ?? { last: 0, whole: new Set<number>() };
    known.last = Math.max(known.last, data['call']);
    if (type === 'model.ended' && data['status'] === 'ok') known.whole.add(data['call']);
    numbers.set(turnId, known);
  }
  return events.filter(({ type, turnId, data }) => {
    const known = numbers.get(turnId);
    if (type !== 'model.delta' || known === undefined || typeof data['call'] !== 'number') return true;
    return data['call'] === known.last || known.whole.has(data['call']);
  });
}
