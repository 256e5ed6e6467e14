// Decides what the scripted model answers to a request: the script's answer at this point of the
// turn, or an echo of the user's last line.
import { SCRIPTED_ID_START } from '../src/core/models.ts';
import type { InputFigures } from './cache-figures.ts';
import { tokensOf } from './cache-figures.ts';
import { findPrompt, latestPromptKey } from './find-prompt.ts';
import type { Script, ScriptAnswer, ScriptBlock, ScriptFault } from './parse-script.ts';
import { answerAt, echoOf, parseScript } from './parse-script.ts';
import { findAllCalls } from './obey-all.ts';
import type { Prompt } from './prompt.ts';
import { fitText } from './output-schema.ts';
import type { ProviderError } from './provider-error.ts';
import type { ScriptMemory } from './script-memory.ts';
import { signatureOf } from './signature.ts';
import { isCompacted, summaryPromptOf } from './summary-prompt.ts';
import type { MessagesRequest, WireBlock, WireMessage } from './wire.ts';

export type AnswerBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; inputJson: string };

export interface WireUsage {
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}

export interface ComposedAnswer {
  id: string;
  model: string;
  blocks: AnswerBlock[];
  stopReason: string;
  usage: WireUsage;
  delayMs: number;
  slowMs: number;
  /** Replaces the answer, or cuts it off. */
  fault: ScriptFault | null;
  malformed: 'input' | 'stream' | null;
}

/** The inputs of the answer besides the request. */
export interface Situation {
  /**
   * Names the turn, for errors that happen a number of times: from the caller's audit headers;
   * empty when there are none.
   */
  turn: string;
  figures: InputFigures;
  memory: ScriptMemory;
  /** Makes ids that never repeat; the prefix shows their kind. */
  newId: (prefix: string) => string;
  /** What the ids of tool calls begin with. */
  callIdStart: string;
  /** The size of the context window, in tokens. */
  contextTokens: number;
  /** The error for a prompt of more tokens. */
  tooLong: (tokens: number, tokensMax: number) => ProviderError;
  /** True: calls are made that any part of the request asks for. */
  isObedient: boolean;
  /** True for a request of a batch. */
  isBatch?: boolean;
}

/**
 * Composes the answer to a valid request. Throws `ProviderError` when the prompt does not fit the
 * context window.
 */
export function composeAnswer(request: MessagesRequest, situation: Situation): ComposedAnswer {
  const { figures, contextTokens } = situation;
  if (figures.totalTokens > contextTokens) throw situation.tooLong(figures.totalTokens, contextTokens);
  const { turn, memory } = situation;
  const prompt =
    summaryPromptOf(request.messages) ??
    (situation.isObedient ? findAllCalls(request) : null) ??
    promptOf(request.messages, turn, memory);
  const script = parseScript(prompt.texts, request.model);
  const found = script && answerAt(script, prompt.position);
  const answer = found?.answer ?? null;
  const newCallId = () => situation.newId(situation.callIdStart);
  const scripted = blocksFor(prompt, script, answer, found?.repetition ?? 1, newCallId);
  const isMeant = answer?.isEmpty === true || (answer?.stopReason ?? null) !== null;
  const blocks = isMeant ? scripted : fitted(scripted, request.outputSchema);
  for (const block of blocks) {
    if (block.type !== 'tool_use') continue;
    for (const id of [block.id, LAST_CALL]) memory.rememberCall(placeOfCall(turn, prompt.key, id), prompt.position);
  }
  const scriptModel = script?.isOfModel === true ? request.model : '';
  const place = `${turn}|${request.messages.length}|${prompt.position}|${scriptModel}|${prompt.key}`;
  return {
    id: situation.newId(SCRIPTED_ID_START),
    model: request.model,
    blocks,
    stopReason: answer?.stopReason ?? (blocks.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn'),
    usage: usageOf(answer, blocks, figures),
    delayMs: answer?.delayMs ?? script?.delayMsEach ?? 0,
    slowMs: answer?.slowMs ?? script?.slowMsEach ?? 0,
    fault: answer ? memory.takeFault(place, answer.faults, (fault) => isMet(fault, request.model, situation)) : null,
    malformed: answer?.malformed ?? null,
  };
}

/**
 * The blocks of an answer whose text has to fit a schema; a call of a tool comes before such an
 * answer.
 */
function fitted(blocks: AnswerBlock[], schema: MessagesRequest['outputSchema']): AnswerBlock[] {
  if (schema === undefined || blocks.some(({ type }) => type === 'tool_use')) return blocks;
  const text = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
  return [...blocks.filter(({ type }) => type !== 'text'), { type: 'text', text: fitText(text, schema) }];
}

/** Nothing is cut or silent in a batch, and a live call meets none of its faults. */
function isMet(fault: ScriptFault, model: string, { isBatch = false }: Pick<Situation, 'isBatch'>): boolean {
  if (fault.kind === 'batch') return isBatch;
  return (fault.model ?? model) === model && (!isBatch || fault.kind === 'error');
}

function promptOf(messages: readonly WireMessage[], turn: string, memory: ScriptMemory): Prompt {
  const firstKey = turn === '' ? null : memory.firstKeyOf(turn, () => latestPromptKey(messages));
  const prompt = findPrompt(messages, firstKey);
  if (!isCompacted(messages)) return prompt;
  // Answers of this turn may have been compacted: the calls of the last one that is left say which
  // it was.
  const last = messages.findLast(({ role }) => role === 'assistant');
  const ids = Array.isArray(last?.content) ? last.content.map(idOf) : [LAST_CALL];
  const positions = ids.flatMap((id) => memory.positionOfCall(placeOfCall(turn, prompt.key, id)) ?? []);
  return { ...prompt, position: Math.max(prompt.position, ...positions.map((position) => position + 1)) };
}

function idOf({ id }: WireBlock): string {
  return typeof id === 'string' ? id : '';
}

/** Represents the last call of a turn whose answers were all compacted. */
const LAST_CALL = 'last';

function placeOfCall(turn: string, promptKey: string, id: string): string {
  return `${turn}|${promptKey}|${id}`;
}

function blocksFor(
  prompt: Prompt,
  script: Script | null,
  answer: ScriptAnswer | null,
  repetition: number,
  newCallId: () => string,
): AnswerBlock[] {
  if (answer?.isEmpty) return [];
  if (answer && answer.blocks.length > 0) {
    return answer.blocks.flatMap((block) => blockFor(withArguments(block, answer), repetition, newCallId) ?? []);
  }
  return [{ type: 'text', text: closingText(prompt, script) }];
}

function withArguments(block: ScriptBlock, { rawArguments }: ScriptAnswer): ScriptBlock {
  return block.kind === 'tool' && rawArguments !== null ? { ...block, inputJson: rawArguments } : block;
}

function blockFor(block: ScriptBlock, repetition: number, newCallId: () => string): AnswerBlock | null {
  switch (block.kind) {
    case 'text':
      return block.text === '' ? null : { type: 'text', text: block.text };
    case 'thinking':
      return { type: 'thinking', thinking: block.text, signature: signatureOf(block.text) };
    case 'redacted':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool': {
      const inputJson = block.inputJson.replaceAll('$i', String(repetition));
      return { type: 'tool_use', id: block.id ?? newCallId(), name: block.name, inputJson };
    }
  }
}

/**
 * The answer that ends a turn without a script: to the newest text, otherwise to the prompt around
 * its directives.
 */
function closingText(prompt: Prompt, script: Script | null): string {
  const isScriptPrompt = script !== null && prompt.latestTexts === prompt.texts;
  const texts = script === null || !isScriptPrompt ? prompt.latestTexts : [];
  const own = texts.length > 0 ? texts : (script?.ownTexts ?? prompt.texts).filter((text) => text !== '');
  return own.length > 0 ? own.map(plainReply).join('\n') : 'Done.';
}

function plainReply(text: string): string {
  if (/^Read HEARTBEAT\.md/m.test(text)) return 'HEARTBEAT_OK';
  const [, title = '', result] = /^\[System Message\]([^\n]*)\n+Result:\n([^\n]*)/m.exec(text) ?? [];
  const announced = /A (?:subagent|cron)[^\n]*/.exec(title);
  if (announced) return `${announced[0]} It says: ${result}`;
  if (/^A new session was started via \/new or \/reset/m.test(text)) {
    return 'Hello! This is a new session. I am the scripted model: I say back what you write, or do what your directives say.';
  }
  return echoOf(text);
}

function usageOf(answer: ScriptAnswer | null, blocks: readonly AnswerBlock[], figures: InputFigures): WireUsage {
  const asked = answer?.usage;
  return {
    input_tokens: asked?.input ?? figures.inputTokens,
    output_tokens: asked?.output ?? Math.max(1, tokensOf(blocks.reduce((chars, block) => chars + charsOf(block), 0))),
    cache_read_input_tokens: asked?.['cache-read'] ?? figures.cacheReadTokens,
    cache_creation_input_tokens: asked?.['cache-write'] ?? figures.cacheWriteTokens,
  };
}

function charsOf(block: AnswerBlock): number {
  switch (block.type) {
    case 'text':
      return block.text.length;
    case 'thinking':
      return block.thinking.length;
    case 'redacted_thinking':
      return block.data.length;
    case 'tool_use':
      return block.name.length + block.inputJson.length;
  }
}
