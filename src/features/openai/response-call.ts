// A response: the request that began it, and its current state.
// The session of a response that names one is found here, too.
import type { AnyRequest, Api } from '../../api/route.ts';
import { cutHead } from '../../core/text.ts';
import { toFinishReason } from './rules/chat-objects.ts';
import type { SegmentEnd } from './rules/segment.ts';
import { endedState, responseObject, type ResponseIdentity, type ResponseState } from './rules/response-objects.ts';
import { formatResponseId, parseResponseId, type ResponseName } from '../../core/client-ids.ts';
import { findClientTurn, isHiddenResponse, readNewest } from './views/turns.ts';
import { notFound, Problem } from '../../api/problem.ts';
import { calledTools, openCall, peek, toProblem, type Call, type OpenCall } from './answer-call.ts';
import type { Followed } from './follow-turn.ts';
import { copySession } from '../../kernel/use-cases/change-transcript.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { parseSessionKey } from '../../api/path-parameters.ts';
import { ownTarget, textHeader } from './begin-call.ts';
import { hashText, type Target } from './known-history.ts';
import { chooseModel } from './models.ts';
import type { ResponseRequest } from './read-response.ts';

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

// The session of a response that names one: the conversation, or the response before it.

/** Null: the request names none. Throws `Problem` 404 for an unknown response. */
export async function conversationTarget(
  api: Api,
  request: AnyRequest,
  { body, keyed }: { body: ResponseRequest; keyed: KeyedRequest },
): Promise<Target | null> {
  if (body.conversation !== undefined) {
    const { agent } = chooseModel(api.context.config, body.model, textHeader(request, 'x-holdfast-agent-id'));
    return ownTarget(api.context, request, { kind: 'conversation', agentId: agent.id, name: body.conversation });
  }
  return body.previousId === undefined ? null : await afterResponse(api, body.previousId, keyed);
}

/** The session of a response if nothing follows it there; otherwise a fork after its turn, the same one for a request with the same key. */
async function afterResponse(api: Api, id: string, keyed: KeyedRequest): Promise<Target> {
  const { views, service } = api.context;
  const name = await knownName(api, id).catch((error: unknown) => {
    throw error instanceof Problem ? unknown(id) : error;
  });
  const turn = await findClientTurn(views, name);
  if (turn === null) throw unknown(id);
  const { isNewest, lastEntryId } = await readNewest(views, turn);
  const key = parseSessionKey(turn.sessionKey, 'previous_response_id');
  if (isNewest || lastEntryId === null) return { key, isNamed: true };
  const fork = parseSessionKey(
    `${cutHead(key, 160)}:after-${hashText(JSON.stringify([id, keyed.scope, keyed.key]))}`,
    'previous_response_id',
  );
  await copySession(service, { sourceKey: key, entryId: lastEntryId, targetKey: fork, idempotency: null });
  return { key: fork, isNamed: true };
}

function unknown(id: string): Problem {
  const problem = notFound(`response ${cutHead(id, 100)}`);
  return new Problem(problem.code, `previous_response_id: ${problem.message}`, {
    errors: [{ path: 'previous_response_id', message: problem.message }],
  });
}
