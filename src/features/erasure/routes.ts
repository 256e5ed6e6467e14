// The permanent deletion of conversations.
import { z } from 'zod';
import { erasePerson, eraseSession, previewErasure } from './erase-session.ts';
import { isInside } from '../../core/scope.ts';
import { findRoot } from '../../kernel/views/scope.ts';
import { conflict, Problem } from '../../api/problem.ts';
import { defineRoute, type Route } from '../../api/route.ts';
import { erasure, subjectErasure } from './contract.ts';

const REASON_CHARS_MAX = 500;

/** The query of an erasure. `dryRun`: nothing is stopped and nothing is removed. */
const erasureQuery = z.strictObject({
  dryRun: z.enum(['true', 'false']).optional().describe('True: count the rows and remove nothing'),
  reason: z.string().max(REASON_CHARS_MAX).optional().describe('Why; stored in the audit log'),
});

const deleteSession = defineRoute({
  operationId: 'eraseSession',
  belongs: 'session',
  method: 'DELETE',
  path: '/v1/sessions/{key}',
  summary: 'Erase a session and all subagents below it, with all their rows and files',
  role: 'admin',
  isLong: true,
  query: erasureQuery,
  answers: {
    200: { description: 'What was removed; with dryRun, what would be', schema: erasure },
    409: { description: 'A batch that has not ended has items of the session; nothing was removed' },
  },
  async handle({ params: { key }, query, principal: { scope } }, { context }) {
    const result = await (query.dryRun === 'true' ? previewErasure : eraseSession)(context.service, key);
    if (result.kind === 'busy') {
      const isSeen = isInside(scope, await findRoot(context.reads, 'batch', result.batchId));
      throw busy(isSeen ? `the batch ${result.batchId}` : 'a batch of another key', key);
    }
    return { status: 200, body: { key, removed: result.removed, files: result.files } };
  },
});

const deleteSubject = defineRoute({
  operationId: 'eraseSubject',
  belongs: 'service',
  method: 'DELETE',
  path: '/v1/subjects/{senderId}',
  summary:
    'Erase all sessions in which only this person wrote or asked to write, and the items of batches with their words',
  role: 'admin',
  isLong: true,
  query: erasureQuery.extend({
    channel: z
      .string()
      .max(200)
      .optional()
      .describe('Only sessions with messages of this channel. Two channels may use the same id for two people'),
    shared: z
      .enum(['keep', 'erase'])
      .optional()
      .describe('What happens to sessions in which others wrote too; absent: keep'),
  }),
  answers: {
    200: { description: 'What was removed of each session; with dryRun, what would be', schema: subjectErasure },
    409: {
      description:
        'A batch that has not ended has items of the person, or of a session; the sessions before it are erased',
    },
  },
  async handle({ params: { senderId }, query }, { context: { service } }) {
    const person = { senderId, channel: query.channel ?? null, erasesShared: query.shared === 'erase' };
    const result = await erasePerson(service, person, query.dryRun === 'true');
    if (result.kind === 'busy') throw busy(`the batch ${result.batchId}`, result.sessionKey);
    const { sessions, shared, batchItems } = result;
    return { status: 200, body: { senderId, sessions, shared, batchItems } };
  },
});

/** Without a session, the batch has items of the person. */
function busy(batch: string, sessionKey: string | null): Problem {
  const [whose, kept] =
    sessionKey === null ? ['The person', 'nothing'] : [`The session ${sessionKey}`, 'nothing of the session'];
  const detail = `${whose} has items of ${batch} that have not ended. Cancel the batch first; ${kept} was removed.`;
  return conflict(detail);
}

export const routes: Route[] = [deleteSession, deleteSubject];
