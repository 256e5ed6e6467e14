// The number of messages that one turn of a session takes: the session's own setting, otherwise the configuration's.
import type { ClaimedSession } from '../../store/claimed-session.ts';
import type { TurnContext } from '../context.ts';

/** The largest number of messages of one turn, and of messages that join it together. */
export function capOf({ config }: Pick<TurnContext, 'config'>, { queueCap }: Pick<ClaimedSession, 'queueCap'>): number {
  return queueCap ?? config.messages.queue.cap;
}
