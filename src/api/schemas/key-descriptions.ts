// Descriptions of the fields of keys, sign-ins and the audit log, for the OpenAPI document; see field-descriptions.ts.

/** By field. */
export const KEY_DESCRIPTIONS: Readonly<Record<string, string>> = {
  'signIn.key': 'An API key',
  'signIn.code': 'A code of `POST /v1/auth/codes`; it can be used once',
  principal: 'Who it is: `admin`, or `key:<name>`',
  'getSignIn.expiresAt': 'When the browser is signed out; null: the request came with a key, which needs no sign-in',
  all: 'True: sign out everywhere, that is, every browser that signed in with the same key',
  'createSignInCode.code': 'The code, for one sign-in; null: the answer to a retry, because codes are not stored',
  'createSignInCode.expiresAt': 'When it stops being valid',
  'createKey.name': 'Whose key it is, in budgets (`key:<name>`) and in the log of changes; unique among valid keys',
  'createKey.role': '`viewer` reads, `operator` also changes what runs, `admin` also manages keys',
  'createKey.expiresAt': 'When it stops being valid; null or absent: never',
  'createKey.key': 'The key; null: the answer to a retry, because keys are not stored. Keep it: it is not shown again',
  'listKeys.role': '`viewer` reads, `operator` also changes what runs, `admin` also manages keys',
  'listKeys.expiresAt': 'When it stops being valid; null: never',
  lastUsedAt: 'When it was used last, exact to a minute; null: never',
  revokedAt: 'When it was revoked; null: it was not',
  'listAudit.at': 'When the request began',
  'listAudit.role': 'The role of its key',
  'listAudit.action': 'The name of the operation in this document',
  'listAudit.target': 'The path of the request, with the id of what it made',
  'listAudit.reason': 'The reason that the request gave; null: none',
  'listAudit.outcome': '`ok`, or the code of the problem; null: it has not ended, or the process ended before it',
  'listAudit.principal': 'Who has sent it: `admin`, or `key:<name>`',
  'listAudit.requestId': 'The id of the request',
};
