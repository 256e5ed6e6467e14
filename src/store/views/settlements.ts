// How messages ended, for those who waited for them: many messages in a few queries.
import { viewMessages, type MessageView } from './messages.ts';
import type { ViewDatabase } from './page.ts';
import { viewTurns, type TurnView } from './turns.ts';

/** `turn` is null when no turn ever took the message. */
export interface SettlementView {
  message: MessageView;
  turn: TurnView | null;
}

/** One for each id, in the order of the ids; null for a message that does not exist. */
export async function viewSettlements(db: ViewDatabase, messageIds: string[]): Promise<(SettlementView | null)[]> {
  const messages = new Map((await viewMessages(db, messageIds)).map((message) => [message.id, message]));
  const turnIds = [...messages.values()].map((message) => message.turnId).filter((id) => id !== null);
  const turns = new Map((await viewTurns(db, [...new Set(turnIds)])).map((turn) => [turn.id, turn]));
  return messageIds.map((id) => {
    const message = messages.get(id);
    return message === undefined ? null : { message, turn: turns.get(message.turnId ?? '') ?? null };
  });
}
