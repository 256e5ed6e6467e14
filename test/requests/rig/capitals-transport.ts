// A plugin for tests that serves its own models: each answers with the last text that it received,
// in capitals.
import type { PluginApi } from '../../../src/plugins/plugin-api.ts';

export const id = 'capitals';

export function register(api: PluginApi): void {
  api.registerTransport({
    name: 'capitals',
    provider: 'local',
    async send({ request, onSent, onBytes, onEvent }) {
      const body = JSON.stringify(request);
      onSent(body);
      const block = request.messages.at(-1)?.content.at(-1);
      const text = block?.type === 'text' ? block.text.toUpperCase() : 'NOTHING';
      onBytes(text.length);
      onEvent({
        type: 'message_start',
        message: { id: 'msg_local', model: request.model, usage: { input_tokens: 7 } },
      });
      onEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
      for (const word of text.split(/(?<= )/)) {
        onEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: word } });
      }
      onEvent({ type: 'content_block_stop', index: 0 });
      onEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } });
      onEvent({ type: 'message_stop' });
    },
  });
}
