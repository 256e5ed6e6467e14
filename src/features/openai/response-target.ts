// The session of a response that names one: the conversation, or the response before it.
import { cutHead } from '../../core/cut-text.ts';
import { copySession } from '../../kernel/use-cases/change-transcript.ts';
import { findClientTurn, readNewest } from './views/turns.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { parseSessionKey } from '../../api/path-parameters.ts';
import { notFound, Problem } from '../../api/problem.ts';
import type { AnyRequest, Api } from '../../api/route.ts';
import { ownTarget, textHeader } from './begin-call.ts';
import { hashText, type Target } from './known-history.ts';
import { chooseModel } from './models.ts';
import type { ResponseRequest } from './read-response.ts';
import { knownName } from './response-call.ts';

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
