// The permitted steps and groups of usage queries.

export const USAGE_STEPS = ['minute', 'hour', 'day'] as const;
export type UsageStep = (typeof USAGE_STEPS)[number];

export const USAGE_GROUPS = ['agent', 'model', 'lane', 'tier', 'kind'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
