// The consequences of a finished turn: decided from values, carried out by the statement that ends the turn.
import { readHeartbeatAnswer, withoutHeartbeatToken } from './heartbeat.ts';
import { interpretReply, takeReplyTags, type ReplyTarget } from './reply-tags.ts';
import { withoutReasoning } from './reasoning-tags.ts';

/** How an input is settled: `answered` with a reply, or `silent` on purpose. */
export interface AnswerOutcome {
  status: 'completed' | 'silent';
  messageStatus: 'answered' | 'silent';
  /** The text that leaves; null when nothing does. */
  reply: string | null;
  /** The message that the reply answers, when the model said so. */
  replyTarget: ReplyTarget | null;
}

export interface ReplyRules {
  /** True when the model was instructed to write its reasoning in tags. */
  hasReasoningTags: boolean;
  /**
   * The text that an acknowledgement of a heartbeat poll may have in addition to its token, in UTF-16 units; null for turns that answer
   * no poll.
   */
  heartbeatAckCharsMax: number | null;
}

const SILENT: AnswerOutcome = { status: 'silent', messageStatus: 'silent', reply: null, replyTarget: null };

/** Decides from the text of the last answer: a reply, or a silent outcome when the model requested it or wrote nothing. */
export function decideOutcome(answer: string, rules: ReplyRules): AnswerOutcome {
  const said = rules.hasReasoningTags ? withoutReasoning(answer) : answer;
  const { text, target } = takeReplyTags(said);
  const reply = withoutTokens(text, rules.heartbeatAckCharsMax);
  return reply === '' ? SILENT : answeredWith(reply, target);
}

/** With this reply, whatever is in it. */
export function answeredWith(reply: string, replyTarget: ReplyTarget | null = null): AnswerOutcome {
  return { status: 'completed', messageStatus: 'answered', reply, replyTarget };
}

/** A text without tags, also without the silent tokens at its edges; empty when it has no other text. */
export function withoutTokens(text: string, heartbeatAckCharsMax: number | null): string {
  const reply = interpretReply(text);
  if (reply.kind === 'silent') return '';
  const rest = withoutHeartbeats(reply.text, heartbeatAckCharsMax);
  // Under a token of heartbeats there may be a silent one.
  return rest === text.trim() ? rest : withoutTokens(rest, heartbeatAckCharsMax);
}

function withoutHeartbeats(text: string, ackCharsMax: number | null): string {
  if (ackCharsMax === null) return withoutHeartbeatToken(text);
  const poll = readHeartbeatAnswer(text, ackCharsMax);
  return poll.isAck ? '' : poll.text.trim();
}
