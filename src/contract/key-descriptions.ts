// Descriptions of the fields of keys, sign-ins and the audit log, for the OpenAPI document; see field-descriptions.ts.

/** By field. */
export const KEY_DESCRIPTIONS: Readonly<Record<string, string>> = {
  'signIn.key': 'An API key',
  'signIn.code': 'A code of `POST /v1/auth/codes`; it can be used once',
  principal: 'Who sent the request: `admin`, or `key:<name>`',
  'getSignIn.expiresAt':
    'When the sign-in of the browser expires; null: the request was sent with a key, which needs no sign-in',
  all: 'True: sign out every browser that signed in with the same key',
  'createSignInCode.code': 'The code, valid for one sign-in; null: the request was a retry, and codes are not stored',
  'createSignInCode.expiresAt': 'When it expires',
  'createKey.name': 'The name of its owner in budgets (`key:<name>`) and in the audit log; unique among valid keys',
  'createKey.role': '`viewer` can read, `operator` can also change what runs, `admin` can also manage keys',
  'createKey.expiresAt': 'When it expires; null or absent: never',
  'createKey.key': 'The key. Store it: it is not shown again. null: the request was a retry, and keys are not stored',
  'listKeys.role': '`viewer` can read, `operator` can also change what runs, `admin` can also manage keys',
  'listKeys.expiresAt': 'When it expires; null: never',
  lastUsedAt: 'When it was last used, exact to a minute; null: never',
  revokedAt: 'When it was revoked; null: it was not revoked',
  'listAudit.at': 'When the request began',
  'listAudit.role': 'The role of the key',
  'listAudit.action': 'The name of the operation in this document',
  'listAudit.target': 'The path of the request, with the id of the object that it created',
  'listAudit.reason': 'The reason in the request; null: none',
  'listAudit.outcome':
    '`ok`, or the code of the problem; null: the request has not ended, or the process ended during it',
  'listAudit.principal': 'Who sent it: `admin`, or `key:<name>`',
  'listAudit.requestId': 'The id of the request',
};
