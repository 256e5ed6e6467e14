// A plugin whose tools have the names that sections of the system prompt ask for. They do nothing.
import type { Tool } from '../../../src/tools/tool.ts';

const NAMES = ['gateway', 'zebra', 'Alpha'];

export const tools: Tool[] = NAMES.map((name) => ({
  spec: { name, description: `Stands for ${name}.`, input_schema: { type: 'object' } },
  summary: `stands for ${name}`,
  isIdempotent: true,
  run: async () => ({ content: 'Nothing was done.', isError: false }),
}));
