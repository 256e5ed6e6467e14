// Tries: of a turn, and of an agent. The result is the turn of the answered message.
import { z } from 'zod';
import { parseKeyName } from '../../core/key-role.ts';
import { REPLAYED } from '../../api/idempotency-key.ts';
import { toTakenMessage } from '../../api/answer-stored.ts';
import { conflict, notFound } from '../../api/problem.ts';
import { defineRoute, type Route } from '../../api/route.ts';
import type { Answer } from '../../api/answer.ts';
import { agentTry, tried, turnTry } from './contract.ts';
import { tryAgent, tryTurn, type TryResult } from './use-cases.ts';
import { item } from '../../api/belongs.ts';

const postTurnTry = defineRoute({
  operationId: 'tryTurn',
  belongs: item('turn'),
  method: 'POST',
  path: '/v1/turns/{id}/try',
  isAudited: false,
  summary: 'Ask a turn again, with changes if you like, in a session of its own that delivers and changes nothing',
  body: turnTry,
  answers: {
    202: { description: 'Committed; the turn of the message is the result', schema: tried },
    409: { description: 'The turn has not ended, has asked the model nothing, or has no messages any more' },
  },
  async handle({ params: { id }, body: changes, idempotency, principal }, { context, services }) {
    const request = { changes, idempotency, sentBy: parseKeyName(principal.name) };
    return answerTry(id, id, await services.limits.send(principal, () => tryTurn(context.service, id, request)));
  },
});

const postAgentTry = defineRoute({
  operationId: 'tryAgent',
  belongs: 'agent',
  method: 'POST',
  path: '/v1/agents/{agent}/try',
  isAudited: false,
  summary: 'Ask an agent something in a new session that delivers and changes nothing',
  body: agentTry,
  answers: { 202: { description: 'Committed; the turn of the message is the result', schema: tried } },
  async handle({ params: { agent }, body: changes, idempotency, principal }, { context, services }) {
    const request = { changes, idempotency, sentBy: parseKeyName(principal.name) };
    return answerTry(
      agent,
      null,
      await services.limits.send(principal, () => tryAgent(context.service, agent, request)),
    );
  },
});

/** The answer to a try. Throws `Problem`. */
function answerTry(id: string, tryOf: string | null, result: TryResult): Answer {
  if (result.kind === 'unknown') throw notFound(`turn ${id}`);
  if (result.kind === 'running') throw conflict(`The turn ${id} has not ended. Try it when it has, or abort it first.`);
  if (result.kind === 'no-prompt')
    throw conflict(`The turn ${id} has asked the model nothing, so there is nothing to try.`);
  if (result.kind === 'no-inputs')
    throw conflict(
      `The turn ${id} has no messages any more: they were deleted, or retried in a later turn. Try that turn, or give the text of the try as \`text\`.`,
    );
  const { kind, message, session, disposition } = toTakenMessage(result);
  return {
    status: 202,
    body: { message, session, disposition, tryOf } satisfies z.output<typeof tried>,
    headers: { location: `/v1/messages/${message.id}`, ...(kind === 'duplicate' ? REPLAYED : {}) },
  };
}

export const routes: Route[] = [postTurnTry, postAgentTry];
