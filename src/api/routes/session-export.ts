// The export of a conversation as lines.
import { Readable } from 'node:stream';
import type { ViewDatabase } from '../../database/page.ts';
import {
  exportPages,
  findExportedSession,
  type ExportedSession,
  type ExportRecord,
} from '../../kernel/views/session-export.ts';
import { EVERYTHING, type Scope } from '../../core/scope.ts';
import { requireFound } from '../problem.ts';
import { defineRoute, type Route } from '../route.ts';

const exportSession = defineRoute({
  operationId: 'exportSession',
  belongs: 'session',
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
  async handle({ params, principal: { scope } }, { context }) {
    const session = requireFound(await findExportedSession(context.views, params.key), `session ${params.key}`);
    const body = exportLines(context.views, session, scope);
    return { status: 200, body, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } };
  },
});

/**
 * Page by page as the client takes them. The last line says how many came before it, so a client
 * knows that nothing is missing.
 */
function exportLines(views: ViewDatabase, session: ExportedSession, scope: Scope): Readable {
  async function* lines(): AsyncGenerator<string> {
    let count = 0;
    for await (const page of exportPages(views, session)) {
      count += page.length;
      const records = scope === EVERYTHING ? page : page.map(hideOthers);
      yield records.map((record) => `${JSON.stringify(record)}\n`).join('');
    }
    yield `${JSON.stringify({ type: 'end', lines: count })}\n`;
  }
  return Readable.from(lines(), { objectMode: false });
}

/** Without the fields of a stored message that name other keys and sessions. */
function hideOthers(record: ExportRecord): ExportRecord {
  if (record.type !== 'message') return record;
  const {
    sentBy: _key,
    provenance: _session,
    exchange: _agents,
    chargedTo: _payer,
    ...body
  } = record['body'] as Record<string, unknown>;
  return { ...record, body };
}

export const sessionExportRoutes: Route[] = [exportSession];
