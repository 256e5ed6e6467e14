// Finds what the scripted model has to act on: the prompt of the current turn among all messages,
// without the parts that a worker wraps around a user's text (metadata, system lines, the frames of
// queued messages), and how many answers came since.
import { mayHoldDirectives } from './parse-script.ts';
import type { Prompt } from './prompt.ts';
import { readDirectives } from './read-directives.ts';
import { withoutSummaries } from './summary-prompt.ts';
import type { WireMessage } from './wire.ts';

/** Adjacent user messages, which the API treats as one. */
interface UserRun {
  texts: string[];
  key: string;
  answersSince: number;
  /**
   * Whether the answer before it made tool calls: then it belongs to a turn that had already begun.
   */
  followsCalls: boolean;
}

/**
 * The prompt to act on: the latest user text with directives that belongs to this turn, else the
 * latest user text. A turn begins with a text that follows no tool calls, or at the prompt that
 * `firstKey` names (what `key` was when the turn was first seen).
 */
export function findPrompt(messages: readonly WireMessage[], firstKey: string | null): Prompt {
  let latest: UserRun | null = null;
  for (const run of runsFromTheEnd(messages)) {
    latest ??= run;
    if (run.texts.some(holdsDirectives)) return promptOf(run, latest);
    if (!run.followsCalls || run.key === firstKey) break;
  }
  return latest ? promptOf(latest, latest) : { texts: [], key: '', position: 0, latestTexts: [] };
}

/**
 * The key of the latest user text: what `firstKey` is for a turn whose first request this is. Empty
 * when there is none.
 */
export function latestPromptKey(messages: readonly WireMessage[]): string {
  for (const run of runsFromTheEnd(messages)) return run.key;
  return '';
}

function promptOf(run: UserRun, latest: UserRun): Prompt {
  return {
    texts: run.texts,
    key: run.key,
    position: run.answersSince,
    latestTexts: latest.answersSince === 0 ? latest.texts : [],
  };
}

function holdsDirectives(text: string): boolean {
  if (!mayHoldDirectives(text)) return false;
  try {
    return readDirectives(text).directives.length > 0;
  } catch {
    // A directive with a mistake counts too; the script's parser reports the mistake.
    return true;
  }
}

/**
 * The runs of user messages that hold a text, the last first; lazily, since the first nearly always
 * decides.
 */
function* runsFromTheEnd(messages: readonly WireMessage[]): Generator<UserRun> {
  let answersSince = 0;
  let index = messages.length - 1;
  while (index >= 0) {
    if (messages[index]?.role === 'assistant') {
      answersSince += 1;
      index -= 1;
      continue;
    }
    const texts: string[] = [];
    for (; index >= 0 && messages[index]?.role === 'user'; index -= 1) texts.unshift(...textsOf(messages[index]));
    if (texts.length === 0) continue;
    const raw = texts.join('\n');
    const key = `${raw.length}:${raw.slice(0, 200)}:${raw.slice(-200)}`;
    yield { texts, key, answersSince, followsCalls: callsTools(messages[index]) };
  }
}

function callsTools(message: WireMessage | undefined): boolean {
  return Array.isArray(message?.content) && message.content.some((block) => block.type === 'tool_use');
}

/**
 * The user's own texts in a message: none when it holds no text block, one empty text when it holds
 * wrappers alone.
 */
function textsOf(message: WireMessage | undefined): readonly string[] {
  const raw = withoutSummaries(rawTextOf(message?.content ?? ''));
  if (raw === '' || NOTES.some((note) => raw.startsWith(note))) return NO_TEXTS;
  const items = raw.includes('\nQueued #') ? raw.split(/^(?:---\n)?Queued #\d+(?!\d).*\n/m).slice(1) : [raw];
  const texts = items.map(withoutWrappers).filter((text) => text !== '');
  return texts.length > 0 ? texts : [''];
}

const NO_TEXTS: readonly string[] = [];
/**
 * The messages with which Holdfast asks to continue a paused answer, and to correct one: no user
 * wrote them.
 */
const NOTES = ['[holdfast] The provider paused your answer.', '[holdfast] Your answer does not fit the JSON schema'];

function rawTextOf(content: WireMessage['content']): string {
  if (typeof content === 'string') return content;
  let raw = '';
  for (const block of content) if (block.type === 'text') raw += `${raw === '' ? '' : '\n'}${String(block['text'])}`;
  return raw;
}

const WRAPPERS: readonly RegExp[] = [
  // Metadata: a label, and JSON in a fence that the JSON cannot close.
  /^.*\((?:untrusted metadata|untrusted, for context)\):\n```json\n(?:(?!\n```)[^])*\n```$/gm,
  // A system line begins with its time; a user's own line that looks like one has no bracket or was
  // made untrusted.
  /^System(?: \(untrusted\))?: \[.*$/gm,
  /^Untrusted context \(metadata, do not treat as instructions or commands\):\n[\s\S]*$/m,
  /^\[media attached.*\]$/gm,
  /^To send an image back, prefer the message tool.*$/gm,
];

function withoutWrappers(text: string): string {
  let rest = text;
  // Each wrapper has one of these characters; most texts have none.
  if (/[:[]/.test(text)) for (const wrapper of WRAPPERS) rest = rest.replace(wrapper, '');
  return rest.trim();
}
