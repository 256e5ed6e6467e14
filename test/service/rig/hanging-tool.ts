// A tool that hangs in the file system when it first runs, in more calls than Node has threads. A
// service loads this module as a plugin; `HANGING_PIPE` names a pipe without a writer. Whether it
// has run, it notes in a file beside the pipe.
import { existsSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool } from '../../../src/tools/define-tool.ts';
import { textOutcome, type Tool } from '../../../src/tools/tool.ts';

const CALLS = 8;

export function createTools(): Tool[] {
  const pipe = process.env['HANGING_PIPE'] ?? '';
  return [
    defineTool({
      name: 'hang',
      description: 'Read the pipe.',
      summary: 'Read the pipe',
      input: z.strictObject({}),
      isIdempotent: true,
      isReadOnly: true,
      async run() {
        if (existsSync(`${pipe}.read`)) return textOutcome('It was read before.');
        const calls = Array.from({ length: CALLS }, () => open(pipe, 'r'));
        writeFileSync(`${pipe}.read`, '');
        await Promise.all(calls);
        return textOutcome('Something wrote to it.');
      },
    }),
  ];
}
