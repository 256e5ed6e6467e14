// The ids of calls as their provider gave them, for the requests in which it gets them back: some have more in them than an id (a signature of
// Gemini's, by way of LiteLLM). Everywhere else a call has an id of ours. The history keeps the provider's for the model that gave it alone (G34).
import { changeContent } from '../../core/content.ts';
import type { ModelMessage } from '../../core/model-request.ts';
import { giveCallId, type CallIdForm } from '../../history/provider-family.ts';

/** The longest id of a provider that is kept, in bytes. */
export const PROVIDER_ID_BYTES_MAX = 8_192;

/**
 * The messages with these ids. One that an earlier call of the same request has stays away: that call has ours, in the form that the provider takes. An id depends on
 * the calls before it alone, so it is the same in every request of a conversation. The same list when no call has one.
 */
export function withProviderIds(messages: readonly ModelMessage[], form: CallIdForm): readonly ModelMessage[] {
  if (!messages.some(({ content }) => content.some((block) => providerIdOf(block) !== undefined))) return messages;
  const used = new Set<string>();
  const ids = new Map<string, string>();
  return messages.map((message) =>
    changeContent(message, (block) => {
      if (block.type === 'tool_use') {
        const wanted = providerIdOf(block);
        const id = wanted !== undefined && !used.has(wanted) ? wanted : giveCallId(block.id, form, used);
        used.add(id);
        ids.set(block.id, id);
        return id === block.id ? block : { ...block, id };
      }
      if (block.type !== 'tool_result') return block;
      const id = ids.get(block.tool_use_id) ?? block.tool_use_id;
      return id === block.tool_use_id ? block : { ...block, tool_use_id: id };
    }),
  );
}

function providerIdOf(block: ModelMessage['content'][number]): string | undefined {
  return block.type === 'tool_use' ? block.origin?.callId : undefined;
}
