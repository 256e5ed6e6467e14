// The answer to `/help`: every chat command with its effect.
import { QUEUE_MODES } from './queue-mode.ts';
import { THINKING_LEVELS } from './prompt/thinking-directive.ts';
import { REASONING_LEVELS } from './reasoning.ts';

export const QUEUE_USAGE = `/queue <${QUEUE_MODES.join('|')}> [debounce:<2s>] [cap:<25>] [drop:<wait|old|new|summarize>], or /queue default`;
export const THINK_USAGE = `/think <${THINKING_LEVELS.join('|')}>`;
export const REASONING_USAGE = `/reasoning <${REASONING_LEVELS.join('|')}>`;

/** The text. `resetTriggers`: the messages that begin a new transcript. */
export function chatHelp(resetTriggers: readonly string[]): string {
  const resets = resetTriggers.map((trigger) => `${trigger} [text]`).join(', ');
  return [
    'Commands:',
    '/help: shows this list',
    '/status: shows the model, the settings and the tokens of this session',
    '/usage: shows the tokens and the cost of this session',
    '/stop: ends the running turn and cancels the waiting messages',
    ...(resets === '' ? [] : [`${resets}: begins a new transcript`]),
    '/compact [what to keep in mind]: summarizes the transcript now',
    '/model [provider/model, an alias or "default"]: shows or sets the model of this session',
    `${THINK_USAGE}: sets how much the model thinks; within a message, for that message only`,
    `${REASONING_USAGE}: sets whether the model's thinking is hidden, precedes replies, or is sent as live events`,
    `${QUEUE_USAGE}: sets what a message does when the session is busy; the mode within a message, for that message only`,
  ].join('\n');
}
