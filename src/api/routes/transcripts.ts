// Operations on a session's whole transcript: compactions and their undoing, new transcripts,
// copies.
import {
  requestCompaction,
  undoCompaction,
  copySession,
  startTranscript,
} from '../../kernel/use-cases/change-transcript.ts';
import { compactions, transcripts } from '../../kernel/views/transcript.ts';
import { viewMessage } from '../../kernel/views/messages.ts';
import { findSession, viewSession } from '../../kernel/views/sessions.ts';
import type { ApiContext } from '../context.ts';
import { idempotencyMismatch } from '../idempotency-key.ts';
import { parseSessionKey } from '../parse-json.ts';
import { answerStored, inboxFull } from '../answer-stored.ts';
import { conflict, requireFound, notFound } from '../problem.ts';
import { defineEffect, defineRoute, defineList, type Route } from '../route.ts';
import {
  compacted,
  compaction,
  compactionRequested,
  compactRequest,
  forked,
  forkRequest,
  reset,
  resetRequest,
  restored,
  transcript,
  type CompactionView,
} from '../../contract/transcripts.ts';
import { sessionIn } from '../belongs.ts';

const compact = defineRoute({
  operationId: 'compactSession',
  belongs: 'session',
  method: 'POST',
  path: '/v1/sessions/{key}/compact',
  summary: 'Compact the session as soon as it is idle; with Prefer: wait, answer when that is done',
  isLong: true,
  body: compactRequest,
  headers: { Prefer: 'wait=<seconds>' },
  answers: {
    200: {
      description: 'The compaction ended within the wait; compaction is null if there was nothing to compact',
      schema: compacted,
    },
    202: { description: 'Committed', schema: compactionRequested },
    429: { description: 'The inbox is full; nothing was stored' },
  },
  async handle(request, { context, services }) {
    const { key } = request.params;
    const { idempotency } = request;
    const { instructions = '' } = request.body;
    const asked = await requestCompaction(context.service, { sessionKey: key, instructions, idempotency });
    if (asked === null) throw notFound(`session ${key}`);
    const { acceptance, sessionId } = asked;
    if (acceptance.kind === 'mismatch') throw idempotencyMismatch();
    if (acceptance.kind === 'full') throw inboxFull();
    const isReplay = acceptance.kind === 'duplicate';
    const id = acceptance.kind === 'duplicate' ? acceptance.id : acceptance.message.id;
    return answerStored(
      { request, context, services },
      { id, sessionId, isReplay },
      {
        async ended({ message, turn }) {
          const made = turn === null ? null : await findCompaction(context, turn.id);
          return { message, turn, compaction: made };
        },
        now: () => requested(context, key, id),
      },
    );
  },
});

/** The last compaction that a turn began, or null. */
async function findCompaction({ views }: ApiContext, turnId: string): Promise<CompactionView | null> {
  return (await compactions.list(views, { turnId }, { limit: 1, after: null })).items[0] ?? null;
}

async function requested(context: ApiContext, key: string, messageId: string): Promise<object> {
  const [message, session] = await Promise.all([
    viewMessage(context.views, messageId),
    viewSession(context.views, key),
  ]);
  if (message === null || session === null) throw notFound(`session ${key}`);
  return { message, session };
}

const getCompactions = defineList({
  operationId: 'listCompactions',
  belongs: 'session',
  path: '/v1/sessions/{key}/compactions',
  summary: 'The compactions of a session, newest first',
  shows: { description: 'A page of compactions', item: compaction },
  async list({ params }, page, { context }) {
    const found = requireFound(await findSession(context.views, params.key), `session ${params.key}`);
    return compactions.list(context.views, { sessionId: found.id }, page);
  },
});

const restore = defineEffect({
  operationId: 'restoreCompaction',
  belongs: 'session',
  path: '/v1/sessions/{key}/compactions/{id}/restore',
  summary:
    'Undo a compaction and all later compactions: the compacted entries become active again, and newer entries stay',
  answers: {
    200: { description: 'The compaction is undone', schema: restored },
    409: { description: 'A turn is running, the compaction did not succeed, or its transcript was ended by a reset' },
  },
  async perform({ params, idempotency }, { context }) {
    const undo = { sessionKey: params.key, compactionId: params.id, idempotency };
    const outcome = await undoCompaction(context.service, undo);
    switch (outcome) {
      case 'ok':
        return {};
      case 'running':
        throw conflict('A turn of the session is running. Abort it, or wait until it ends.');
      case 'conflict':
        throw conflict('Only a successful compaction of the current transcript can be undone.');
      case 'unknown':
        throw notFound(`compaction ${params.id} of session ${params.key}`);
      default:
        return outcome satisfies never;
    }
  },
  async show(_done, { params }, { context }) {
    const [found, session] = await Promise.all([
      compactions.find(context.views, params.id, { sessionKey: params.key }),
      viewSession(context.views, params.key),
    ]);
    return { compaction: found, session };
  },
});

const resetRoute = defineEffect({
  operationId: 'resetSession',
  belongs: 'session',
  path: '/v1/sessions/{key}/reset',
  summary:
    'Start a new transcript under the same key; the old one is kept. With abort: true, a running turn is aborted first',
  body: resetRequest,
  answers: {
    200: { description: 'The session with its new transcript', schema: reset },
    409: { description: 'A turn is running' },
  },
  async perform({ params, body, idempotency }, { context }) {
    const isAborting = body.abort === true;
    const done = await startTranscript(context.service, { sessionKey: params.key, isAborting, idempotency });
    if (done.kind === 'unknown') throw notFound(`session ${params.key}`);
    if (done.kind === 'running') {
      throw conflict('A turn of the session is running. Wait until it ends, or send {"abort": true}.');
    }
    return { transcriptNo: done.transcriptNo, previousNo: done.previousNo };
  },
  async show({ transcriptNo, previousNo }, { params }, { context }) {
    const session = await viewSession(context.views, params.key);
    return { session, transcriptNo, previousTranscriptNo: previousNo };
  },
});

const getTranscripts = defineList({
  operationId: 'listTranscripts',
  belongs: 'session',
  path: '/v1/sessions/{key}/transcripts',
  summary: 'The transcripts of a session, the current one first; GET .../transcript?transcript= reads one',
  shows: { description: 'A page of transcripts', item: transcript },
  pages: { isKey: (text) => /^[1-9]\d{0,8}$/.test(text) },
  async list({ params }, page, { context }) {
    const found = requireFound(await findSession(context.views, params.key), `session ${params.key}`);
    return transcripts.list(context.views, { sessionId: found.id }, page);
  },
});

const fork = defineEffect({
  operationId: 'forkSession',
  belongs: ['session', sessionIn('key')],
  path: '/v1/sessions/{key}/fork',
  summary: 'Create a session with a copy of this one, up to an entry or to its end',
  body: forkRequest,
  answers: {
    201: { description: 'The new session', schema: forked },
    409: { description: 'A session with this key already exists' },
  },
  async perform({ params, body, idempotency }, { context }) {
    const targetKey = parseSessionKey(body.key, 'key');
    const entryId = body.entryId ?? null;
    const made = await copySession(context.service, { sourceKey: params.key, entryId, targetKey, idempotency });
    switch (made.kind) {
      case 'ok':
        return { entries: made.entries };
      case 'exists':
        throw conflict(`The session ${targetKey} already exists. Choose another key.`);
      case 'unknown':
        throw notFound(`session ${params.key}`);
      case 'unknown-entry':
        throw notFound(`entry ${entryId} on the active path of session ${params.key}`);
      default:
        return made satisfies never;
    }
  },
  async answer({ entries }, { body }, { context }) {
    const targetKey = parseSessionKey(body.key, 'key');
    const session = await viewSession(context.views, targetKey);
    return { status: 201, body: { session, entries }, headers: { location: `/v1/sessions/${targetKey}` } };
  },
});

export const transcriptRoutes: Route[] = [compact, getCompactions, restore, resetRoute, getTranscripts, fork];
