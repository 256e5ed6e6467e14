// What the benchmarks say to the scripted model, and the history that sessions begin with. The
// floor, the service and the peers get the same text.
import type { ToolSpec } from '../../src/core/model-request.ts';

/** The tool of every benchmark: in process, no I/O, a short answer. */
const benchTool = 'session_status';

/** The tool as the floor and the peers show it to the model. The service describes its own. */
export const benchToolSpec: ToolSpec = {
  name: benchTool,
  description: 'Says how the session is.',
  input_schema: { type: 'object' },
};

/** A turn of two model calls with one tool call between them. */
export const turnText = `[[tool: ${benchTool} {}]] [[reply: Done.]]`;

/** A plain turn: one model call and no tool. */
export const plainTurnText = '[[reply: Done.]]';

/** The agent turn, when each model call takes so long. */
export function slowTurnText(delayMs: number): string {
  return `[[delay: ${delayMs} each]] ${turnText}`;
}

/** A turn of this many tool calls, one after the other. */
export function longTurnText(steps: number): string {
  return `[[repeat: ${steps} tool ${benchTool} {}]] [[reply: Done.]]`;
}

export interface HistoryMessage {
  role: 'user' | 'assistant';
  content: { type: 'text'; text: string }[];
}

const bytesPerEntry = 400;

/** Entries of a usual history: 20 kB. */
export const historyEntriesUsual = 50;

/**
 * A conversation of this many entries of 400 bytes, user and assistant alternating; 50 of them are
 * 20 kB.
 */
export function historyOf(entries: number): HistoryMessage[] {
  return Array.from({ length: entries }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: [
      {
        type: 'text',
        text: `${index}: ${'The quick brown fox jumps over the lazy dog. '.repeat(10)}`.slice(0, bytesPerEntry),
      },
    ],
  }));
}
