// The faults of an answer that should be a summary, and the text where there is no such answer.
import type { PathEntry } from '../../../core/entry.ts';
import { findIdentifiers, missingSummaryText } from '../../../compaction/summary-text.ts';
import { joinText } from '../../../core/content.ts';
import { faultOfStop } from '../../../core/failure.ts';
import type { ModelAnswer } from '../../../core/model-request.ts';
import { estimateTextTokens } from '../../../core/token-estimate.ts';

export interface SummaryFault {
  code: string;
  message: string;
}

/** A summary must be at most this share of what it replaces. */
const SHRUNK_SHARE_MAX = 0.8;

export const DID_NOT_SHRINK = 'did_not_shrink';
export const EMPTY_SUMMARY: SummaryFault = { code: 'empty_summary', message: 'The model wrote no summary.' };

/** Why the answer cannot replace `retiredTokens` of conversation; null: it can. `summary`: its text, null when it has none. */
export function summaryFault(answer: ModelAnswer, summary: string | null, retiredTokens: number): SummaryFault | null {
  return findStopFault(answer) ?? textFault(summary, retiredTokens);
}

/** Why an answer ended before it was a complete summary; null: it did not. */
function findStopFault(answer: ModelAnswer): SummaryFault | null {
  if (answer.stopReason !== 'refusal') return faultOfStop(answer);
  return { code: 'model_refused', message: 'The model refused to write a summary.' };
}

function textFault(summary: string | null, retiredTokens: number): SummaryFault | null {
  if (summary === null) return EMPTY_SUMMARY;
  const tokens = estimateTextTokens(summary);
  if (tokens <= retiredTokens * SHRUNK_SHARE_MAX) return null;
  return {
    code: DID_NOT_SHRINK,
    message: `The summary has ${tokens} tokens, too many for ${retiredTokens} tokens of conversation.`,
  };
}

/** The text in place of entries of which the model writes no summary; without what an earlier summary says if it would not be shorter. */
export function missingSummary(retired: readonly PathEntry[], retiredTokens: number): string {
  const earlier = retired.find(({ kind }) => kind === 'summary')?.content ?? [];
  const full = missingSummaryText(joinText(earlier), findIdentifiers(retired));
  return textFault(full, retiredTokens) === null ? full : missingSummaryText('', []);
}
