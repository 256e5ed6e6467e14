// The part of channels in turns: while a turn answers a message of a chat, the chat shows that it
// works. A turn of no chat costs nothing.
import { parseChannelUrl } from '../../../core/channel-address.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import { hasEffects } from '../../../core/session-key.ts';
import type { TurnFeature } from '../../../kernel/turn/context.ts';

export function channelsInTurns(): TurnFeature {
  return {
    async prepare(context, turn) {
      const { kind, body } = turn.journal.at.inputs.at(-1) ?? {};
      const message = body as InboundMessage | undefined;
      const url = message?.deliver?.url;
      if (kind !== 'message' || url === undefined || !hasEffects(turn.session) || parseChannelUrl(url) === null) return;
      // The turn does not wait for it.
      void import('./follow-turn.ts').then(({ followTurn }) => followTurn(context, turn, { url, message: message! }));
    },
  };
}
