import { table } from './table.ts';

export const { read: readClientFileParts } = table('client_file_parts', 'file_id, n', {
  text: 'fileId',
  int: 'n',
  bytes: 'content',
});
