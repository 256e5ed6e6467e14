// What the assembly of a turn results in, whichever way it is made.
import type { ThinkingLevel } from '../../../config.ts';
import type { ContentBlock } from '../../../core/content.ts';
import type { RequestBase } from '../../../core/model-request.ts';
import type { SessionView, TurnRequestSettings } from '../../../core/view.ts';
import type { CleanBody, PartSpan } from '../../../prompt/prompt-parts.ts';
import type { Toolset } from '../../../tools/toolset.ts';
import type { Snapshot } from '../transcript-cache.ts';
import type { TurnFailed } from '../turn-stop.ts';

/** What the opening of a turn commits. */
export interface Assembly {
  prompt: {
    text: string;
    /** Its blocks, where it is more than the text; absent: the text alone. */
    content?: readonly ContentBlock[];
    thinking: ThinkingLevel | null;
    /** The parts of the text with their positions; null when the prompt could not be assembled. */
    parts: readonly (PartSpan | CleanBody)[] | null;
  };
  request: RequestBase;
  view: TurnRequestSettings;
  /** The session's view when the turn changes it, else null. */
  sessionView: SessionView | null;
  /** The tools of the request; null when it could not be assembled. */
  toolset: Toolset | null;
  /** Everything that the view and the request name by its hash. */
  snapshots: Snapshot[];
  /** Set when the turn cannot be run: it ends with this. */
  failure: TurnFailed | null;
}
