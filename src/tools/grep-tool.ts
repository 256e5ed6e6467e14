// The `grep` tool: searches the contents of the workspace's files, with ripgrep where there is one.
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import type { Tool } from './tool.ts';
import { runToolsetTool } from './workspace-files.ts';

export const grepTool: Tool = defineTool({
  name: 'grep',
  description:
    'Search the contents of files for a regular expression. Answers with lines of the form path:line:text, at most 100 KiB.',
  summary: 'Search file contents for patterns',
  input: z.strictObject({
    pattern: z.string().min(1).max(10_000).describe('Regular expression'),
    path: z.string().min(1).optional().describe('File or directory to search, relative to the workspace; default all'),
  }),
  isIdempotent: true,
  isReadOnly: true,
  run: (input, call) => runToolsetTool((toolset, context) => toolset.betaGrepTool(context), input, call),
});
