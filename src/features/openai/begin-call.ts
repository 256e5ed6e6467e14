// The first half of a request of a client: it becomes a message of a session, or the results that a
// turn waits for. All of it is stored before the answer begins, and a request that comes again
// finds what the first one has begun.
import { cutHead } from '../../core/text.ts';
import { modelRefOf } from '../../config.ts';
import { type CallerRequest, pickOptions, withOptions } from '../../core/input-options.ts';
import { given } from '../../core/json.ts';
import { parseKeyName } from '../../core/key-role.ts';
import { channelOf, type InboundMessage } from '../../core/inbound.ts';
import type { Sampling } from '../../core/model-request.ts';
import { knownModel, thinkingFormOf, modelOfRef } from '../../core/models.ts';
import { parseCallerCallId } from '../../core/client-ids.ts';
import {
  ConversationFault,
  readConversation,
  type ClientMessage,
  type ClientResult,
  type Conversation,
} from './rules/conversation.ts';
import { beginHistory, keyOfClientRequest } from './store/client-requests.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { transaction } from '../../database/transaction.ts';
import { confineSessions } from '../../kernel/use-cases/service.ts';
import { settleCalls } from '../../kernel/turn/journal/settle-calls.ts';
import { acceptMessage, reachSession } from '../../kernel/use-cases/accept-message.ts';
import { toTakenMessage } from '../../api/answer-stored.ts';
import { findClientTurn, findKeyedMessage, readCallerCalls } from './views/turns.ts';
import { sha256OfJson, idempotencyMismatch } from '../../api/idempotency-key.ts';
import { isSessionSeen } from '../../api/belongs.ts';
import { isInside, rootOfKey, type Scope } from '../../core/scope.ts';
import { findRoot, findRootOf } from '../../kernel/views/scope.ts';
import { fieldProblem, notFound, Problem } from '../../api/problem.ts';
import type { Principal } from '../../api/key-ring.ts';
import type { ApiContext } from '../../api/context.ts';
import { type AnyRequest, ownerOfAnswers } from '../../api/route.ts';
import { chooseModel, type ChosenModel } from './models.ts';
import type { ClientRequest } from './read-parts.ts';
import { chooseTools } from './read-tools.ts';
import { findHistory, findTarget, type KnownHistory, type Target } from './find-session.ts';

/** The message that a request has stored, or that it continues. */
export interface BegunCall {
  messageId: string;
  /** The answer contains the turn's output after this step; 0: all of it. */
  afterStep: number;
  /** True: an equal request has stored the message before. */
  isReplay: boolean;
  ignored: string[];
}

const INSTRUCTIONS_CHARS_MAX = 100_000;

/** Reads the messages of a request. Throws `Problem` with the path of the fault. */
export function parseConversation(messages: readonly ClientMessage[], list: string): Conversation {
  try {
    const conversation = readConversation(messages, list);
    if ((conversation.instructions?.length ?? 0) <= INSTRUCTIONS_CHARS_MAX) return conversation;
    throw new ConversationFault(list, `the system messages have more than ${INSTRUCTIONS_CHARS_MAX} characters`);
  } catch (error) {
    throw error instanceof ConversationFault ? fieldProblem(error.path, error.message) : error;
  }
}

interface RequestOfClient {
  body: ClientRequest;
  conversation: Conversation;
  /** The session that a form names in its own way; null: the request names none in that form. */
  target?: (keyed: KeyedRequest) => Promise<Target | null>;
}

/** Begins a request, or finds the call that an equal request began. Throws `Problem`. */
export async function beginCall(
  context: ApiContext,
  request: AnyRequest,
  { body, conversation, target }: RequestOfClient,
): Promise<BegunCall> {
  const { owner, scope } = request.principal;
  const agentId = textHeader(request, 'x-holdfast-agent-id');
  const chosen = chooseModel(context.config, scope, { name: body.model, agentId });
  const mode = readChoice(request, 'x-holdfast-history', ['server', 'fork']);
  readChoice(request, 'x-holdfast-on-disconnect', ['continue', 'abort']);
  const { tools, toolChoice, isOwnToolForced, ...left } = chooseTools(context.config, chosen.agent, body.tools);
  const asked = { ...body, ignored: [...body.ignored, ...left.ignored] };
  if (conversation.fresh.kind === 'results')
    return await beginResults(context, scope, { results: conversation.fresh.results, ignored: asked.ignored });
  const keyed = await resolveKey(context, request);
  const { sampling, ignored } = chooseSampling(chosen, asked, toolChoice);
  // Before the history is compared: it contains the message of an equal request.
  const known = await findKeyedMessage(context.views, keyed);
  if (known?.isEqual === false) throw idempotencyMismatch();
  if (known !== null) return { messageId: known.messageId, afterStep: 0, isReplay: true, ignored };
  const place =
    (await target?.(keyed)) ??
    (await findTarget(context, request, {
      agentId: chosen.agent.id,
      ...given({ named: textHeader(request, 'x-holdfast-session-key') }),
      user: body.user,
      keyed,
      conversation,
      mode,
    }));
  await refuseOutsideTarget(context, scope, place);
  await refuseLateResults(context, place, conversation);
  const history = await findHistory(context, {
    target: place,
    history: conversation.history,
    mode,
    keyed,
  });
  const caller: CallerRequest = {
    owner,
    ...given({ tools: tools?.length ? tools : undefined, isOwnToolForced }),
    ...(body.isParallel ? {} : { isParallel: false }),
    ...(body.maxTokens === undefined ? {} : { maxTokens: body.maxTokens }),
    ...(sampling === undefined ? {} : { sampling }),
    ...(conversation.fresh.images.length === 0 ? {} : { images: conversation.fresh.images }),
    ...(history.differs ? { differs: true } : {}),
    asked: { model: body.model, ...(body.metadata === undefined ? {} : { metadata: body.metadata }), ...body.asked },
  };
  const message: InboundMessage = {
    text: conversation.fresh.text,
    mode: 'followup',
    // The client has its answer in the response.
    deliver: null,
    caller,
    ...(chosen.model === undefined ? {} : { model: chosen.model }),
    ...(body.thinking === undefined ? {} : { thinking: body.thinking }),
    ...withOptions(pickOptions({ tools: undefined, tags: body.metadata, responseFormat: body.responseFormat })),
    ...(conversation.instructions === null ? {} : { extraSystemPrompt: conversation.instructions }),
  };
  const taken = await storeMessage(context, request.principal, { history, message, keyed });
  return { messageId: taken.message.id, isReplay: taken.kind === 'duplicate', afterStep: 0, ignored };
}

/** Stores a message, and before it the history that its session begins with. */
async function storeMessage(
  { service }: ApiContext,
  { owner, scope, name }: Principal,
  { history, message, keyed }: { history: KnownHistory; message: InboundMessage; keyed: KeyedRequest },
) {
  // Its own conversations belong to the key; a session that exists keeps its root.
  const root = isInside(scope, history.key) ? null : rootOfKey(owner);
  // Before its message. Sent again, nothing is inserted.
  if (history.begin.entries.length > 0) {
    const sessionId = await reachSession(service, { key: history.key, channel: channelOf(message), root });
    await beginHistory(service.database, sessionId, history.begin);
  }
  const accepted = await acceptMessage(service, {
    sessionKey: history.key,
    body: message,
    root,
    idempotency: keyed,
    sentBy: parseKeyName(name),
  });
  if (accepted.kind === 'refused') throw new Problem('model_not_found', accepted.message);
  return toTakenMessage(accepted);
}

/** The key of the request, or the one that it or an equal earlier one is given. */
async function resolveKey(
  context: ApiContext,
  { idempotency, principal, headers, body, list }: AnyRequest,
): Promise<KeyedRequest> {
  if (idempotency !== null) return idempotency;
  const sha256 = sha256OfJson(body);
  const owner = ownerOfAnswers(principal);
  const scope = `${owner} openai ${list.path}`;
  const isRepeated = Number(headers['x-stainless-retry-count'] ?? 0) >= 1;
  const key = await keyOfClientRequest(context.service.database, { owner, sha256, scope }, isRepeated);
  return { scope, key, sha256 };
}

/**
 * Throws `Problem` 404 for a session outside of the scope. One that there is not yet is inside when
 * it will belong to the caller: its name is made of that of the caller.
 */
async function refuseOutsideTarget({ views }: ApiContext, scope: Scope, { key, isOwn }: Target): Promise<void> {
  if (scope === null || (isOwn && (await findRootOf(views, key)) === null)) return;
  if (!(await isSessionSeen(key, scope, views))) throw notFound(`session ${key}`);
}

/**
 * A turn of the session may wait for results that come with a new message: they are first, or the
 * model would never have them.
 */
async function refuseLateResults({ views }: ApiContext, { key }: Target, { late }: Conversation): Promise<void> {
  const [first] = late?.results ?? [];
  const call = first === undefined ? null : parseCallerCallId(first.callId);
  const turn = call === null ? null : await findClientTurn(views, { turnId: call.turnId });
  if (turn?.turn?.isEnded === false && turn.sessionKey === key)
    throw fieldProblem(late?.path ?? '', 'send the results of the tools first, and this message after their answer');
}

/**
 * The value of a header that takes one of two words, the first when it is not there. Throws
 * `Problem` 400.
 */
function readChoice<Choice extends string>(
  request: AnyRequest,
  name: string,
  choices: readonly [Choice, Choice],
): Choice {
  const value = textHeader(request, name) ?? choices[0];
  const chosen = choices.find((choice) => choice === value);
  if (chosen !== undefined) return chosen;
  const message = `expected ${choices.join(' or ')}, got ${JSON.stringify(cutHead(value, 100))}`;
  throw fieldProblem(name, message, 'invalid_header');
}

/** One value of a header; undefined: it is not there. */
export function textHeader({ headers }: Pick<AnyRequest, 'headers'>, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The settings that the model takes, and the names of those that have no effect. */
function chooseSampling(
  { agent, model }: ChosenModel,
  body: ClientRequest,
  toolChoice: Sampling['tool_choice'],
): { sampling: Sampling | undefined; ignored: string[] } {
  const named = modelOfRef(modelRefOf(agent, model ?? agent.model) ?? agent.model);
  const thinks = (body.thinking ?? agent.thinking) !== 'off';
  // Models that decide for themselves how much they think take no temperature.
  const takes = !thinks && (knownModel(named.model) === undefined || thinkingFormOf(named.model).kind === 'budget');
  const ignored = [...body.ignored];
  const sampling: Sampling = {};
  if (body.temperature !== undefined && takes) sampling.temperature = Math.min(1, body.temperature);
  else if (body.temperature !== undefined) ignored.push('temperature');
  // They take one of the two.
  if (body.topP !== undefined && takes && sampling.temperature === undefined) sampling.top_p = body.topP;
  else if (body.topP !== undefined) ignored.push('top_p');
  if (body.stop !== undefined) sampling.stop_sequences = body.stop;
  // A model that thinks refuses to be forced to a call.
  if (toolChoice !== undefined && (toolChoice.type === 'none' || !thinks)) sampling.tool_choice = toolChoice;
  else if (toolChoice !== undefined) ignored.push('tool_choice');
  return { sampling: Object.keys(sampling).length === 0 ? undefined : sampling, ignored };
}

/** Gives a turn the results for which it waits. Results that it already has are kept. */
async function beginResults(
  context: ApiContext,
  scope: Scope,
  { results, ignored }: { results: readonly ClientResult[]; ignored: string[] },
): Promise<BegunCall> {
  const calls = results.map((result) => ({ ...result, call: parseCallerCallId(result.callId) }));
  const [first] = calls;
  const stranger = calls.find(
    ({ call }) => call === null || call.turnId !== first?.call?.turnId || call.step !== first.call.step,
  );
  if (first?.call === null || first === undefined || stranger !== undefined) throw unknownCall(stranger?.callId ?? '');
  const { turnId, step } = first.call;
  const isSeen = isInside(scope, await findRoot(context.views, 'turn', turnId));
  const turn = isSeen ? await findClientTurn(context.views, { turnId }) : null;
  if (turn === null) throw unknownCall(first.callId);
  const open = await readCallerCalls(context.views, { turnId, step });
  const sent = new Set(calls.map(({ call }) => call?.ordinal));
  const unknown = calls.find(({ call }) => call !== null && !open.includes(call.ordinal));
  if (unknown !== undefined) throw unknownCall(unknown.callId);
  const missing = open.filter((ordinal) => !sent.has(ordinal));
  if (missing.length > 0) {
    throw fieldProblem(
      'messages',
      `results are missing for ${missing.length} tool calls of the same answer; send the results of all calls together`,
    );
  }
  const { database, publish } = context.service;
  await confineSessions(context.service, [turn.sessionKey]);
  const given = calls.flatMap(({ call, content }) =>
    call === null ? [] : [{ ordinal: call.ordinal, result: { content, isError: false } }],
  );
  const answers = { turnId, step, kind: 'caller' as const, results: given };
  publish(await transaction(database.hot, (tx) => settleCalls(tx, answers)));
  return { messageId: turn.messageId, afterStep: step, isReplay: false, ignored };
}

function unknownCall(id: string): Problem {
  return fieldProblem('tool_call_id', `no turn waits for the result of the call ${JSON.stringify(cutHead(id, 100))}`);
}
