// The names of requests in a submission. A name begins with that of its submission, so the first line of the results proves whose they are.
// Format: `hf_<22 characters base64url>_<base36>`, within the `^[a-zA-Z0-9_-]{1,64}$` of Anthropic's Message Batches API.

/** The prefix of the names of all requests of a submission. */
export function prefixOf(submissionId: string): string {
  return `hf_${base64urlOf(submissionId)}_`;
}

/** The name of a request, from its number in the submission. */
export function customIdOf(submissionId: string, requestNo: number): string {
  return `${prefixOf(submissionId)}${requestNo.toString(36)}`;
}

/** The number of a request; null for a name of another submission. */
export function requestNoOf(submissionId: string, customId: string): number | null {
  const prefix = prefixOf(submissionId);
  if (!customId.startsWith(prefix)) return null;
  const rest = customId.slice(prefix.length);
  return /^(?:0|[1-9a-z][0-9a-z]{0,5})$/.test(rest) ? Number.parseInt(rest, 36) : null;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** 128 bits as 22 digits of 6 bits. */
function base64urlOf(uuid: string): string {
  let bits = BigInt(`0x${uuid.replaceAll('-', '')}`) << 4n;
  let text = '';
  for (let digit = 0; digit < 22; digit += 1) {
    text = (DIGITS[Number(bits & 63n)] ?? '') + text;
    bits >>= 6n;
  }
  return text;
}
