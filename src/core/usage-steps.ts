// How usage may be asked for: the lengths of its steps in time, and what it is grouped by.

export const USAGE_STEPS = ['minute', 'hour', 'day'] as const;
export type UsageStep = (typeof USAGE_STEPS)[number];

export const USAGE_GROUPS = ['agent', 'model', 'lane', 'tier', 'kind'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
