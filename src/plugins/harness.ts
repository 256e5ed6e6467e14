// What a harness is: something of a plugin that answers turns in place of the built-in loop (a
// coding agent, another runtime). It is given what the model would be asked, and gives an answer;
// everything around it stays Holdfast's: the transcript, the tool calls with their ledger,
// steering, deadlines, and the commit of the answer.
import type { ContentBlock } from '../core/content.ts';
import type { ModelMessage, ModelStopReason, ToolSpec, Usage } from '../core/model-request.ts';

export interface Harness {
  /**
   * 1 to 64 of `a-z 0-9 _ -`, neither `built-in` nor `auto`: what `harness.runtime` of an agent
   * names it by.
   */
  readonly id: string;
  /** Among those that support a model, the one with the highest value is used; absent: 0. */
  readonly priority?: number;
  /**
   * Whether it supports a model; called when a turn is opened. Must be quick. If it throws, it
   * counts as no.
   */
  supports(target: HarnessTarget): boolean;
  /**
   * Answers once. After an answer with tool calls it is called again, with their results appended.
   * It is called once for each answer and never again for the same one: an error fails the turn,
   * whatever the harness had done by then. After an abort its answer is ignored.
   */
  run(attempt: HarnessAttempt): Promise<HarnessAnswer | string>;
}

export interface HarnessTarget {
  provider: string;
  /** The provider's own model id. */
  model: string;
}

/** The input of a harness. Frozen. */
export interface HarnessAttempt extends HarnessTarget {
  readonly sessionKey: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly turnId: string;
  /** The number of the requested answer in the turn, from 1. The same for all attempts at it. */
  readonly callNo: number;
  /** Absolute. */
  readonly workspaceDir: string;
  readonly thinking: string;
  readonly system: string;
  /** The prompt of the turn is the last user message, or the messages after it. */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  /** Aborts when the turn ends early; its reason says why. */
  readonly signal: AbortSignal;
  /** Streams text to clients that watch the turn. */
  readonly onText: (text: string) => void;
}

/** An answer: texts, and calls of tools that Holdfast must run (Holdfast makes the ids). */
export interface HarnessAnswer {
  content: string | readonly ({ type: 'text'; text: string } | { type: 'tool_use'; name: string; input: object })[];
  /** Absent: 0 of all. */
  usage?: Partial<Usage>;
  /** The cost of the answer in US dollars; absent: unknown. */
  costUsd?: number;
}

/** A harness with checks around it: its answers are validated. */
export interface CheckedHarness {
  id: string;
  priority: number;
  /** Never throws. */
  supports(target: HarnessTarget): boolean;
  /**
   * Rejects with the reason of the signal immediately after an abort; with `HarnessError` for a
   * fault of the harness.
   */
  run(attempt: HarnessAttempt): Promise<HarnessReading>;
}

export interface HarnessReading {
  content: ContentBlock[];
  stopReason: ModelStopReason;
  usage: Usage;
  /** Null: not known. */
  costUsd: number | null;
}

/** A harness threw, or gave something that is no answer. */
export class HarnessError extends Error {
  readonly code = 'harness_failed';
  readonly harnessId: string;

  constructor(harnessId: string, reason: string, cause?: unknown) {
    super(`The harness ${harnessId} ${reason}`, { cause });
    this.name = 'HarnessError';
    this.harnessId = harnessId;
  }
}
