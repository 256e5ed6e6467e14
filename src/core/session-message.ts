// Messages that one session sends to another: the task of a subagent, what its parent adds while it works, what an agent sends
// to another and the answer. They are stored like a person's messages, with a mark that a person's never have: their text is a
// model's, has no authority, and contains no chat commands.
import type { EntryProvenance } from './entry.ts';
import { exchangeNote, type Exchange } from './exchange.ts';
import type { InboundMessage } from './inbound.ts';
import { ownPart, type PromptPart } from '../prompt/prompt-parts.ts';
import { neutralise } from '../prompt/untrusted-text.ts';

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
  /** Of an exchange between agents. */
  exchange?: Exchange;
  /** What the costs of its turn count for (src/kernel/inbox/charged-inputs.ts). */
  chargedTo?: object;
}

/** True for a message of another session. Messages from outside were checked when they were accepted: they have no such mark. */
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

/** The description of a subagent's role in its system prompt. The same for all of a kind: it contains nothing of the task. */
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
