// The scenarios of the conformance of the wires: what is asked of the scripted model, and what a
// turn gets.
import type { ContentBlock, ImageBlock } from '../../src/core/content.ts';
import type { ModelAnswer, ModelMessage, ModelRequest } from '../../src/core/model-request.ts';
import { results, user } from './build-request.ts';

/** The four wires, two of them as two packages write them. */
export const WIRES = ['messages', 'responses', 'xai', 'chat', 'gemini', 'gemini-2'] as const;
export type Wire = (typeof WIRES)[number] | 'whole';
/** What is asked, and what becomes of it. */
export interface Scenario {
  prompt: string | ModelMessage;
  /** The results of calls; absent: `ok` for each. */
  answers?: (answer: ModelAnswer) => ModelMessage;
  settings?: Partial<ModelRequest>;
  /**
   * The lines of the answers until one calls no tool, or the type, the status and the wait of the
   * error.
   */
  gives: Outcome;
  /** On wires where it is another. */
  but?: Partial<Record<Wire, Outcome>>;
}

export type Outcome = string[] | [type: string, status: number | null, retryAfterMs: number | null];

const IMAGE: ImageBlock = {
  type: 'image',
  source: {
    type: 'base64',
    media_type: 'image/png',
    data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  },
};

export const thinking = { thinking: { type: 'enabled' as const, budget_tokens: 2048 } };

function resultsWith(content: string | (ImageBlock | { type: 'text'; text: string })[], isError = false) {
  return (answer: ModelAnswer): ModelMessage =>
    user(
      ...answer.content.flatMap((block): ContentBlock[] =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result', tool_use_id: block.id, content, ...(isError ? { is_error: true } : {}) }]
          : [],
      ),
    );
}

const done = ['done | end_turn'];
const read = (input = '{}') => [`read ${input} | tool_use`, ...done];
const FILTERED = (reason: string) =>
  `[The provider stopped this answer because of its content (stop reason "${reason}").] | sensitive`;
const slow = (ms: number | null): Outcome => ['rate_limit_error', 429, ms];
/** Arguments of Gemini are JSON: others end the answer there. */
const onGemini: Scenario['but'] = { gemini: ['malformed_stream', null, null] };

export const ANSWERED: Record<string, Scenario> = {
  'a text': { prompt: 'Hi [[reply: Hello.]]', gives: ['Hello. | end_turn'] },
  'a long text': { prompt: '[[fill: 5000]]', gives: ['5000 characters | end_turn'] },
  'signs beyond ASCII': { prompt: '[[reply: Größe 3 µm 🙂 「はい」]]', gives: ['Größe 3 µm 🙂 「はい」 | end_turn'] },
  'two lines': { prompt: '[[reply: one]] [[reply: two]]', gives: ['one\ntwo | end_turn'] },
  nothing: { prompt: '[[empty]]', gives: ['end_turn'] },
  'a call': { prompt: '[[tool: read {"path": "a"}]] [[reply: done]]', gives: read('{"path":"a"}') },
  'a text and a call': {
    prompt: '[[reply: One moment.]] [[tool: read {}]] [[reply: done]]',
    gives: ['One moment. | read {} | tool_use', ...done],
  },
  'a call without arguments': { prompt: '[[tool: read]] [[reply: done]]', gives: read() },
  'nested arguments': {
    prompt: '[[tool: read {"path": "a", "deep": [{"x": null, "y": [1.5, true]}]}]] [[reply: done]]',
    gives: read('{"path":"a","deep":[{"x":null,"y":[1.5,true]}]}'),
  },
  'arguments beyond ASCII': {
    prompt: String.raw`[[tool: read {"path": "Größe 🙂 \"x\" \n"}]] [[reply: done]]`,
    gives: read(String.raw`{"path":"Größe 🙂 \"x\" \n"}`),
  },
  'long arguments': {
    prompt: `[[tool: read {"path": "${'x'.repeat(5000)}"}]] [[reply: done]]`,
    gives: read('5011 characters'),
  },
  'two calls at once': {
    prompt: '[[tool: read {"path": "a"}]] & [[tool: exec {"path": "b"}]] [[reply: done]]',
    gives: ['read {"path":"a"} | exec {"path":"b"} | tool_use', ...done],
  },
  'the same call twice at once': {
    prompt: '[[tool: read {}]] & [[tool: read {}]] [[reply: done]]',
    gives: ['read {} | read {} | tool_use', ...done],
  },
  'five calls at once': {
    prompt:
      '[[tool: read {}]] & [[tool: exec {}]] & [[tool: look {}]] & [[tool: read {}]] & [[tool: look {}]] [[reply: done]]',
    gives: ['read {} | exec {} | look {} | read {} | look {} | tool_use', ...done],
  },
  'three calls one after the other': {
    prompt: '[[tool: read {}]] [[tool: exec {}]] [[tool: look {}]] [[reply: done]]',
    gives: ['read {} | tool_use', 'exec {} | tool_use', 'look {} | tool_use', ...done],
  },
  'a thought': { prompt: '[[thinking: hm]] [[reply: done]]', settings: thinking, gives: ['(hm) | done | end_turn'] },
  'a thought before a call': {
    prompt: '[[thinking: hm]] [[tool: read {}]] [[reply: done]]',
    settings: thinking,
    gives: ['(hm) | read {} | tool_use', ...done],
  },
  'thoughts between calls': {
    prompt: '[[thinking: 1]] [[tool: read {}]] [[thinking: 2]] [[tool: exec {}]] [[thinking: 3]] [[reply: done]]',
    settings: thinking,
    gives: ['(1) | read {} | tool_use', '(2) | exec {} | tool_use', '(3) | done | end_turn'],
  },
  'a thought before two calls': {
    prompt: '[[thinking: hm]] [[tool: read {}]] & [[tool: exec {}]] [[reply: done]]',
    settings: thinking,
    gives: ['(hm) | read {} | exec {} | tool_use', ...done],
  },
  'a thought, a text and a call': {
    prompt: '[[thinking: hm]] [[reply: One moment.]] [[tool: read {}]] [[reply: done]]',
    settings: thinking,
    gives: ['(hm) | One moment. | read {} | tool_use', ...done],
  },
  'a long thought': {
    prompt: `[[thinking: ${'deep '.repeat(500)}]] [[reply: done]]`,
    settings: thinking,
    gives: ['(2499 characters) | done | end_turn'],
  },
  'a hidden thought': {
    prompt: '[[redacted: c2VjcmV0]] [[reply: done]]',
    settings: thinking,
    gives: done,
    but: { messages: ['redacted_thinking | done | end_turn'], responses: ['(sealed) | done | end_turn'] },
  },
  'an image in the prompt': { prompt: user('See [[reply: done]]', IMAGE), gives: done },
  'two images in the prompt': { prompt: user(IMAGE, 'and', IMAGE, '[[reply: done]]'), gives: done },
  'an image in a result': { prompt: '[[tool: read]] [[reply: done]]', answers: resultsWith([IMAGE]), gives: read() },
  'a text and an image in a result': {
    prompt: '[[tool: read]] [[reply: done]]',
    answers: resultsWith([{ type: 'text', text: 'a' }, IMAGE]),
    gives: read(),
  },
  'two texts and two images in a result': {
    prompt: '[[tool: read]] [[reply: done]]',
    answers: resultsWith([{ type: 'text', text: 'a' }, IMAGE, { type: 'text', text: 'b' }, IMAGE]),
    gives: read(),
  },
  'images in the results of two calls': {
    prompt: '[[tool: read {}]] & [[tool: read {}]] [[reply: done]]',
    answers: resultsWith([{ type: 'text', text: 'a' }, IMAGE]),
    gives: ['read {} | read {} | tool_use', ...done],
  },
  'a result that is an error': {
    prompt: '[[tool: read]] [[reply: done]]',
    answers: resultsWith('no such file', true),
    gives: read(),
  },
  'an empty result': { prompt: '[[tool: read]] [[reply: done]]', answers: resultsWith(''), gives: read() },
  'a long result': {
    prompt: '[[tool: read]] [[reply: done]]',
    answers: resultsWith('x'.repeat(20_000)),
    gives: read(),
  },
  'words after a result': {
    prompt: '[[tool: read]] [[reply: done]]',
    answers: (answer) => user(...results(answer).content, 'And also this.'),
    gives: read(),
  },
  'no tools': { prompt: '[[reply: done]]', settings: { tools: [] }, gives: done },
  'no system text': { prompt: '[[reply: done]]', settings: { system: [] }, gives: done },
  'a temperature': { prompt: '[[reply: done]]', settings: { sampling: { temperature: 0.2, top_p: 0.9 } }, gives: done },
  'words that end an answer': {
    prompt: '[[reply: done]]',
    settings: { sampling: { stop_sequences: ['END'] } },
    gives: done,
  },
  'a call that has to be made': {
    prompt: '[[tool: read]] [[reply: done]]',
    settings: { sampling: { tool_choice: { type: 'any' } } },
    gives: read(),
  },
  'a named call that has to be made': {
    prompt: '[[tool: read]] [[reply: done]]',
    settings: { sampling: { tool_choice: { type: 'tool', name: 'read' } } },
    gives: read(),
  },
  'calls that are forbidden': {
    prompt: '[[reply: done]]',
    settings: { sampling: { tool_choice: { type: 'none' } } },
    gives: done,
  },
  'an answer that is too long': { prompt: '[[reply: half]] [[stop: max_tokens]]', gives: ['half | max_tokens'] },
  'a call that the limit cuts': { prompt: '[[stop: max_tokens]] [[tool: read]]', gives: ['read {} | max_tokens'] },
  'a refusal of the model': {
    prompt: '[[reply: I cannot.]] [[stop: refusal]]',
    gives: [`I cannot. | ${FILTERED('content_filter')}`],
    but: {
      messages: ['I cannot. | refusal'],
      gemini: [`I cannot. | ${FILTERED('PROHIBITED_CONTENT')}`],
    },
  },
  'a filter': {
    prompt: '[[reply: ha]] [[stop: content_filter]]',
    gives: [`ha | ${FILTERED('content_filter')}`],
    but: { gemini: [`ha | ${FILTERED('SAFETY')}`] },
  },
  'an unknown reason to end': { prompt: '[[reply: ha]] [[stop: moonrise]]', gives: ['ha | end_turn'] },
  'an unknown reason after a call': {
    prompt: '[[tool: read {"path": "a"}]] [[stop: moonrise]] [[reply: done]]',
    gives: read('{"path":"a"}'),
  },
  'a word of another server for an end': { prompt: '[[reply: ha]] [[stop: eos_token]]', gives: ['ha | end_turn'] },
  'arguments with small faults': {
    prompt: `[[arguments: {path: 'b'}]] [[tool: read {}]] [[reply: done]]`,
    gives: read('{"path":"b"}'),
    but: onGemini,
  },
  'arguments that end in the middle': {
    prompt: '[[malformed]] [[tool: read {"path": "a"}]] [[reply: done]]',
    gives: read(),
    but: {
      ...onGemini,
      // Only streams can end there.
      whole: read('{"path":"a"}'),
    },
  },
};

export const FAILED: Record<string, Scenario> = {
  'no reason to end': {
    prompt: '[[reply: ha]] [[stop: none]]',
    gives: ['cut_stream', null, null],
    but: {
      messages: ['ha | end_turn'],
      chat: ['malformed_stream', null, null],
    },
  },
  'an interruption of the server': { prompt: '[[reply: ha]] [[stop: abort]]', gives: ['cut_stream', null, null] },
  'an event that is no JSON': { prompt: '[[malformed: stream]] [[reply: a]]', gives: ['malformed_stream', null, null] },
  'a prompt that is too long': {
    prompt: 'x '.repeat(60_000),
    gives: ['model_context_window_exceeded', 400, null],
    // Its words are read when the failure is classified.
    but: { messages: ['invalid_request_error', 400, null] },
  },
  'an error 400': { prompt: '[[error: 400]]', gives: ['invalid_request_error', 400, null] },
  'an error 401': { prompt: '[[error: 401]]', gives: ['authentication_error', 401, null] },
  'an error 403': { prompt: '[[error: 403]]', gives: ['permission_error', 403, null] },
  'an error 404': { prompt: '[[error: 404]]', gives: ['not_found_error', 404, null] },
  'an error 500': { prompt: '[[error: 500]]', gives: ['api_error', 500, null] },
  'an error 503': {
    prompt: '[[error: 503]]',
    gives: ['overloaded_error', 503, null],
    but: { messages: ['api_error', 503, null] },
  },
  'an error 529': { prompt: '[[error: 529]]', gives: ['overloaded_error', 529, null] },
  'a limit in the words of the API': { prompt: '[[error: 429]]', gives: slow(2000), but: { messages: slow(null) } },
  'seconds to wait': { prompt: '[[error: 429 retry-after=2 message=slow]]', gives: slow(2000) },
  'parts of seconds to wait': { prompt: '[[error: 429 retry-after=34.07 message=slow]]', gives: slow(34_070) },
  'milliseconds to wait': {
    prompt: '[[error: 429 retry-after-ms=1500 message=slow]]',
    gives: slow(1500),
    // It has no such header; its own detail is sent.
    but: { gemini: slow(2000) },
  },
  'a wait in words': {
    prompt: '[[error: 429 message="Please try again in 1.5s."]]',
    gives: slow(1500),
    but: { messages: slow(null), gemini: slow(2000) },
  },
  'a quota that is used up': {
    prompt: '[[error: 429 code=insufficient_quota message="You exceeded your current quota."]]',
    gives: ['billing_error', 429, null],
    // They have no such code.
    but: { messages: slow(null), gemini: slow(null) },
  },
  'an error at the beginning of an answer': {
    prompt: '[[error: 500 after=1]] [[reply: a]]',
    gives: ['api_error', null, null],
    // Its package takes it for an answer of this status.
    but: { responses: ['api_error', 500, null], xai: ['api_error', null, null] },
  },
  'an error within an answer': { prompt: '[[error: 500 after=6]] [[fill: 500]]', gives: ['api_error', null, null] },
  'an error after a call': {
    prompt: '[[tool: read {}]] [[error: 500]] [[reply: done]]',
    gives: ['api_error', 500, null],
  },
};
