// A response: the request that began it, and its current state.
import type { Api } from '../../api/route.ts';
import { cutHead } from '../../core/cut-text.ts';
import { toFinishReason } from './rules/chat-objects.ts';
import type { SegmentEnd } from './rules/segment.ts';
import { endedState, responseObject, type ResponseIdentity, type ResponseState } from './rules/response-objects.ts';
import { parseResponseId, formatResponseId, type ResponseName } from '../../core/client-ids.ts';
import { isHiddenResponse } from './views/turns.ts';
import { notFound, Problem } from '../../api/problem.ts';
import { calledTools, openCall, peek, toProblem, type Call, type OpenCall } from './answer-call.ts';
import type { Followed } from './follow-turn.ts';

/** The response of an id. Throws `Problem` 404. */
export async function findResponse(api: Api, id: string, { isSentWhole }: { isSentWhole: boolean }): Promise<Call> {
  const name = await knownName(api, id);
  return await openCall(api, { ...name, isReplay: false, ignored: [] }, { isSentWhole });
}

/** The response with an id. Throws `Problem` 404 for an unknown id, and for a response that was deleted. */
export async function knownName({ context }: Pick<Api, 'context'>, id: string): Promise<ResponseName> {
  const name = parseResponseId(id);
  if (name === null || (await isHiddenResponse(context.views, name))) throw notFound(`response ${cutHead(id, 100)}`);
  return name;
}

export function buildIdentity({ turn, begun }: OpenCall): ResponseIdentity {
  const { model = 'holdfast', ...asked } = turn.caller?.asked ?? {};
  return { id: formatResponseId(begun), created: Math.floor(turn.receivedAt / 1000), model: String(model), asked };
}

export async function responseNow(api: Api, call: Call): Promise<object> {
  const followed = await peek(api, call);
  const identity = buildIdentity(call);
  if (followed !== null) return responseObject(identity, await readState(api, call, followed));
  const status = call.segment.turnId === null ? 'queued' : 'in_progress';
  return responseObject(identity, { status, text: call.segment.text, calls: [], usage: null, error: null });
}

/** The state of a response whose turn has ended, or waits for the client. */
export async function readState(
  { context }: Api,
  { segment, turn }: OpenCall,
  followed: Followed,
): Promise<ResponseState> {
  const { text, usage } = segment;
  if (followed.kind === 'ended' && followed.end.kind !== 'failed') {
    const { end } = followed;
    const calls = end.kind === 'calls' ? await calledTools(context, turn, end.calls) : [];
    return endedState(toFinish(end), { text, calls, usage });
  }
  const problem = toProblem(followed);
  const wasStopped = followed.kind === 'ended' && followed.end.kind === 'failed' && followed.end.wasStopped;
  return {
    status: wasStopped ? 'cancelled' : 'failed',
    text,
    calls: [],
    usage,
    error: wasStopped ? null : { code: toErrorCode(problem), message: problem.message },
  };
}

function toFinish(end: Exclude<SegmentEnd, { kind: 'failed' }>) {
  return end.kind === 'calls' ? ('tool_calls' as const) : toFinishReason(end.stopReason);
}

/** OpenAI has a small set of error codes for responses. */
function toErrorCode({ code }: Problem): string {
  return code === 'rate_limit_exceeded' || code === 'insufficient_quota' ? 'rate_limit_exceeded' : 'server_error';
}
