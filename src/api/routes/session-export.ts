// The export of a conversation as lines.
import { Readable } from 'node:stream';
import type { ViewDatabase } from '../../database/page.ts';
import {
  exportPages,
  findExportedSession,
  type ExportedSession,
  type ExportRecord,
} from '../../kernel/views/session-export.ts';
import { guarded, guardedName } from '../../contract/guarded.ts';
import { z } from 'zod';
import { hideOutside } from '../hide-names.ts';
import type { Principal } from '../key-ring.ts';
import { requireFound } from '../problem.ts';
import { defineRoute, type Route } from '../route.ts';

/** What a record of a message may name of others; the body is as it is stored. */
const other = z.unknown().register(guarded, { as: 'other' });
const exportPage = z.array(
  z.looseObject({
    body: z
      .looseObject({
        sentBy: guardedName('The key that sent it').exactOptional(),
        provenance: z.looseObject({ sourceSession: z.string().register(guarded, { as: 'session' }) }).exactOptional(),
        exchange: other,
        chargedTo: other,
      })
      .exactOptional(),
  }),
);

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
  async handle({ params, principal }, { context }) {
    const session = requireFound(await findExportedSession(context.views, params.key), `session ${params.key}`);
    const body = exportLines(context.views, session, principal);
    return { status: 200, body, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } };
  },
});

/**
 * Page by page as the client takes them. The last line says how many came before it, so a client
 * knows that nothing is missing.
 */
function exportLines(views: ViewDatabase, session: ExportedSession, principal: Principal): Readable {
  async function* lines(): AsyncGenerator<string> {
    let count = 0;
    for await (const page of exportPages(views, session)) {
      count += page.length;
      const records = (await hideOutside(exportPage, page, principal, views)) as ExportRecord[];
      yield records.map((record) => `${JSON.stringify(record)}\n`).join('');
    }
    yield `${JSON.stringify({ type: 'end', lines: count })}\n`;
  }
  return Readable.from(lines(), { objectMode: false });
}

export const sessionExportRoutes: Route[] = [exportSession];
