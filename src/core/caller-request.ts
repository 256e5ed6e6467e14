// The further fields of an OpenAI client's request besides its message: tools that it runs itself, and settings of the model.
// It is part of the body of the message, so a retry of the turn finds it again.
import type { ImageBlock } from './content.ts';
import type { Sampling, ToolSpec } from './model-request.ts';

export interface CallerRequest {
  /** Tools that the client runs: the turn waits until it has sent their results. */
  tools?: ToolSpec[];
  /** False: of several calls of its tools in one answer, only the first is made. Absent: all are. */
  isParallel?: false;
  /** The most tokens of an answer. */
  maxTokens?: number;
  sampling?: Sampling;
  images?: ImageBlock[];
  /** True when the history that the client sent differs from the stored one. */
  differs?: true;
  /** What answers repeat of the request, in OpenAI's names. */
  asked?: Record<string, unknown>;
}

/** The request of the client that sent one of these inputs; null: none of them came from such a client. They never share a turn. */
export function findCaller(inputs: readonly { body: unknown }[]): CallerRequest | null {
  for (const { body } of inputs) {
    const { caller } = body as { caller?: CallerRequest };
    if (caller !== undefined) return caller;
  }
  return null;
}

/** True when the tool of this name is one that the client runs. */
export function isCallersTool(caller: CallerRequest | null, name: string): boolean {
  return caller?.tools?.some((tool) => tool.name === name) ?? false;
}

/** The sampling of a call: a tool that must be called must be called in the first step only, or the turn would never end. */
export function samplingAt(sampling: Sampling | undefined, step: number): Sampling | undefined {
  if (sampling?.tool_choice === undefined || step <= 1) return sampling;
  const { tool_choice: choice, ...rest } = sampling;
  return choice.type === 'none' ? sampling : rest;
}
