// Follows a turn in the process that runs it, by its events, and shows in its chat that it works: typing, and a message with the text so far. All of it can be
// left out: it is dropped when there is much to do, nothing of it is repeated, and no failure of it reaches the turn.
import { setTimeout as pause } from 'node:timers/promises';
import { mayCommand } from '../../../kernel/rules/chat-command.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import { readEventHorizon, readEvents } from '../../../kernel/views/events.ts';
import type { TurnContext } from '../../../kernel/turn/context.ts';
import type { OpenedTurn } from '../../../kernel/turn/opened-turn.ts';
import { openChat } from '../accounts.ts';
import { createPreview } from './preview.ts';
import { removeLeftOver } from './remove-left-over.ts';
import { createTyping } from './typing.ts';

/** How many turns a process follows at once. */
const FOLLOWED_MAX = 50;
/** How often the events of a turn are read, in milliseconds; a quarter more or less, so that turns do not ask their platform at the same time. */
const READ_MS = 1_500;
const EVENTS_MAX = 1_000;
const FOLLOWED_EVENTS = ['model.delta', 'turn.parked', 'turn.ended'];

interface Chat {
  url: string;
  /** What the turn answers. */
  message: InboundMessage;
}

const followed = new Set<string>();

/** Follows a turn until it ends, or this process does not run it any more. */
export function followTurn(context: TurnContext, turn: OpenedTurn, chat: Chat): void {
  // Another worker has another epoch.
  const name = `${turn.id} ${turn.held.epoch}`;
  if (followed.has(name) || followed.size >= FOLLOWED_MAX) return;
  followed.add(name);
  follow(context, turn, chat)
    .catch((error: unknown) => {
      context.logger.debug({ err: error, turnId: turn.id }, 'A chat could not be shown that its turn works');
    })
    .finally(() => followed.delete(name));
}

async function follow(context: TurnContext, turn: OpenedTurn, { url, message }: Chat): Promise<void> {
  const { config, database } = context;
  // What the model says comes after this.
  let after = (await readEventHorizon(database.views)) - 1n;
  const chat = await openChat(config, url);
  const typing = createTyping(chat, context.logger);
  const preview = createPreview(context, chat, {
    turnId: turn.id,
    url,
    mayStop: mayCommand(message, config.owner.ids),
  });
  const filter = { turn: { id: turn.id, sessionId: turn.session.id }, types: FOLLOWED_EVENTS };
  let said = { call: 0, text: '' };
  typing.show();
  while (turn.held.isTrusted && !context.isDraining()) {
    await pause(READ_MS * (0.75 + context.random() / 2), undefined, { ref: false });
    const { events } = await readEvents(database.views, filter, { after, limit: EVENTS_MAX });
    const before = said.text;
    for (const { id, type, data } of events) {
      after = id;
      if (type === 'turn.parked') return;
      if (type === 'turn.ended') return removeLeftOver({ config, database }, turn.id);
      const { call, text } = data as { call: number; text: string };
      said = { call, text: call === said.call ? said.text + text : text };
    }
    if (turn.held.signal.aborted) continue;
    typing.show();
    // Text of one reading may be the whole answer, which is sent at once.
    if (before !== '' || preview.isShown()) await preview.show(said.text);
  }
}
