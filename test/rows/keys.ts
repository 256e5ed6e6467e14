import { table } from './table.ts';

export const {
  read: readIdempotencyKeys,
  count: countIdempotencyKeys,
  change: changeIdempotencyKeys,
  add: addIdempotencyKeys,
} = table('idempotency_keys', 'key', {
  text: 'scope key requestSha256',
  'text?': 'resourceId',
  'int?': 'status',
  'json?': 'response result',
  time: 'createdAt',
});

export const {
  add: addApiKeys,
  change: changeApiKeys,
  remove: removeApiKeys,
} = table('api_keys', 'id', {
  text: 'id name role sha256 createdBy',
  'text?': 'owner replaces',
  'int?': 'requestsPerMinute messagesInFlight',
  time: 'createdAt',
  'time?': 'expiresAt lastUsedAt revokedAt',
});

export const { count: countTokenSecrets } = table('token_secrets', '1', { bool: 'isOnly' });

export const { change: changeSignInCodes } = table('sign_in_codes', '1', { text: 'sha256', time: 'expiresAt' });

export const { change: changeWebSessions } = table('web_sessions', '1', { text: 'id', time: 'createdAt expiresAt' });
