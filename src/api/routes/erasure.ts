// A conversation taken out of the service: as lines.
import { findExportedSession } from '../../store/views/session-export.ts';
import { exportLines } from '../export-lines.ts';
import { notFound } from '../problem.ts';
import { defineRoute, type Route } from '../route.ts';

const exportSession = defineRoute({
  method: 'GET',
  path: '/v1/sessions/{key}/export',
  summary: 'Everything that is stored of a conversation, as lines',
  isLong: true,
  answers: {
    200: {
      description: 'A line per record, the session first; the last line is `{"type":"end","lines":n}`',
      contentType: 'application/x-ndjson',
    },
  },
  async handle({ params }, { context }) {
    const session = await findExportedSession(context.views, params.key);
    if (session === null) throw notFound(`session ${params.key}`);
    const body = exportLines(context.views, session);
    return { status: 200, body, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } };
  },
});

export const erasureRoutes: Route[] = [exportSession];
