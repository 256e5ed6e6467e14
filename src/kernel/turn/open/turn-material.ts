// The inputs of a turn's assembly, and what its steps need of the claim.
import type { AgentSettings } from '../../../config.ts';
import { viewAfterReset } from '../../../core/view.ts';
import type { TurnId } from '../../../core/ids.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import { isOwnKind } from '../../../prompt/user-prompt.ts';
import type { SessionKind } from '../../../core/session-key.ts';
import type { SessionView } from '../../../core/view.ts';
import type { Claim, PromptedKind, WaitingInput } from '../../sessions/claim-session.ts';
import type { Past } from './open-view.ts';

export interface TurnMaterial {
  turnId: TurnId;
  claim: Extract<Claim, { kind: 'claimed' }>;
  /** The inputs that the turn answers, oldest first; at least one. */
  inputs: WaitingInput[];
  agent: AgentSettings;
  /** What its requests will show of the past. */
  past: Past;
}

/** What the steps need of the claim. */
export interface PromptFacts {
  kind: PromptedKind;
  sessionKind: SessionKind;
  /** The bodies of the inputs. */
  messages: InboundMessage[];
  /** The last of them when a person sent it; null for what Holdfast writes itself. */
  message: InboundMessage | null;
  isNewSession: boolean;
  /** What earlier turns of the transcript fixed. */
  view: SessionView;
}

export function toPromptFacts({ claim, inputs }: TurnMaterial): PromptFacts {
  const { session } = claim;
  const kind = choosePromptedKind(inputs);
  const messages = inputs.map((input) => input.body as InboundMessage);
  const isNewSession = session.leafSeq === null;
  return {
    kind,
    // The store writes only kinds of `sessionKindOf`.
    sessionKind: session.kind as SessionKind,
    messages,
    message: isOwnKind(kind) ? null : (messages.at(-1) ?? null),
    isNewSession,
    view: isNewSession ? viewAfterReset(session.view) : session.view,
  };
}

/**
 * The kind of the prompt that these inputs become: that of the first, since inputs of different kinds never share a turn. A compaction
 * has no prompt; where a kind is needed all the same, it is a message.
 */
export function choosePromptedKind(inputs: readonly Pick<WaitingInput, 'kind'>[]): PromptedKind {
  const kind = inputs[0]?.kind ?? 'message';
  return kind === 'compaction' ? 'message' : kind;
}
