// Streams of each wire with one field of another form, and streams that are cut: what the scripted
// model would send, changed at random by a seed.
import type { AnswerBlock, ComposedAnswer } from '../../scripted-model/compose-answer.ts';
import { CHAT_WIRE } from '../../scripted-model/wires/chat-wire.ts';
import { GEMINI_WIRE } from '../../scripted-model/wires/gemini-wire.ts';
import { MESSAGES_WIRE } from '../../scripted-model/wires/messages-wire.ts';
import { RESPONSES_WIRE } from '../../scripted-model/wires/responses-wire.ts';

export const WIRES = {
  messages: MESSAGES_WIRE,
  responses: RESPONSES_WIRE,
  chat: CHAT_WIRE,
  gemini: GEMINI_WIRE,
} as const;
export type WireName = keyof typeof WIRES;

type Random = () => number;
type Json = unknown;

export interface OddStream {
  body: string;
  /** How the connection ends; absent: as it should. */
  ending?: 'cut';
  /** What was done to it, for a failure. */
  about: string;
  /** The pieces of the text that have arrived in the form of the API. */
  pieces: string[];
  /** The inputs of the calls that have. */
  inputs: object[];
  /**
   * `answer`: a person could read it; `none`: it is cut; `either`: the server has not said that it
   * ended.
   */
  gives: 'answer' | 'none' | 'either';
}

/** The size of the parts in which the scripted model sends a text. */
const PIECE_CHARS = 40;

/** The keys on the way to what ends an answer, and what makes an event an error. */
const END_KEYS =
  /^(?:choices|finish_reason|candidates|finishReason|delta|stop_reason|type|response|status|error|object|promptFeedback)$/;
/** The events that end an answer. */
const ENDS: Readonly<Record<WireName, RegExp>> = {
  messages: /"type":"message_(?:delta|stop)"/,
  responses: /"type":"response\.completed"/,
  chat: /"finish_reason":"/,
  gemini: /"finishReason":/,
};
const CALLS = /tool_calls|function_call|functionCall|tool_use|partial_json/;

export function oddStream(wire: WireName, random: Random): OddStream {
  const { answer, pieces, inputs } = anyAnswer(random);
  const body = {
    stream_options: { include_usage: true },
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  };
  const frames = WIRES[wire].frames(answer, { body, organisation: 'key', model: 'm', isStream: true });
  const at = Math.floor(random() * frames.length);
  const before = frames[at] ?? '';
  const odd = random() < 0.2 ? { frame: before, about: 'nothing', keys: [] } : changed(before, random);
  const sent = frames.with(at, odd.frame);
  const text = sent.join('');
  const lost = pieces.filter((piece) => before.includes(piece));
  // An event with several pieces repeats what others have said.
  const arrived = odd.frame === before || lost.length > 1 ? pieces : pieces.filter((piece) => !lost.includes(piece));
  const isEnd = ENDS[wire].test(before) && odd.keys.some((key) => END_KEYS.test(key));
  const isOtherKind = odd.keys.some((key) => key === 'error' || key === 'object');
  const base = {
    about: `${wire} ${at} ${odd.about}`,
    pieces: arrived,
    inputs: odd.frame !== before && CALLS.test(before) ? [] : inputs,
  };
  if (random() < 0.7) return { ...base, body: text, gives: isEnd || isOtherKind ? 'either' : 'answer' };
  const endAt = sent
    .slice(
      0,
      frames.findIndex((frame) => ENDS[wire].test(frame)),
    )
    .join('').length;
  const cutAt = Math.floor(random() * text.length);
  const gives = cutAt <= endAt ? 'none' : 'either';
  const ending = random() < 0.5 ? ({ ending: 'cut' } as const) : {};
  return { ...base, ...ending, body: text.slice(0, cutAt), about: `${base.about}, cut at ${cutAt}`, gives };
}

function anyAnswer(random: Random): { answer: ComposedAnswer; pieces: string[]; inputs: object[] } {
  const pieces = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, n) =>
    `piece ${n} ${'.'.repeat(PIECE_CHARS)}`.slice(0, PIECE_CHARS),
  );
  const inputs = Array.from({ length: Math.floor(random() * 3) }, (_, n) => ({ n, path: 'x'.repeat(60) }));
  const blocks: AnswerBlock[] = [
    ...(random() < 0.5 ? [{ type: 'thinking' as const, thinking: 'a thought', signature: 'c2ln' }] : []),
    { type: 'text', text: pieces.join('') },
    ...inputs.map((input, n) => ({
      type: 'tool_use' as const,
      id: `call_${n}`,
      name: 'read',
      inputJson: JSON.stringify(input),
    })),
  ];
  const usage = { input_tokens: 9, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const stopReason = inputs.length > 0 ? 'tool_use' : 'end_turn';
  const answer = {
    id: 'answer_1',
    model: 'm',
    blocks,
    stopReason,
    usage,
    delayMs: 0,
    slowMs: 0,
    fault: null,
    malformed: null,
  };
  return { answer, pieces, inputs };
}

const OTHER_TYPES: readonly Json[] = [7, true, 'odd', {}, [], [7], { type: 'odd' }];
const EXTRAS = ['{"type":"ping"}', 'null', '{}', '[]', 'ping', '7', '{"choices":null}', '{"id":7}', ''];

/** The frame with one field changed, or with an event before it that says nothing. */
function changed(frame: string, random: Random): { frame: string; about: string; keys: string[] } {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const found = /^data: (.*)$/m.exec(frame);
  if (random() < 0.15 || found === null || !found[1]!.startsWith('{')) {
    const extra = pick(EXTRAS);
    return { frame: `data: ${extra}\n\n${frame}`, about: `after ${extra}`, keys: [] };
  }
  const event = JSON.parse(found[1]!) as Record<string, Json>;
  const path = pick(pathsIn(event));
  const kind = pick(['absent', 'null', 'type', 'doubled', 'huge'] as const);
  const odd = pick(OTHER_TYPES);
  const after = JSON.stringify(put(event, path, (value) => oddValue(kind, value, odd)));
  const about = `${path.join('.')} ${kind}${kind === 'type' ? ` ${JSON.stringify(odd)}` : ''}`;
  return { frame: frame.replace(found[0], () => `data: ${after}`), about, keys: path };
}

function oddValue(kind: 'absent' | 'null' | 'type' | 'doubled' | 'huge', value: Json, odd: Json): Json {
  switch (kind) {
    case 'absent':
      return undefined;
    case 'null':
      return null;
    case 'type':
      return odd;
    case 'doubled':
      if (typeof value === 'string') return value + value;
      return Array.isArray(value) ? [...(value as Json[]), ...(value as Json[])] : [value, value];
    case 'huge':
      if (typeof value === 'number') return 1e300;
      return typeof value === 'string' ? value + 'y'.repeat(50_000) : Array.from({ length: 2_000 }, () => value);
  }
}

function pathsIn(value: Json, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) => [[...path, key], ...pathsIn(field, [...path, key])]);
}

function put(value: Json, [key = '', ...rest]: readonly string[], change: (value: Json) => Json): Json {
  const copy: Record<string, Json> = Array.isArray(value)
    ? ([...(value as Json[])] as never)
    : { ...(value as object) };
  copy[key] = rest.length === 0 ? change(copy[key]) : put(copy[key], rest, change);
  return copy;
}
