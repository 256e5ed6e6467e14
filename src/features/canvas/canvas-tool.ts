// The `canvas` tool: shows an HTML page beside the session in the dashboard.
import { z } from 'zod';
import { storableText } from '../../core/text.ts';
import type { Database } from '../../database/database.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { readText, TextFileError } from '../../tools/text-files.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome, textOutcome } from '../../tools/tool.ts';
import { PATH_ALIASES, runOnFile } from '../../tools/workspace-files.ts';
import { storeCanvas } from './store/canvases.ts';
import { readCanvas } from './views.ts';

/** The longest page, in bytes. */
const HTML_BYTES_MAX = 512 * 1024;
const TITLE_CHARS_MAX = 200;

const input = z.strictObject({
  action: z.enum(['present', 'snapshot', 'clear']),
  html: z.string().optional().describe('For present: the page'),
  file_path: z.string().min(1).optional().describe('For present, in place of html: a file of the workspace'),
  title: z.string().max(TITLE_CHARS_MAX).optional().describe('For present: what it is called'),
});
type CanvasInput = z.output<typeof input>;

export function createCanvasTool(database: Database): Tool {
  const tool = defineTool({
    name: 'canvas',
    description:
      'Show people an HTML page beside this session in the dashboard; snapshot returns what is shown, clear removes it. The page is static: scripts do not run, and ' +
      'nothing is loaded from anywhere. Write styles, SVG and images (data: URLs) into it.',
    summary: 'Present, read or clear the HTML page beside this session',
    input,
    aliases: PATH_ALIASES,
    // The call's key is stored with the page.
    isIdempotent: true,
    isReadOnly: false,
    async run(asked, call) {
      switch (asked.action) {
        case 'present':
          return await present(database, asked, call);
        case 'snapshot':
          return await snapshot(database, call);
        case 'clear':
          await store(database, call, { title: null, html: null });
          return textOutcome('The canvas is empty.');
        default:
          return asked.action satisfies never;
      }
    },
  });
  return { ...tool, onlyReads: (asked) => input.safeParse(asked).data?.action === 'snapshot' };
}

async function present(
  database: Database,
  { html, file_path: file, title }: CanvasInput,
  call: ToolCall,
): Promise<ToolOutcome> {
  if ((html === undefined) === (file === undefined))
    return errorOutcome('canvas: present needs html or file_path, one of them');
  const found = file === undefined ? textOutcome(html ?? '') : await readPage(file, call);
  if (found.isError) return found;
  // A file is read as a text.
  const page = storableText(found.content as string);
  const bytes = Buffer.byteLength(page);
  if (bytes > HTML_BYTES_MAX) return errorOutcome(tooLong('html', bytes));
  if (page.trim() === '') return errorOutcome('canvas: the page is empty; clear removes what is shown');
  await store(database, call, { title: title === undefined ? null : storableText(title), html: page });
  return textOutcome(`Presented ${bytes} bytes beside this session in the dashboard.`);
}

function readPage(name: string, call: ToolCall): Promise<ToolOutcome> {
  return runOnFile({ tool: 'canvas', name, call }, async (file) => {
    if (file.size > HTML_BYTES_MAX) throw new TextFileError(tooLong(name, file.size));
    return (await readText(file)).text;
  });
}

const tooLong = (what: string, bytes: number): string => `${what} has ${bytes} bytes, more than ${HTML_BYTES_MAX}`;

async function snapshot(database: Database, { sessionKey }: ToolCall): Promise<ToolOutcome> {
  const found = await readCanvas(database.views, sessionKey, true);
  return textOutcome(found?.html ?? 'The canvas is empty.');
}

async function store(
  database: Database,
  { sessionKey, turnId, callId, idempotencyKey, lease }: ToolCall,
  page: { title: string | null; html: string | null },
): Promise<void> {
  lease.assertHeld();
  const wasHeld = await storeCanvas(database, {
    ...page,
    sessionKey,
    turnId,
    callId,
    callKey: idempotencyKey,
    epoch: lease.epoch,
    bytes: Buffer.byteLength(page.html ?? ''),
  });
  if (!wasHeld) throw new Error('Another worker has claimed the session.');
}
