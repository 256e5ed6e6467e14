// The floor's model calls: the service's own client, so that both sides pay the same for a call.
// The peers use it, too.
import type { ContentBlock } from '../../src/core/content.ts';
import type { ToolSpec } from '../../src/core/model-request.ts';
import { createAnthropicModel } from '../../src/model/anthropic.ts';
import type { FloorMessage } from './floor-database.ts';

/** A complete answer: its content blocks, and whether it asks for tools. */
export interface FloorAnswer {
  content: FloorBlock[];
  wantsTools: boolean;
}

export type FloorBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown };

/** Asks the model once, with all messages of the conversation. */
export type AskFloorModel = (messages: readonly FloorMessage[]) => Promise<FloorAnswer>;

/** Makes the asking function; calls share the client's connections. */
export function createFloorModel(baseUrl: string, tool: ToolSpec): AskFloorModel {
  const model = createAnthropicModel({ apiKey: 'floor', baseUrl });
  return async (messages) => {
    const answer = await model.ask(
      {
        model: 'scripted-1',
        maxTokens: 1024,
        system: [],
        tools: [tool],
        // The database returns JSON, and the floor stored nothing else.
        messages: messages.map(({ role, content }) => ({ role, content: content as ContentBlock[] })),
      },
      { signal: new AbortController().signal, headers: {}, onChunk: () => {} },
    );
    return { content: answer.content as FloorBlock[], wantsTools: answer.stopReason === 'tool_use' };
  };
}
