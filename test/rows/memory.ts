import { table } from './table.ts';

export const { count: countMemoryFiles, change: changeMemoryFiles } = table('memory_files', '1', {
  text: 'agentId path sha256',
  int: 'chunks',
  time: 'indexedAt',
});

export const { count: countMemoryChunks } = table('memory_chunks', '1', {
  text: 'agentId path sha256 headings text',
  int: 'ordinal',
});
