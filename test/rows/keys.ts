import { table } from './table.ts';

export const { read: readIdempotencyKeys, add: addIdempotencyKeys } = table('idempotency_keys', 'key', {
  text: 'scope key requestSha256',
  'text?': 'resourceId',
  'int?': 'status',
  'json?': 'response result',
  time: 'createdAt',
});
