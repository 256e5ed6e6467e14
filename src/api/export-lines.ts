// A conversation as lines: read page by page as the client takes them, so that one page is in memory. The last line says how many came before
// it, so a client knows that nothing is missing.
import { Readable } from 'node:stream';
import { exportPages, type ExportedSession } from '../store/views/session-export.ts';
import type { ViewDatabase } from '../store/views/page.ts';

/** The lines of an export. */
export function exportLines(views: ViewDatabase, session: ExportedSession): Readable {
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
