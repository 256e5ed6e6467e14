// What a model is called for.

/** For a tool, which has the same name, or for the words of audio: beside the answers of a turn. */
export const PAID_PURPOSES = ['image', 'image_generate', 'tts', 'transcription'] as const;
export type PaidPurpose = (typeof PAID_PURPOSES)[number];

export const CALL_PURPOSES = ['answer', 'compaction', ...PAID_PURPOSES] as const;
export type CallPurpose = (typeof CALL_PURPOSES)[number];

/** True for a call that shows the model nothing of the conversation. */
export function isPaidPurpose(purpose: string | undefined): purpose is PaidPurpose {
  return (PAID_PURPOSES as readonly (string | undefined)[]).includes(purpose);
}
