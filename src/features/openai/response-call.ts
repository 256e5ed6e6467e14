// A response: the request that began it, and its current state.
// The session of a response that names one is found here, too, and items that a request names.
import { z } from 'zod';
import type { FindPlace } from '../../api/belongs.ts';
import type { Principal } from '../../api/key-ring.ts';
import { isInside, type Scope } from '../../core/scope.ts';
import { findRoot } from '../../kernel/views/scope.ts';
import type { AnyRequest, Api } from '../../api/route.ts';
import { cutHead } from '../../core/text.ts';
import type { ChatToolCall } from './rules/chat-objects.ts';
import { endedState, responseObject, type ResponseIdentity, type ResponseState } from './rules/response-objects.ts';
import { formatResponseId, parseItemId, parseResponseId, type ResponseName } from '../../core/client-ids.ts';
import { hideResponse } from './store/client-requests.ts';
import { findClientTurn, isHiddenResponse, readNewest, readOutput } from './views/turns.ts';
import { notFound, Problem } from '../../api/problem.ts';
import { calledTools, openCall, peek, readEnd, toProblem, type Call, type Followed } from './answer-call.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { parseSessionKey } from '../../api/parse-json.ts';
import { textHeader } from './begin-call.ts';
import { forkAfter, ownTarget, type Target } from './find-session.ts';
import { chooseModel } from './models.ts';
import type { ResponseRequest } from './read-response.ts';

/** A response belongs to the session of its message. */
export const findResponsePlace: FindPlace = async ({ params: { responseId: id = '' } }, scope, db) => {
  const name = parseResponseId(id);
  const root = name && (await findRoot(db, 'message', name.messageId));
  if (isInside(scope, root)) return root;
  throw notFound(`response ${cutHead(id, 100)}`);
};

/** The response of an id. Throws `Problem` 404. */
export async function findResponse(api: Api, id: string, { isSentWhole }: { isSentWhole: boolean }): Promise<Call> {
  const name = await knownName(api, id);
  return await openCall(api, { ...name, isReplay: false, ignored: [] }, { isSentWhole });
}

/** Hides a response. Throws `Problem` 404. */
export async function removeResponse(api: Api, id: string): Promise<void> {
  const { begun } = await findResponse(api, id, { isSentWhole: true });
  await hideResponse(api.context.service.database, begun);
}

/**
 * The response with an id. Throws `Problem` 404 for an unknown id, and for a response that was
 * deleted.
 */
export async function knownName({ context }: Pick<Api, 'context'>, id: string): Promise<ResponseName> {
  const name = parseResponseId(id);
  if (name === null || (await isHiddenResponse(context.views, name))) throw notFound(`response ${cutHead(id, 100)}`);
  return name;
}

export function buildIdentity({ turn, begun }: Call): ResponseIdentity {
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
export async function readState(api: Api, call: Call, followed: Followed): Promise<ResponseState> {
  const { text, usage } = call.segment;
  if (followed.kind === 'ended' && followed.end.kind !== 'failed') {
    const { calls, finish } = await readEnd(api, call, followed.end);
    return endedState(finish, { text, calls, usage });
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
  const { owner, scope } = request.principal;
  if (body.conversation !== undefined) {
    const { agent } = chooseModel(api.context.config, scope, {
      name: body.model,
      agentId: textHeader(request, 'x-holdfast-agent-id'),
    });
    return ownTarget(api.context, { kind: 'conversation', agentId: agent.id, owner, name: body.conversation });
  }
  return body.previousId === undefined ? null : await afterResponse(api, { id: body.previousId, scope, keyed });
}

/**
 * The session of a response if nothing follows it there; otherwise a fork after its turn, the same
 * one for a request with the same key.
 */
async function afterResponse(
  api: Api,
  { id, scope, keyed }: { id: string; scope: Scope; keyed: KeyedRequest },
): Promise<Target> {
  const { views } = api.context;
  const name = await knownName(api, id).catch((error: unknown) => {
    throw error instanceof Problem ? unknown('response', id, 'previous_response_id') : error;
  });
  const turn = isInside(scope, await findRoot(views, 'message', name.messageId))
    ? await findClientTurn(views, name)
    : null;
  if (turn === null) throw unknown('response', id, 'previous_response_id');
  const { isNewest, lastEntryId } = await readNewest(views, turn);
  const key = parseSessionKey(turn.sessionKey, 'previous_response_id');
  if (isNewest || lastEntryId === null) return { key, isNamed: true };
  const fork = await forkAfter(api.context, keyed, { key, entryId: lastEntryId, word: 'after', of: id });
  return { key: fork.key, isNamed: true };
}

// Items that a request names by their ids, as clients do that rely on what is stored.

const reference = z.looseObject({ type: z.literal('item_reference').nullish(), id: z.string() });

/**
 * The body with the items in place of references to them. Throws `Problem` 404 for an item that
 * this caller has not got, or that is gone.
 */
export async function withItems(api: Pick<Api, 'context'>, { principal, body }: AnyRequest): Promise<unknown> {
  const { input, ...rest } = (body ?? {}) as { input?: unknown };
  if (!Array.isArray(input)) return body;
  const known = new Map<string, Promise<ReadResponseItems>>();
  const items: unknown[] = [];
  for (const [at, item] of input.entries()) {
    const { data } = reference.safeParse(item);
    if (data === undefined || (data.type !== 'item_reference' && 'role' in data)) items.push(item);
    else items.push(await findItem(api, data.id, { principal, path: `input[${at}].id`, known }));
  }
  return { ...rest, input: items };
}

interface ReadResponseItems {
  text: string;
  calls: readonly ChatToolCall[];
}

async function findItem(
  api: Pick<Api, 'context'>,
  id: string,
  { principal, path, known }: { principal: Principal; path: string; known: Map<string, Promise<ReadResponseItems>> },
): Promise<object> {
  const name = parseItemId(id);
  if (name === null) throw unknown('item', id, path);
  const response = formatResponseId(name.response);
  const reading = known.get(response) ?? readItems(api, name.response, principal);
  known.set(response, reading);
  const { text, calls } = await reading;
  if (name.call === null && text !== '') return { type: 'message', role: 'assistant', content: text };
  const call = name.call === null ? undefined : calls[name.call - 1];
  if (call === undefined) throw unknown('item', id, path);
  const { id: callId, ...called } = call;
  return { type: 'input' in call ? 'custom_tool_call' : 'function_call', call_id: callId, ...called };
}

const NO_ITEMS: ReadResponseItems = { text: '', calls: [] };

/** The items of a response of this owner; none of one that is not, or that was deleted. */
async function readItems(
  { context }: Pick<Api, 'context'>,
  name: ResponseName,
  { owner, scope }: Principal,
): Promise<ReadResponseItems> {
  if (!isInside(scope, await findRoot(context.views, 'message', name.messageId))) return NO_ITEMS;
  const turn = await findClientTurn(context.views, name);
  if (turn?.caller?.owner !== owner || (await isHiddenResponse(context.views, name))) return NO_ITEMS;
  const { text, calls } = await readOutput(context.views, turn, name.afterStep);
  return { text, calls: await calledTools(context, turn, calls) };
}

function unknown(what: 'response' | 'item', id: string, path: string): Problem {
  const problem = notFound(`${what} ${cutHead(id, 100)}`);
  return new Problem(problem.code, `${path}: ${problem.message}`, { errors: [{ path, message: problem.message }] });
}
