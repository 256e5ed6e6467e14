import { table } from './table.ts';

export const {
  read: readClientFiles,
  count: countClientFiles,
  change: changeClientFiles,
} = table('client_files', 'id', {
  text: 'id filename purpose createdBy',
  int: 'bytes',
  time: 'createdAt expiresAt',
  'time?': 'completedAt',
});

export const { read: readClientFileParts, count: countClientFileParts } = table('client_file_parts', 'file_id, n', {
  text: 'fileId',
  int: 'n',
  bytes: 'content',
});

export const { count: countClientBatches } = table('client_batches', 'id', {
  text: 'id inputFileId endpoint',
  'json?': 'metadata errors',
  time: 'createdAt',
});
