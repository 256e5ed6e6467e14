// Resumes a turn that an earlier worker left open. Nothing is built again: prompt and entries are
// read back, system prompt and tools come from the snapshots that the turn was opened with, and the
// journal says how far it got.
import { factsOfModel } from '../../../config.ts';
import { refOfModel } from '../../../core/models.ts';
import { DEATHS_MAX } from '../../rules/process-deaths.ts';
import { given } from '../../../core/json.ts';
import type { SystemBlock, ToolSpec } from '../../../core/model-request.ts';
import type { ResponseFormat } from '../../../core/response-format.ts';
import { thinkingRequest } from '../../../core/thinking-request.ts';
import type { OpenTurn } from '../../sessions/claim-session.ts';
import { readSnapshots } from '../../sessions/snapshots.ts';
import type { TurnContext } from '../context.ts';
import type { HeldSession } from '../held-session.ts';
import { buildTurn } from './build-turn.ts';
import { toThinkingRequest, providerView } from './open-view.ts';
import { settingsFor } from './write-prompt.ts';
import { logIdsOfOrigin, type OpenedTurn } from '../opened-turn.ts';
import { resolveSettings, buildTranscript, notOpened } from './start-turn.ts';
import type { ClaimWithTranscript } from '../transcript-cache.ts';
import { resumeFallback } from './asked-model.ts';
import { TurnFailed } from '../turn-stop.ts';

/**
 * After so many model calls in a row whose end could not be stored, a turn fails: with any cause,
 * another call would cost money again (G16).
 */
const LOST_CALLS_MAX = 10;

export async function resumeTurn(
  context: TurnContext,
  claim: ClaimWithTranscript,
  open: OpenTurn,
  held: HeldSession,
): Promise<OpenedTurn> {
  const { session } = claim;
  const agent = settingsFor(context.config, resolveSettings(context, session), open.inputs);
  const transcript = buildTranscript(claim);
  const { sampling, formatSha256 = '' } = open.view;
  const snapshots = await readSnapshots(context.store.database, [open.systemSha256, open.toolsSha256, formatSha256]);
  if (session.stop !== null) held.stop(session.stop);
  // Its worker crashed between the opening and the end of a turn that only gives up its input.
  const isGivenUp = open.kind !== 'compaction' && open.promptSeq > session.entrySeq;
  if (open.kind !== 'compaction' && !isGivenUp && transcript.last === null) {
    throw new Error(`The turn ${open.id} is open but its prompt is not on the active path.`);
  }
  // A parked turn is claimed many times during an outage. The lines of the outage say so; a line
  // for each claim would repeat them.
  const isTakenOver = open.park === null;
  if (isTakenOver) context.meter.turnTakenOver(session.lane);
  context.logger[isTakenOver ? 'info' : 'debug'](
    {
      ...logIdsOfOrigin(context, open, session.key),
      agentId: session.agentId,
      kind: open.kind,
      lane: session.lane,
      attempt: open.attempt,
      deaths: open.deaths,
      steps: open.steps,
    },
    isTakenOver ? 'Turn taken over' : 'Parked turn resumed',
  );
  const named = { ...providerView(open.view), model: open.model };
  const level = open.thinking ?? agent.thinking;
  const turn = await buildTurn(context, {
    id: open.id,
    kind: open.kind,
    session,
    agent,
    held,
    transcript,
    inputs: open.inputs,
    request: {
      ...named,
      ...(toThinkingRequest(open.view) ??
        thinkingRequest({ ...named, level, facts: factsOfModel(context.config, refOfModel(named)) })),
      system: (snapshots.get(open.systemSha256) ?? []) as SystemBlock[],
      tools: (snapshots.get(open.toolsSha256) ?? []) as ToolSpec[],
      ...given({ sampling, responseFormat: snapshots.get(formatSha256) as ResponseFormat | undefined }),
    },
    toolset: null,
    view: open.view,
    sessionView: session.view,
    promptSeq: open.promptSeq,
    thinking: open.thinking,
    baseSeq: session.entrySeq,
    failure: isGivenUp ? notOpened() : findFailure(open),
    tokens: { last: 0, reported: 0, added: 0 },
    earlier: open,
  });
  resumeFallback(context, turn, open.fallback);
  return turn;
}

/** Why an open turn fails instead of being resumed; null: it is resumed. */
function findFailure({ deaths, lostCalls }: OpenTurn): TurnFailed | null {
  if (deaths >= DEATHS_MAX) return new TurnFailed('poison', `${deaths} workers crashed while they ran this turn.`);
  if (lostCalls < LOST_CALLS_MAX) return null;
  const message =
    `${lostCalls} model calls in a row were started, and none of their results could be stored: each time the worker stopped, or the ` +
    'database refused. No further call is made. Fix the cause, then retry the turn.';
  return new TurnFailed('calls_lost', message);
}
