// Signs the scripted model's thinking, so that altered thinking is detected, as the real API detects it.
import { createHash } from 'node:crypto';

/** The signature of a thinking block with this text; the same on every server. */
export function signatureOf(thinking: string): string {
  return createHash('sha256').update(`scripted thinking: ${thinking}`).digest('base64');
}
