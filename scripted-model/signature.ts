// Signs the scripted model's thinking, so that thinking which comes back altered is found out as the real API finds it out.
import { createHash } from 'node:crypto';

/** The signature of a thinking block with this text; the same on every server. */
export function signatureOf(thinking: string): string {
  return createHash('sha256').update(`scripted thinking: ${thinking}`).digest('base64');
}
