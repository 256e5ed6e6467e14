// The states of a submission to the provider; the diagram is in src/store/provider-lane/submissions.ts.

export const SUBMISSION_STATUSES = [
  'open',
  'submitting',
  'unknown',
  'submitted',
  'canceling',
  'ended',
  'read',
  'lost',
  'failed',
] as const;

export type SubmissionStatus = (typeof SUBMISSION_STATUSES)[number];
