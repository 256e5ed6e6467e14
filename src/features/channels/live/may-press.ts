// Who may press the buttons that stop a turn or decide about a request. Other people of the chat see them too; what they would write as text is a message
// for the agent, but their press is not.
import { readMessage } from '../../../kernel/rules/chat-command.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import { findChatWord } from '../../../kernel/use-cases/chat-commands.ts';
import type { Service } from '../../../kernel/use-cases/service.ts';

const COMMAND = /^\/(?:stop|approve|deny)(?:\s|$)/;

/** True for a value of a button that Holdfast has sent by itself: what agents send does not begin with a slash. */
export function isOwnButton(value: string): boolean {
  return COMMAND.test(value);
}

/** False: the value of the button is one of these commands, and the person may not give it. */
export function mayPress(service: Service, body: InboundMessage): boolean {
  if (!isOwnButton(body.text) || findChatWord(service, body) !== null) return true;
  return readMessage(body, service.config.owner.ids).command !== null;
}
