// Routes to spawn, view, steer and stop subagents, and the family of a session.
import { parseKeyName } from '../../core/key-role.ts';
import { nestOptions } from '../../core/input-options.ts';
import { causeOfRequest, spawnSubagent, steerSubagent, stopRun, type SteerAnswer } from './use-cases.ts';
import { findSession } from '../../kernel/views/sessions.ts';
import { runs, viewFamily } from './views.ts';
import { toReceiver } from '../../api/deliver-to.ts';
import { conflict, requireFound, notFound, Problem } from '../../api/problem.ts';
import { defineEffect, defineList, defineRead, type Route } from '../../api/route.ts';
import { killed, killRequest, spawned, spawnRequest, steered, steerRequest, subagent, turnTree } from './contract.ts';
import { viewTurnTree } from './turn-tree.ts';
import { family } from '../../contract/details.ts';
import { item } from '../../api/belongs.ts';

/** When the limit of subagents is reached, one of them may have ended by then. */
const FULL_RETRY_MS = 5_000;
const KILLED = 'It was killed by a person.';

const postSpawn = defineEffect({
  operationId: 'storeSpawn',
  belongs: 'session',
  path: '/v1/sessions/{key}/spawn',
  summary: 'Spawn a subagent in the background; its result is announced to the session',
  body: spawnRequest,
  answers: {
    202: { description: 'Committed', schema: spawned },
    409: { description: 'The session has too many sessions above it, or its own run has ended' },
    429: { description: 'Too many subagents are active; nothing was stored' },
  },
  async perform({ params: { key }, body, idempotency, principal }, { context }) {
    const cause = causeOfRequest(parseKeyName(principal.name), idempotency);
    const { deliver, ...task } = body;
    const receiver = deliver === undefined ? {} : { deliver: toReceiver(context.config, deliver) };
    const request = nestOptions({ ...task, ...receiver });
    return toSpawned(await spawnSubagent(context.service, key, { cause, request }), key);
  },
  show: async ({ runId, childSessionKey }) => ({ runId, childSessionKey }),
});

interface SpawnedRun {
  runId: string;
  childSessionKey: string;
}

/** The run that was spawned; throws the `Problem` of a refusal. */
function toSpawned(answer: Awaited<ReturnType<typeof spawnSubagent>>, key: string): SpawnedRun {
  switch (answer.kind) {
    case 'spawned':
      return { runId: answer.runId, childSessionKey: answer.childKey };
    case 'refused':
      if (answer.field === 'agentId') throw new Problem('unknown_agent', `${sentence(answer.message)}`);
      throw new Problem('invalid_body', `${answer.field}: ${answer.message}`, {
        errors: [{ path: answer.field, message: answer.message }],
      });
    case 'limit':
      if (answer.code === 'children' || answer.code === 'descendants') {
        throw new Problem('spawn_limit', sentence(answer.message), { retryAfterMs: FULL_RETRY_MS });
      }
      throw conflict(sentence(answer.message));
    case 'unknown':
      throw notFound(`session ${key}`);
    default:
      return answer satisfies never;
  }
}

const getSubagents = defineList({
  operationId: 'listSubagents',
  belongs: 'session',
  path: '/v1/sessions/{key}/subagents',
  summary: 'The subagents that a session has spawned, newest first',
  shows: { description: 'A page of runs', item: subagent },
  async list({ params }, page, { context }) {
    const found = requireFound(await findSession(context.views, params.key), `session ${params.key}`);
    return runs.list(context.views, { parentId: found.id }, page);
  },
});

const getTurnTree = defineRead({
  operationId: 'getTurnTree',
  belongs: item('turn'),
  path: '/v1/turns/{id}/tree',
  summary: 'A turn with the turns of the subagents that were spawned while it ran, and of those below them',
  shows: { description: 'The turns', schema: turnTree },
  read: async ({ params: { id } }, { context }) =>
    requireFound(await viewTurnTree(context.views, id, context.config.runtime.leaseMs), `turn ${id}`),
});

const getSubagent = defineRead({
  operationId: 'getSubagent',
  belongs: item('run', 'runId'),
  path: '/v1/subagents/{runId}',
  summary: 'One run of a subagent',
  shows: { description: 'The run', schema: subagent },
  read: async ({ params }, { context }) =>
    requireFound(await runs.find(context.views, params.runId), `run ${params.runId}`),
});

const postKill = defineEffect({
  operationId: 'killSubagent',
  belongs: item('run', 'runId'),
  path: '/v1/subagents/{runId}/kill',
  summary:
    'Stop a subagent and all runs below it; with below: keep, only the subagent. The end is announced to its parent',
  body: killRequest,
  answers: { 200: { description: 'The number of ended runs', schema: killed } },
  async perform({ params: { runId }, body, idempotency }, { context }) {
    const keepsBelow = body.below === 'keep';
    const runs = await stopRun(context.service, { runId, keepsBelow, reason: KILLED, isOwn: false, idempotency });
    if (runs === null) throw notFound(`run ${runId}`);
    return { runs };
  },
  show: async ({ runs }) => ({ killed: runs }),
});

const postSteer = defineEffect({
  operationId: 'steerSubagent',
  belongs: item('run', 'runId'),
  path: '/v1/subagents/{runId}/steer',
  summary: 'Send a message to a subagent: the message joins the running turn or starts the next turn',
  body: steerRequest,
  answers: {
    202: { description: 'Committed', schema: steered },
    409: { description: 'The subagent has ended and accepts no further tasks' },
    429: { description: 'Too many subagents are active; nothing was stored' },
  },
  async perform({ params: { runId }, body, idempotency, principal }, { context }) {
    const text = body.text ?? body.message ?? '';
    const cause = causeOfRequest(parseKeyName(principal.name), idempotency);
    return toSteered(await steerSubagent(context.service, { runId, text, from: null, cause }), runId);
  },
  async show(result, { params: { runId } }) {
    if (!('messageId' in result)) return { runId: result.runId, messageId: null, how: 'again' };
    const { messageId, isBusy } = result;
    return { runId, messageId, how: isBusy ? 'joins' : 'waits' };
  },
});

/**
 * What steering did: a message to the run, or another run of the subagent; throws the `Problem` of
 * a refusal.
 */
function toSteered(
  answer: SteerAnswer,
  runId: string,
): { messageId: string; isBusy: boolean } | Pick<SpawnedRun, 'runId'> {
  switch (answer.kind) {
    case 'steered':
      return { messageId: answer.messageId, isBusy: answer.isBusy };
    case 'again':
      return { runId: answer.runId };
    case 'limit':
      throw new Problem('spawn_limit', sentence(answer.message), { retryAfterMs: FULL_RETRY_MS });
    case 'ended':
      throw conflict(`The run ${runId} has ended and accepts no further tasks.`);
    case 'unknown':
      throw notFound(`run ${runId}`);
    default:
      return answer satisfies never;
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

const getFamily = defineRead({
  operationId: 'getFamily',
  belongs: 'session',
  path: '/v1/sessions/{key}/family',
  summary: 'All subagent runs of the family of a session, with the usage of each',
  shows: { description: 'The runs, each after its parent', schema: family },
  read: async ({ params }, { context }) =>
    requireFound(await viewFamily(context.views, params.key), `session ${params.key}`),
});

export const routes: Route[] = [postSpawn, getSubagents, getTurnTree, getSubagent, postKill, postSteer, getFamily];
