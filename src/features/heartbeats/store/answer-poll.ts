// The turn of a heartbeat has ended: its result is stored.
import type { TurnId } from '../../../core/ids.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { NOTHING, type Effects } from '../../../kernel/effects/turn-effects.ts';

export type PollResult = 'acknowledged' | 'alert' | 'duplicate' | 'failed';

declare module '../../../kernel/effects/turn-effects.ts' {
  interface EffectKinds {
    /** The turn answered a heartbeat. */
    'poll-answered': { result: PollResult };
  }
}

export const answerPoll = literalQuery({
  name: 'answer-poll',
  purpose: 'Store the result of the heartbeat that a turn has answered.',
  locking: 'The heartbeat.',
  text: `update holdfast.heartbeats h set result = $2 from holdfast.inbox i where i.turn_id = $1 and i.kind = 'heartbeat' and h.message_id = i.id`,
  values: (turnId: TurnId, result: PollResult) => [turnId, result],
});

export const EFFECTS: Effects = {
  'poll-answered'(tx, { turnId, result }) {
    void answerPoll(tx, turnId, result);
    return NOTHING;
  },
};
