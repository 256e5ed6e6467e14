// Entries of the audit log as words: what was done, and to which object.

const PAST: Readonly<Record<string, string>> = {
  send: 'sent',
  run: 'ran',
  reset: 'reset',
  forget: 'forgot',
  cancel: 'cancelled',
  redrive: 'redrove',
};

/** Operations whose names are not a verb and its object. */
const DEEDS: Readonly<Record<string, string>> = {
  sendMessage: 'sent a message to the session',
  queueSystemEvent: 'queued a system event for the session',
  compactSession: 'compacted the session',
  restoreCompaction: 'restored what was compacted in the session',
  storeSpawn: 'spawned a subagent of the session',
  pause: 'paused work',
  resume: 'resumed work',
  reloadConfig: 'reloaded the configuration',
  postBatches: 'created the batch',
  retryFailedItems: 'retried the failed items of the batch',
  eraseSubject: 'erased the person',
  acknowledgeAttention: 'acknowledged the problem',
  snoozeAttention: 'snoozed the problem',
  signIn: 'signed in',
  signOut: 'signed out',
};

/** What an operation has done: `revokeKey` is "revoked the key". */
export function deedText(action: string): string {
  const known = DEEDS[action];
  if (known !== undefined) return known;
  const [verb = '', ...rest] = action
    .replace(/ForClients$/, '')
    .replaceAll(/[A-Z]/g, ' $&')
    .toLowerCase()
    .split(' ');
  return `${pastOf(verb)} the ${rest.join(' ')}`;
}

function pastOf(verb: string): string {
  if (verb.endsWith('e')) return PAST[verb] ?? `${verb}d`;
  return PAST[verb] ?? (verb.endsWith('y') ? `${verb.slice(0, -1)}ied` : `${verb}ed`);
}

/**
 * The object that a path names: what follows its list. Null: none, as when someone has signed in.
 */
export function objectOf(path: string): string | null {
  const object = /^(?:\/openai)?\/v1\/(?!auth\/)[^/]+\/([^/]+)/.exec(path)?.[1];
  return object === undefined ? null : decodeURIComponent(object);
}
