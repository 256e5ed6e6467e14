// A request that is not assembled: it was fixed before its turn.
import type { ModelRequest } from './model-request.ts';
import type { ThinkingLevel } from './models.ts';

/** A request that was fixed before the turn that sends it. */
export interface GivenRequest {
  /** Its last message is the prompt of the turn, and a user's. */
  request: ModelRequest;
  /** The level by which its thinking was chosen; null: that of the agent. */
  thinking: ThinkingLevel | null;
  /** True when the model that is asked wrote the answers in it: it can read its thinking. */
  isSameModel: boolean;
}
