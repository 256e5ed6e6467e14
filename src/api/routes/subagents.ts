// Subagents: spawned for a session, looked at, spoken to, stopped.
import { z } from 'zod';
import { isAgent } from '../../config.ts';
import { agentIdOf } from '../../core/session-key.ts';
import type { SpawnAnswer, SteerAnswer } from '../../store/family.ts';
import { findSession } from '../../store/views/sessions.ts';
import { listSubagents, viewSubagent } from '../../store/views/subagents.ts';
import { listAnswer, pageRequestOf } from '../cursor.ts';
import { keyedRequestOf } from '../idempotency-key.ts';
import { isUuid } from '../parse-request.ts';
import { notFound, Problem } from '../problem.ts';
import { defineRoute, type Answer, type ApiRequest, type Route } from '../route.ts';
import { listOf } from '../schemas/answers.ts';
import { pageQuery } from '../schemas/queries.ts';
import { killed, spawned, spawnRequest, steered, steerRequest, subagent } from '../schemas/subagents.ts';

const ITEMS_DEFAULT = 50;
/** When there are as many subagents as may be, one of them may have ended by then. */
const FULL_RETRY_MS = 5_000;
const KILLED = 'It was killed by a person.';

const postSpawn = defineRoute({
  method: 'POST',
  path: '/v1/sessions/{key}/spawn',
  summary: 'Spawn a subagent in the background; its result is announced to the session',
  body: spawnRequest,
  answers: {
    202: { description: 'Committed', schema: spawned },
    409: { description: 'The session stands too deep in its family, or its own run has ended' },
    429: { description: 'As many subagents as may be have not ended; nothing was written' },
  },
  async handle(request, { context }) {
    const { key } = request.params;
    if (!isAgent(context.config, agentIdOf(key))) {
      throw new Problem('unknown_agent', `There is no agent ${agentIdOf(key)} in the configuration.`);
    }
    const answer = await context.subagents.spawn(key, request.body, causeOf(request, `POST /v1/sessions/${key}/spawn`));
    return spawnAnswer(answer, key);
  },
});

function spawnAnswer(answer: SpawnAnswer, key: string): Answer {
  switch (answer.kind) {
    case 'spawned':
      return { status: 202, body: { runId: answer.runId, childSessionKey: answer.childKey } };
    case 'refused':
      if (answer.field === 'agentId') throw new Problem('unknown_agent', `${sentence(answer.message)}`);
      throw new Problem('invalid_body', `${answer.field}: ${answer.message}`, {
        errors: [{ path: answer.field, message: answer.message }],
      });
    case 'limit':
      if (answer.code === 'children' || answer.code === 'descendants') {
        throw new Problem('spawn_limit', sentence(answer.message), { retryAfterMs: FULL_RETRY_MS });
      }
      throw new Problem('conflict', sentence(answer.message));
    case 'unknown':
      throw notFound(`session ${key}`);
    default:
      return answer satisfies never;
  }
}

const getSubagents = defineRoute({
  method: 'GET',
  path: '/v1/sessions/{key}/subagents',
  summary: 'The subagents that a session has spawned, the youngest first',
  query: z.strictObject(pageQuery),
  answers: { 200: { description: 'A page of runs', schema: listOf(subagent) } },
  async handle({ params, query, list }, { context }) {
    const found = await findSession(context.views, params.key);
    if (found === null) throw notFound(`session ${params.key}`);
    const bounds = { itemsDefault: ITEMS_DEFAULT, itemsMax: context.config.limits.pageItems, isKey: isUuid };
    const page = await listSubagents(context.views, found.id, pageRequestOf(list, query, bounds));
    return { status: 200, body: listAnswer(list, page) };
  },
});

const getSubagent = defineRoute({
  method: 'GET',
  path: '/v1/subagents/{runId}',
  summary: 'One run of a subagent',
  answers: { 200: { description: 'The run', schema: subagent } },
  async handle({ params }, { context }) {
    const found = await viewSubagent(context.views, params.runId);
    if (found === null) throw notFound(`run ${params.runId}`);
    return { status: 200, body: found };
  },
});

const postKill = defineRoute({
  method: 'POST',
  path: '/v1/subagents/{runId}/kill',
  summary: 'Stop a subagent and everybody below it; its end is announced',
  answers: { 200: { description: 'How many runs have ended by it', schema: killed } },
  async handle({ params }, { context }) {
    const stopped = await context.subagents.kill(params.runId, KILLED);
    if (stopped === null) throw notFound(`run ${params.runId}`);
    return { status: 200, body: { killed: stopped } };
  },
});

const postSteer = defineRoute({
  method: 'POST',
  path: '/v1/subagents/{runId}/steer',
  summary: 'Say something to a subagent: it joins its running turn, or is its next',
  body: steerRequest,
  answers: {
    202: { description: 'Committed', schema: steered },
    409: { description: 'The subagent has ended and takes no further tasks' },
    429: { description: 'As many subagents as may be have not ended; nothing was written' },
  },
  async handle(request, { context }) {
    const { runId } = request.params;
    const text = request.body.text ?? request.body.message ?? '';
    const answer = await context.subagents.steer(runId, text, causeOf(request, `POST /v1/subagents/${runId}/steer`));
    return steerAnswer(answer, runId);
  },
});

function steerAnswer(answer: SteerAnswer, runId: string): Answer {
  switch (answer.kind) {
    case 'steered':
      return {
        status: 202,
        body: { runId, messageId: answer.messageId, how: answer.isBusy ? 'joins' : 'waits' },
      };
    case 'again':
      return { status: 202, body: { runId: answer.runId, messageId: null, how: 'again' } };
    case 'limit':
      throw new Problem('spawn_limit', sentence(answer.message), { retryAfterMs: FULL_RETRY_MS });
    case 'ended':
      throw new Problem('conflict', `The run ${runId} has ended and takes no further tasks.`);
    case 'unknown':
      throw notFound(`run ${runId}`);
    default:
      return answer satisfies never;
  }
}

/** What comes of one request, however often it is sent; null without a key. */
function causeOf(request: ApiRequest<unknown, unknown, unknown>, place: string): string | null {
  const keyed = keyedRequestOf({
    header: request.headers['idempotency-key'],
    principalName: request.principal.name,
    place,
    rawBody: request.rawBody,
  });
  return keyed === null ? null : `key:${keyed.scope} ${keyed.key}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

export const subagentRoutes: Route[] = [postSpawn, getSubagents, getSubagent, postKill, postSteer];
