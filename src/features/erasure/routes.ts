// The export of a conversation as lines, and its permanent deletion.
import { Readable } from 'node:stream';
import { z } from 'zod';
import { erasePerson, previewPerson, eraseSession, previewErasure } from './erase-session.ts';
import { exportPages, findExportedSession, type ExportedSession } from '../../kernel/views/session-export.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { conflict, requireFound, Problem } from '../../api/problem.ts';
import { defineRoute, type Route } from '../../api/route.ts';
import { erasure, subjectErasure } from '../../contract/erasure.ts';

const REASON_CHARS_MAX = 500;

const exportSession = defineRoute({
  operationId: 'exportSession',
  method: 'GET',
  path: '/v1/sessions/{key}/export',
  summary: 'Export everything that is stored for a session, as lines of JSON',
  isLong: true,
  answers: {
    200: {
      description: 'One line per record, the session first; the last line is `{"type":"end","lines":n}`',
      contentType: 'application/x-ndjson',
    },
  },
  async handle({ params }, { context }) {
    const session = requireFound(await findExportedSession(context.views, params.key), `session ${params.key}`);
    const body = exportLines(context.views, session);
    return { status: 200, body, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } };
  },
});

/** Page by page as the client takes them. The last line says how many came before it, so a client knows that nothing is missing. */
function exportLines(views: ViewDatabase, session: ExportedSession): Readable {
  async function* lines(): AsyncGenerator<string> {
    let count = 0;
    for await (const page of exportPages(views, session)) {
      count += page.length;
      yield page.map((record) => `${JSON.stringify(record)}\n`).join('');
    }
    yield `${JSON.stringify({ type: 'end', lines: count })}\n`;
  }
  return Readable.from(lines(), { objectMode: false });
}

/** Of an erasure. `dryRun`: nothing is stopped and nothing is removed. */
const erasureQuery = z.strictObject({
  dryRun: z.enum(['true', 'false']).optional().describe('True: count the rows and remove nothing'),
  reason: z.string().max(REASON_CHARS_MAX).optional().describe('Why; stored in the audit log'),
});

const deleteSession = defineRoute({
  operationId: 'eraseSession',
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
  async handle({ params: { key }, query }, { context }) {
    if (query.dryRun === 'true') return { status: 200, body: { key, ...(await previewErasure(context.service, key)) } };
    const result = await eraseSession(context.service, key);
    if (result.kind === 'busy') throw busy(result.batchId, key);
    return { status: 200, body: { key, removed: result.removed, files: result.files } };
  },
});

const deleteSubject = defineRoute({
  operationId: 'eraseSubject',
  method: 'DELETE',
  path: '/v1/subjects/{senderId}',
  summary: 'Erase all sessions in which only this person wrote, and the items of batches with their words',
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
    if (query.dryRun === 'true') return { status: 200, body: { senderId, ...(await previewPerson(service, person)) } };
    const result = await erasePerson(service, person);
    if (result.kind === 'busy') throw busy(result.batchId, result.sessionKey);
    const { sessions, shared, batchItems } = result;
    return { status: 200, body: { senderId, sessions, shared, batchItems } };
  },
});

/** Without a session, the batch has items of the person. */
function busy(batchId: string, sessionKey: string | null): Problem {
  const [whose, kept] =
    sessionKey === null ? ['the person', 'nothing'] : [`the session ${sessionKey}`, 'nothing of the session'];
  const detail = `The batch ${batchId} has items of ${whose} that have not ended. Cancel the batch first; ${kept} was removed.`;
  return conflict(detail);
}

export const erasureRoutes: Route[] = [exportSession, deleteSession, deleteSubject];
