// Signs the scripted model's thinking, so that altered thinking is detected, as the real APIs
// detect it.
import { createHash, createHmac } from 'node:crypto';

/** The signature of a thinking block with this text; the same on every server. */
export function signatureOf(thinking: string): string {
  return createHash('sha256').update(`scripted thinking: ${thinking}`).digest('base64');
}

/**
 * Signs what a wire has to get back unchanged, such as model and content of an answer; the same on
 * every server.
 */
export function sealOf(...parts: readonly string[]): string {
  return createHmac('sha256', 'scripted model').update(JSON.stringify(parts)).digest('base64url');
}
