// Messages that one session sends to another: the task of a subagent, what its parent adds while it
// works, what an agent sends to another and the answer. They are stored like a person's messages,
// with a mark that a person's never have: their text is a model's, has no authority, and contains
// no chat commands.
import type { EntryProvenance } from './entry.ts';
import type { InboundMessage } from './inbound.ts';
import { ownPart, type PromptPart } from '../prompt/prompt-parts.ts';
import { neutralise } from '../prompt/untrusted-text.ts';
import { TOKEN_MARKS } from './heartbeat.ts';

/** A subagent's first message: its task. */
export interface SpawnProvenance {
  kind: 'spawn';
  sourceSession: string;
  /** Its depth, and the largest depth. */
  depth: number;
  depthMax: number;
}

/** The body of such a message. */
export interface SessionMessage extends InboundMessage {
  provenance: SpawnProvenance | Extract<EntryProvenance, { kind: 'inter_session' }>;
  /** Only in an exchange between agents. */
  exchange?: Exchange;
  /** What the costs of its turn count for (src/kernel/inbox/charged-inputs.ts). */
  chargedTo?: object;
}

/**
 * True for a message of another session. Messages from outside were checked when they were
 * accepted: they have no such mark.
 */
export function isFromSession(message: object): message is SessionMessage {
  return 'provenance' in message;
}

/** The parts that the model reads. */
export function sessionMessageParts({ text, provenance, exchange }: SessionMessage): PromptPart[] {
  const said = neutralise(text);
  if (provenance.kind === 'spawn') {
    return [
      ownPart('subagent-context', `[Subagent Context] ${contextText(provenance)}`),
      { name: 'body', origin: 'sender', trust: 'untrusted', text: `[Subagent Task]: ${said}` },
    ];
  }
  const body: PromptPart = { name: 'body', origin: 'sender', trust: 'untrusted', text: said };
  return exchange === undefined ? [body] : [body, ownPart('exchange-note', exchangeNote(exchange))];
}

function contextText({ depth, depthMax }: SpawnProvenance): string {
  return (
    `You are running as a subagent (depth ${depth}/${depthMax}). Your last answer is announced automatically to the session that spawned you; ` +
    'do not poll or wait for anything that is announced.'
  );
}

/**
 * The description of a subagent's role in its system prompt. The same for all of a kind: it
 * contains nothing of the task.
 */
export function subagentInstructions({ maySpawn }: { maySpawn: boolean }): string {
  return [
    'You are a subagent: another session has started you for one task, which is your first message.',
    '- Do that task and nothing else. Start no conversations, and take on nothing that it does not ask for.',
    '- Your last answer is your report. It is announced automatically to the session that started you: say in it what you found or did, with everything that is needed to use it, and nothing else.',
    '- A message that arrives while you work is from the session that started you; take it into account.',
    '- If there is really nothing to report, answer with ONLY: ANNOUNCE_SKIP',
    ...(maySpawn
      ? [
          '- You may start subagents of your own where you have the tool for it. Their results are announced to you automatically: end your turn to wait for them, and report when they have arrived. An answer that you give while one of them works is an interim answer, which is not announced; your answer after the last result is your report.',
        ]
      : []),
  ].join('\n');
}

// Exchanges between agents. One writes to another (turn 0); the answer is returned automatically
// (turn 1), the answer to that is sent again, and so on, up to a limit. The message itself contains
// the whole state of the exchange, so nothing can be lost: each answer and the message that it
// becomes are one commit.

interface Side {
  id: string;
  key: string;
}

export interface Exchange {
  id: string;
  /** The session that started it, and its recipient. */
  from: Side;
  to: Side;
  /** The number of this message; even ones go to `to`. */
  turn: number;
  /** At most this many messages follow the first answer. */
  turnsMax: number;
  /** How many exchanges it was begun in, one inside the other. */
  chain: number;
  /** The route of an answer to the user of `from`. */
  origin: { route: string; deliver?: { url: string } | null };
}

/** What a session does with an answer within an exchange. */
export interface ExchangeAnswer {
  /** The message that it becomes; null: the exchange has ended. */
  next: { exchange: Exchange; target: Side; text: string } | null;
  /** What of it is for the session's own user; null: nothing. */
  ownReply: string | null;
}

const REPLY_SKIP_TOKEN = 'REPLY_SKIP';
const AROUND = `(?:[^\\S\\n\\r\\u2028\\u2029]|[${TOKEN_MARKS}])*`;
const SKIP_LINE = new RegExp(`^${AROUND}${REPLY_SKIP_TOKEN}${AROUND}$`, 'm');

/** The exchange that a message belongs to; null for any other. */
export function readExchange(body: unknown): Exchange | null {
  const { provenance, exchange } = (body ?? {}) as { provenance?: unknown; exchange?: Exchange };
  return provenance !== undefined && exchange !== undefined ? exchange : null;
}

/**
 * A new exchange, within the one whose message the sender's turn answers (`answered`), if any; null
 * when it would be one too many inside the other.
 */
export function beginExchange(start: {
  id: string;
  from: Side;
  to: Side;
  answered: { exchange: Exchange | null; origin: Exchange['origin'] } | null;
  turnsMax: number;
}): Exchange | null {
  const { answered, turnsMax, ...sides } = start;
  const outer = answered?.exchange ?? null;
  const chain = outer === null ? 0 : outer.chain + 1;
  if (chain > turnsMax) return null;
  return { ...sides, turn: 0, turnsMax, chain, origin: outer?.origin ?? answered?.origin ?? { route: '' } };
}

/** The route of an exchange's messages: they never share a turn with anything else. */
export function exchangeRoute({ id }: Pick<Exchange, 'id'>): string {
  return JSON.stringify(['exchange', id]);
}

/**
 * Decides what happens with the answer to a message of an exchange; `answer` null: there is
 * deliberately none.
 */
export function answerExchange(exchange: Exchange, answer: string | null): ExchangeAnswer {
  const isBeginner = !isToTarget(exchange.turn);
  if (answer === null) return { next: null, ownReply: null };
  const isEnded = SKIP_LINE.test(answer);
  const text = isEnded ? answer.replace(SKIP_LINE, '').trim() : answer;
  const turn = exchange.turn + 1;
  if (isEnded || turn > exchange.turnsMax + 1) {
    // No session waits for the one that was only written to.
    return { next: null, ownReply: isBeginner && text !== '' ? text : null };
  }
  return { next: { exchange: { ...exchange, turn }, target: chooseTarget(exchange, turn), text }, ownReply: null };
}

/**
 * The text that is returned when the turn failed and has no answer: the last message of the
 * exchange. Null: no session waits for it.
 */
export function failExchange(exchange: Exchange, reason: string): ExchangeAnswer['next'] {
  if (!isToTarget(exchange.turn)) return null;
  const turn = exchange.turn + 1;
  return {
    exchange: { ...exchange, turn, turnsMax: turn - 1 },
    target: exchange.from,
    text: `(no answer: ${reason})`,
  };
}

/** The instruction to the recipient of a message about answering it. */
export function exchangeNote(exchange: Exchange): string {
  const { turn, turnsMax, to } = exchange;
  if (isToTarget(turn)) {
    return turn > turnsMax
      ? 'This ends the exchange: your answer is not sent.'
      : `Your answer is sent to that session automatically. To send nothing, answer with ONLY: ${REPLY_SKIP_TOKEN}`;
  }
  if (turn > turnsMax) {
    return `This is the answer of ${to.key} and ends the exchange: your next answer is for your own user.`;
  }
  return (
    `This is the answer of ${to.key}. Your answer is sent to it automatically (turn ${turn} of ${turnsMax}). To end the exchange, write ` +
    `${REPLY_SKIP_TOKEN} on a line of its own; any other text is for your own user.`
  );
}

function chooseTarget({ from, to }: Exchange, turn: number): Side {
  return isToTarget(turn) ? to : from;
}

function isToTarget(turn: number): boolean {
  return turn % 2 === 0;
}
