// Dead letters: work that failed and waits for an operator, grouped by error; and the retry of one
// turn.
import { z } from 'zod';
import type { BulkSelection } from '../bulk-actions/use-cases.ts';
import { discardLetters, redoTurn, redriveLetters, retryItemText } from './redrive-letters.ts';
import { listDeadLetterGroups } from './views.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Answer } from '../../api/answer.ts';
import type { ApiContext } from '../../api/context.ts';
import { conflict, notFound } from '../../api/problem.ts';
import { defineEffect, defineList, type Route } from '../../api/route.ts';
import { bulkAction } from '../../contract/bulk-actions.ts';
import { findBulkAction, submit } from '../bulk-actions/routes.ts';
import {
  deadLetter,
  deadLetterGroup,
  discardedLetters,
  letterCode,
  letterFilter,
  redrivenLetters,
} from '../../contract/dead-letters.ts';

const groupKey = z.tuple([z.string(), z.string()]);

const getDeadLetters = defineList({
  operationId: 'listDeadLetters',
  path: '/v1/dead-letters',
  summary: 'Dead letters by kind and error, each group with its newest letters',
  filter: {
    state: z.enum(deadLetter.shape.state.options).optional().describe('Only letters in this state; absent: open ones'),
    code: letterCode.optional().describe('Only letters with this error code'),
  },
  shows: { description: 'A page of groups', item: deadLetterGroup },
  pages: { isKey: isGroupKey },
  list: ({ query }, page, { context }) =>
    listDeadLetterGroups(context.views, { state: query.state ?? 'open', code: query.code }, page),
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

const redrive = defineEffect<'/v1/dead-letters/redrive', LetterDecision, z.ZodType, typeof letterFilter>({
  operationId: 'redriveDeadLetters',
  path: '/v1/dead-letters/redrive',
  summary:
    'Retry the turns and resend the deliveries of open dead letters: immediately, at most 500 per request; with canary or perSecond, all of them in the background',
  body: letterFilter,
  answers: { 200: { description: 'The result for each letter', schema: redrivenLetters }, 202: startedDoc },
  perform: ({ body, principal, idempotency }, { context }) =>
    isPaced(body)
      ? submitPaced(context, { action: 'redrive', body, createdBy: principal.name }, idempotency)
      : redriveLetters(context.service, body, idempotency),
  answer: (decided, _request, { context }) => buildAnswer(decided, context),
});

const discard = defineEffect<'/v1/dead-letters/discard', LetterDecision, z.ZodType, typeof letterFilter>({
  operationId: 'discardDeadLetters',
  path: '/v1/dead-letters/discard',
  summary: 'Discard open dead letters: immediately, or with perSecond in the background',
  body: letterFilter,
  answers: { 200: { description: 'The number of discarded letters', schema: discardedLetters }, 202: startedDoc },
  perform: async ({ body, principal, idempotency }, { context }) =>
    isPaced(body)
      ? submitPaced(context, { action: 'discard', body, createdBy: principal.name }, idempotency)
      : { discarded: await discardLetters(context.service.database, body, idempotency) },
  answer: (decided, _request, { context }) => buildAnswer(decided, context),
});

type LetterRequest = z.output<typeof letterFilter>;

function isPaced({ canary, perSecond }: LetterRequest): boolean {
  return canary === true || perSecond !== undefined;
}

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

async function buildAnswer(decided: LetterDecision, context: ApiContext): Promise<Answer> {
  if ('id' in decided) return { status: 202, body: await findBulkAction(context, String(decided.id)) };
  return { status: 200, body: decided };
}

const retry = defineEffect({
  operationId: 'retryTurn',
  path: '/v1/turns/{id}/retry',
  summary: 'Retry a turn that did not succeed: its messages are queued again',
  answers: {
    202: {
      description:
        'The messages are queued again. If the session has newer turns, they are new messages whose retryOf names the old ones',
      schema: z.strictObject({
        retried: z.uuid().describe('The turn whose messages were queued again'),
        messageIds: z.array(z.uuid()).describe('The messages that were queued again'),
      }),
    },
    409: { description: 'The turn ended well, still runs, was retried before, or answered an item of a batch' },
  },
  async perform({ params, idempotency }, { context }) {
    const result = await redoTurn(context.service, params.id, idempotency);
    switch (result.kind) {
      case 'ok':
        return { retried: params.id, messageIds: result.messageIds };
      case 'conflict':
        throw conflict('Only a turn that did not succeed can be retried, and only once.');
      case 'item':
        throw conflict(retryItemText(result));
      case 'unknown':
        throw notFound(`turn ${params.id}`);
      default:
        return result satisfies never;
    }
  },
});

export const routes: Route[] = [getDeadLetters, redrive, discard, retry];
