// When a person is asked about a tool call.

/** What may be true of a call. */
export const APPROVAL_CONDITIONS = ['outside-sandbox', 'outside-workspace', 'network', 'untrusted'] as const;
export type ApprovalCondition = (typeof APPROVAL_CONDITIONS)[number];

export const APPROVAL_ASKS = ['always', 'once', 'never'] as const;
export type ApprovalAsk = (typeof APPROVAL_ASKS)[number];
