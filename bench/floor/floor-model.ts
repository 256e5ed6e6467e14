// The floor's model calls: the SDK as its documentation shows it, streaming, with its own retries off.
import Anthropic from '@anthropic-ai/sdk';
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

/** Asks the model once, with everything that was said. */
export type AskFloorModel = (messages: FloorMessage[]) => Promise<FloorAnswer>;

/** Makes the asking function; calls share the SDK's connections. */
export function createFloorModel(baseUrl: string, tool: ToolSpec): AskFloorModel {
  const client = new Anthropic({ apiKey: 'floor', baseURL: baseUrl, maxRetries: 0 });
  return async (messages) => {
    const stream = await client.messages.create({
      // A name that the SDK does not warn about at every call.
      model: 'scripted-1',
      max_tokens: 1024,
      stream: true,
      tools: [tool],
      messages: messages as Anthropic.MessageParam[],
    });
    return await readAnswer(stream);
  };
}

/** The same through the service's own model client, which spends less on each call than the SDK does by itself. */
export function createPortModel(baseUrl: string, tool: ToolSpec): AskFloorModel {
  const model = createAnthropicModel({ apiKey: 'floor', baseUrl });
  return async (messages) => {
    const answer = await model.ask(
      {
        model: 'scripted-1',
        maxTokens: 1024,
        system: [],
        tools: [tool],
        messages: messages.map(({ role, content }) => ({ role, content: content as ContentBlock[] })),
      },
      { signal: new AbortController().signal, headers: {}, onChunk: () => {} },
    );
    return { content: answer.content as FloorBlock[], wantsTools: answer.stopReason === 'tool_use' };
  };
}

async function readAnswer(stream: AsyncIterable<Anthropic.RawMessageStreamEvent>): Promise<FloorAnswer> {
  const content: FloorBlock[] = [];
  let json = '';
  let stopReason: string | null = null;
  for await (const event of stream) {
    const block = content.at(-1);
    if (event.type === 'content_block_start') {
      const started = event.content_block;
      if (started.type === 'text') content.push({ type: 'text', text: started.text });
      if (started.type === 'tool_use')
        content.push({ type: 'tool_use', id: started.id, name: started.name, input: {} });
      json = '';
    } else if (event.type === 'content_block_delta') {
      if (event.delta.type === 'text_delta' && block?.type === 'text') block.text += event.delta.text;
      if (event.delta.type === 'input_json_delta') json += event.delta.partial_json;
    } else if (event.type === 'content_block_stop') {
      if (block?.type === 'tool_use' && json !== '') block.input = JSON.parse(json);
    } else if (event.type === 'message_delta') {
      stopReason = event.delta.stop_reason;
    }
  }
  if (stopReason === null) throw new Error('the stream ended before the message was complete');
  return { content, wantsTools: stopReason === 'tool_use' };
}
