// The directive language of the scripted model: what a user's text tells it to do. A script is a
// list of answers; the n-th call of a turn gets the n-th. Directives stand in double brackets
// anywhere in the text; the rest of the text is the user's own.
//
// Content, in the order in which it is to come:
//   [[reply: text]]                 adds a line of text to the answer
//   [[fill: 5000]]                  adds a text of that many characters
//   [[thinking: text]]              adds a thinking block, signed; [[redacted: data]] a redacted
//                                   one
//   [[tool: name {"a": 1}]]         adds a tool call and ends the answer; the arguments are JSON,
//                                   `{}` when left out; `id=...` after them sets the id of the
//                                   call, `name="..."` another name, blanks and all
//   [[tool: a {}]] & [[tool: b {}]] calls both in one answer
//   [[repeat: 1000 tool a {"n": "$i"}]]  that many answers with one call each; $i counts from 1
//   [[next]]                        ends the answer here; [[empty]] makes it an answer without
//                                   content
// A last answer without a tool call ends the turn. When the script has no such answer, the model
// ends with an echo.
//
// How the answer comes that is being written; say it before its tool call:
//   [[delay: 200]]                  milliseconds before the first byte; [[slow: 50]] between
//                                   events. With `each`: for every answer
//   [[error: 529]]                  an error instead of the answer, once. `times=3`,
//                                   `times=always`; `retry-after=2`, `retry-after-ms=...`,
//                                   `type=...`, `code=...`, `message="..."`; `after=2` puts it into
//                                   the stream, after two events `model=...` limits it, as a cut or
//                                   a stall, to calls of one model
//   [[cut: after=2]]                the connection breaks after two events (0: before any byte);
//                                   [[stall: after=1]] falls silent and stays open. Once each, or
//                                   `times=...`
//   [[malformed]]                   tool arguments that are no JSON; [[malformed: stream]] an event
//                                   that is no JSON
//   [[arguments: {a: 'b'}]]         tool arguments that come exactly as they stand here
//   [[stop: max_tokens]]            another stop reason
//   [[usage: input=9 output=5 cache-read=0 cache-write=0]]   other figures
// Several errors, cuts and stalls of one answer come one after another, then the answer. `times`
// counts within a turn.
//
// Which models a part of the text is for:
//   [[for: model-a model-b]]        from here to the next `[[for]]`, or the end of the text, the
//                                   directives apply to calls of these models alone
//   [[for: others]]                 the same for all models that no `[[for]]` of the text names
// What comes before the first `[[for]]` applies to every model. Each model has a script of its own
// then, and `times` counts for each model.
import type { Directive, DirectiveParameters } from './read-directives.ts';
import { readDirectives, ScriptError } from './read-directives.ts';

export type ScriptBlock =
  | { kind: 'text'; text: string }
  | { kind: 'thinking'; text: string }
  | { kind: 'redacted'; data: string }
  | { kind: 'tool'; name: string; inputJson: string; id: string | null };

/**
 * What replaces an answer; `model`: only for that model. `after` is the number of events sent
 * before it; null for an error: none, it is an answer of its own.
 */
const BATCH_OUTCOMES = ['errored', 'expired', 'canceled', 'missing', 'broken'] as const;

export type ScriptFault =
  | {
      kind: 'error';
      times: number;
      model?: string;
      after: number | null;
      status: number;
      type: string | null;
      message: string | null;
      errorCode: string | null;
      retryAfter: string | null;
      retryAfterMs: string | null;
    }
  | { kind: 'cut' | 'stall'; times: number; model?: string; after: number }
  /** How a request of a message batch ends; `type`: that of an error. */
  | { kind: 'batch'; times: number; outcome: (typeof BATCH_OUTCOMES)[number]; type: string };

interface ScriptUsage {
  input?: number;
  output?: number;
  'cache-read'?: number;
  'cache-write'?: number;
}

export interface ScriptAnswer {
  blocks: ScriptBlock[];
  /** How many calls in a row get this answer. */
  count: number;
  /** An answer without blocks gets the echo, unless it is meant to be empty. */
  isEmpty: boolean;
  delayMs: number | null;
  slowMs: number | null;
  faults: ScriptFault[];
  stopReason: string | null;
  usage: ScriptUsage | null;
  malformed: 'input' | 'stream' | null;
  /** The arguments of its tool calls, in place of those that the calls name. */
  rawArguments: string | null;
}

export interface Script {
  answers: ScriptAnswer[];
  /** Apply to every answer that does not set its own. */
  delayMsEach: number;
  slowMsEach: number;
  /** The user's text besides directives, per text; empty where nothing is left. */
  ownTexts: string[];
  /** Whether another model may have another script. */
  isOfModel: boolean;
}

const DELAY_MS_MAX = 600_000;
const REPEAT_MAX = 1_000_000;
const FILL_CHARS_MAX = 16 * 1024 * 1024;
const FILL = 'The quick brown fox jumps over the lazy dog. ';

/**
 * Whether a text may hold directives; cheap, and may be wrong about text in double brackets that is
 * none.
 */
export function mayHoldDirectives(text: string): boolean {
  return text.includes('[[');
}

/** The last line that a user wrote, as the model says it back. */
export function echoOf(ownText: string): string {
  return `You said: ${ownText.slice(ownText.lastIndexOf('\n') + 1)}`;
}

/** Stands for the models that no `[[for]]` of the text names. */
const OTHER_MODELS = 'others';

/**
 * Reads the script that one prompt, made of one or more texts, has for a model; null when none of
 * them holds a directive. A text without any, beside one that does, is said back in its place. A
 * directive with a mistake makes the model answer with an explanation.
 */
export function parseScript(texts: readonly string[], model = ''): Script | null {
  const writer = new ScriptWriter();
  let hasDirectives = false;
  try {
    for (const text of texts) {
      const { directives, ownText } = readDirectives(text);
      writer.script.ownTexts.push(ownText);
      if (directives.length === 0 && ownText !== '') writer.addText(echoOf(ownText));
      hasDirectives ||= directives.length > 0;
      writer.script.isOfModel ||= directives.some(({ name }) => name === 'for');
      for (const directive of directivesFor(model, directives)) {
        writer.apply(directive.name, directive.body, directive.parameters, directive.isJoined);
      }
    }
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    return {
      ...new ScriptWriter().script,
      answers: [{ ...emptyAnswer(), blocks: [{ kind: 'text', text: error.message }] }],
    };
  }
  if (!hasDirectives) return null;
  writer.endIfBegun();
  return writer.script;
}

/** The directives that apply to calls of a model. Throws `ScriptError` for a `[[for]]` without one. */
function directivesFor(model: string, directives: readonly Directive[]): Directive[] {
  const isNamed = directives.some(({ name, parameters }) => name === 'for' && parameters.has(model));
  let isApplied = true;
  return directives.filter(({ name, parameters }) => {
    if (name !== 'for') return isApplied;
    isApplied = parameters.has(model) || (parameters.word() === OTHER_MODELS && !isNamed);
    return false;
  });
}

/**
 * The answer that the `position`-th call (from 0) of a turn gets, and which repetition of it this
 * is; null past the end.
 */
export function answerAt(script: Script, position: number): { answer: ScriptAnswer; repetition: number } | null {
  let before = 0;
  for (const answer of script.answers) {
    if (position < before + answer.count) return { answer, repetition: position - before + 1 };
    before += answer.count;
  }
  return null;
}

class ScriptWriter {
  readonly script: Script = { answers: [], delayMsEach: 0, slowMsEach: 0, ownTexts: [], isOfModel: false };
  #answer = emptyAnswer();
  #isBegun = false;

  apply(name: string, body: string, parameters: DirectiveParameters, isJoined: boolean): void {
    switch (name) {
      case 'reply':
        return this.addText(body);
      case 'fill':
        return this.addText(fillOf(parameters.first(FILL_CHARS_MAX)));
      case 'thinking':
        return this.#add({ kind: 'thinking', text: body });
      case 'redacted':
        return this.#add({ kind: 'redacted', data: body });
      case 'tool':
        this.#add({
          kind: 'tool',
          name: parameters.text('name') ?? parameters.tool(),
          inputJson: parameters.json,
          id: parameters.text('id'),
        });
        if (!isJoined) this.#end();
        return;
      case 'repeat':
        return this.#repeat(parameters);
      case 'next':
        return this.#end();
      case 'empty':
        this.#answer.isEmpty = true;
        return this.#end();
      case 'arguments':
        this.#answer.rawArguments = body;
        this.#isBegun = true;
        return;
      default:
        return this.#modify(name, parameters);
    }
  }

  /** Adds a line of text to the answer. */
  addText(text: string): void {
    const last = this.#answer.blocks.at(-1);
    if (last?.kind === 'text') last.text += `\n${text}`;
    else this.#add({ kind: 'text', text });
  }

  endIfBegun(): void {
    if (this.#isBegun) this.#end();
  }

  #add(block: ScriptBlock): void {
    this.#answer.blocks.push(block);
    this.#isBegun = true;
  }

  #end(): void {
    this.script.answers.push(this.#answer);
    this.#answer = emptyAnswer();
    this.#isBegun = false;
  }

  #repeat(parameters: DirectiveParameters): void {
    this.#answer.count = parameters.first(REPEAT_MAX);
    this.#add({ kind: 'tool', name: parameters.tool(), inputJson: parameters.json, id: null });
    this.#end();
  }

  #modify(name: string, parameters: DirectiveParameters): void {
    const answer = this.#answer;
    if ((name === 'delay' || name === 'slow') && parameters.has('each')) {
      this.script[name === 'delay' ? 'delayMsEach' : 'slowMsEach'] = parameters.first(DELAY_MS_MAX);
      return;
    }
    this.#isBegun = true;
    switch (name) {
      case 'delay':
        answer.delayMs = parameters.first(DELAY_MS_MAX);
        return;
      case 'slow':
        answer.slowMs = parameters.first(DELAY_MS_MAX);
        return;
      case 'error':
        answer.faults.push(errorOf(parameters));
        return;
      case 'cut':
      case 'stall':
        answer.faults.push({ kind: name, ...parameters.occurrence(), after: parameters.number('after') ?? 1 });
        return;
      case 'batch':
        answer.faults.push(batchFaultOf(parameters));
        return;
      case 'malformed':
        answer.malformed = parameters.has('stream') ? 'stream' : 'input';
        return;
      case 'stop':
        answer.stopReason = parameters.word();
        return;
      case 'usage':
        answer.usage = usageOf(parameters);
        return;
      default:
        throw new ScriptError(name, 'is no directive');
    }
  }
}

function fillOf(chars: number): string {
  return FILL.repeat(Math.ceil(chars / FILL.length)).slice(0, chars);
}

function errorOf(parameters: DirectiveParameters): ScriptFault {
  return {
    kind: 'error',
    ...parameters.occurrence(),
    after: parameters.number('after'),
    status: parameters.first(599),
    type: parameters.text('type'),
    message: parameters.text('message'),
    errorCode: parameters.text('code'),
    retryAfter: parameters.text('retry-after'),
    retryAfterMs: parameters.text('retry-after-ms'),
  };
}

function batchFaultOf(parameters: DirectiveParameters): ScriptFault {
  const word = parameters.word();
  const outcome = BATCH_OUTCOMES.find((known) => known === word);
  if (outcome === undefined) throw new ScriptError('batch', `needs one of ${BATCH_OUTCOMES.join(', ')}`);
  const type = parameters.tool();
  return { kind: 'batch', times: parameters.times(), outcome, type: type === word ? 'api_error' : type };
}

function usageOf(parameters: DirectiveParameters): ScriptUsage {
  const usage: ScriptUsage = {};
  for (const name of ['input', 'output', 'cache-read', 'cache-write'] as const) {
    const figure = parameters.number(name);
    if (figure !== null) usage[name] = figure;
  }
  return usage;
}

function emptyAnswer(): ScriptAnswer {
  return {
    blocks: [],
    count: 1,
    isEmpty: false,
    delayMs: null,
    slowMs: null,
    faults: [],
    stopReason: null,
    usage: null,
    malformed: null,
    rawArguments: null,
  };
}
