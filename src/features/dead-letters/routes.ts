// Dead letters: work that failed and waits for an operator, grouped by error; and the retry of one
// turn.
import { z } from 'zod';
import type { BulkSelection } from '../bulk-actions/use-cases.ts';
import { discardLetters, redoTurn, redriveLetters, whyNotRetried } from './letters.ts';
import { listDeadLetterGroups } from './views.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { ApiContext } from '../../api/context.ts';
import { conflict, notFound } from '../../api/problem.ts';
import { defineEffect, defineList, type Route } from '../../api/route.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { bulkAction } from '../bulk-actions/contract.ts';
import { findBulkAction, submit } from '../bulk-actions/routes.ts';
import {
  deadLetter,
  deadLetterGroup,
  discardedLetters,
  letterCode,
  letterFilter,
  redrivenLetters,
  retryRequest,
} from './contract.ts';
import { isInside } from '../../core/scope.ts';
import { findRoot } from '../../kernel/views/scope.ts';
import { item } from '../../api/belongs.ts';

const groupKey = z.tuple([z.string(), z.string()]);

const getDeadLetters = defineList({
  operationId: 'listDeadLetters',
  belongs: 'list',
  path: '/v1/dead-letters',
  summary: 'Dead letters by kind and error, each group with its newest letters',
  filter: {
    state: z.enum(deadLetter.shape.state.options).optional().describe('Only letters in this state; absent: open ones'),
    code: letterCode.optional().describe('Only letters with this error code'),
  },
  shows: { description: 'A page of groups', item: deadLetterGroup },
  pages: { isKey: isGroupKey },
  list: ({ query: { state = 'open', code }, principal: { scope } }, page, { context }) =>
    listDeadLetterGroups(context.views, { state, code, scope }, page),
});

function isGroupKey(text: string): boolean {
  try {
    return groupKey.safeParse(JSON.parse(text)).success && !text.includes('\\u0000');
  } catch {
    return false;
  }
}

const startedDoc = { description: 'With canary or perSecond: the bulk action that works them off', schema: bulkAction };

/** The id of a bulk action, or the result if it was executed immediately. */
type LetterDecision = { id: string } | object;

function decisionRoute(
  verb: 'redrive' | 'discard',
  spec: {
    summary: string;
    shows: { description: string; schema: z.ZodType };
    decide: (service: Service, body: LetterRequest, key: KeyedRequest | null) => Promise<object>;
  },
): Route {
  const path = `/v1/dead-letters/${verb}` as '/v1/dead-letters/redrive';
  return defineEffect<typeof path, LetterDecision, z.ZodType, typeof letterFilter>({
    operationId: `${verb}DeadLetters`,
    belongs: 'service',
    path,
    summary: spec.summary,
    body: letterFilter,
    answers: { 200: spec.shows, 202: startedDoc },
    perform: ({ body, principal, idempotency }, { context }) =>
      body.canary === true || body.perSecond !== undefined
        ? submitPaced(context, { action: verb, body, createdBy: principal.name }, idempotency)
        : spec.decide(context.service, body, idempotency),
    async answer(decided, _request, { context }) {
      if (!('id' in decided)) return { status: 200, body: decided };
      return { status: 202, body: await findBulkAction(context, String(decided.id)) };
    },
  });
}

const redrive = decisionRoute('redrive', {
  summary:
    'Retry the turns and resend the deliveries of open dead letters: immediately, at most 500 per request; with canary or perSecond, all of them in the background',
  shows: { description: 'The result for each letter', schema: redrivenLetters },
  decide: redriveLetters,
});

const discard = decisionRoute('discard', {
  summary: 'Discard open dead letters: immediately, or with perSecond in the background',
  shows: { description: 'The number of discarded letters', schema: discardedLetters },
  decide: async ({ database }, body, key) => ({ discarded: await discardLetters(database, body, key) }),
});

type LetterRequest = z.output<typeof letterFilter>;

async function submitPaced(
  context: ApiContext,
  { action, body, createdBy }: { action: 'redrive' | 'discard'; body: LetterRequest; createdBy: string },
  idempotency: KeyedRequest | null,
): Promise<{ id: string }> {
  const { ids, kind, code, canary = false, perSecond = null, reason = null } = body;
  const target = 'dead-letters' as const;
  const selection: BulkSelection = ids === undefined ? { target, filter: { kind, code } } : { target, ids };
  const filter = ids === undefined ? { kind, code } : { ids: ids.length };
  const request = { action, selection, filter, reason, perSecond, isCanary: canary, createdBy };
  return { id: await submit(context, request, idempotency) };
}

const retry = defineEffect({
  operationId: 'retryTurn',
  belongs: item('turn'),
  path: '/v1/turns/{id}/retry',
  summary:
    'Retry a turn that did not succeed: its messages are queued again, or, with a text, one new message takes their place',
  body: retryRequest,
  answers: {
    202: {
      description:
        'The messages are queued again. If the session has newer turns, or with a text, they are new messages whose retryOf names the old ones',
      schema: z.strictObject({
        retried: z.uuid().describe('The turn whose messages were queued again'),
        messageIds: z.array(z.uuid()).describe('The messages that were queued again'),
      }),
    },
    409: { description: 'The turn ended well, still runs, was retried before, or answered an item of a batch' },
  },
  async perform({ params, body: { text = null }, idempotency, principal: { scope } }, { context }) {
    const result = await redoTurn(context.service, params.id, { text, idempotency });
    if (result.kind === 'ok') return { retried: params.id, messageIds: result.messageIds };
    if (result.kind === 'unknown') throw notFound(`turn ${params.id}`);
    if (result.kind === 'item' && !isInside(scope, await findRoot(context.reads, 'batch', result.batchId)))
      throw conflict('The turn answered an item of a batch of another key, which can retry the item.');
    throw conflict(whyNotRetried(result));
  },
});

export const routes: Route[] = [getDeadLetters, redrive, discard, retry];
