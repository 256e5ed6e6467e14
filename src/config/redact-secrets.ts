// Takes known secrets out of texts, in every form in which another system may repeat them: plain, as JSON or a URL writes them, and
// within base64. For texts that are stored or shown although others wrote them, above all errors of providers and receivers (G31).
import { cutHead } from '../core/text.ts';

const CENSOR = '[redacted]';
/** Shorter secrets would take ordinary words out of texts. */
const SECRET_CHARS_MIN = 6;
const WEBHOOK_PREFIX = 'whsec_';
/** The largest part of a text that is searched; the rest is dropped. */
const TEXT_CHARS_MAX = 16_384;

/** A text without the secrets, and no longer than 16,384 characters. */
export type Redact = (text: string) => string;

/** The function that takes these secrets out of a text. */
export function createRedact(secrets: readonly string[]): Redact {
  const forms = secrets.flatMap(listForms);
  if (forms.length === 0) return (text) => cutHead(text, TEXT_CHARS_MAX);
  const pattern = compilePattern(forms);
  const formCharsMax = Math.max(...forms.map((form) => form.length));
  return (text) => {
    if (text.length <= TEXT_CHARS_MAX) return text.replace(pattern, CENSOR);
    // A secret that the cut goes through is no longer recognised: the last characters go with it.
    const kept = text.slice(0, TEXT_CHARS_MAX + formCharsMax).replace(pattern, CENSOR);
    return cutHead(kept, Math.min(TEXT_CHARS_MAX, kept.length - formCharsMax));
  };
}

/** Regular expressions that match these secrets in all of their forms, the longest first. */
export function secretPatterns(secrets: readonly string[]): string[] {
  return toSources(secrets.flatMap(listForms));
}

function compilePattern(forms: readonly string[]): RegExp {
  return new RegExp(toSources(forms).join('|'), 'g');
}

function toSources(forms: readonly string[]): string[] {
  const byLength = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
  return byLength.map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`));
}

/** A secret in each of its forms; none for one that is too short. */
function listForms(secret: string): string[] {
  if (secret.length < SECRET_CHARS_MIN) return [];
  // The key of a webhook secret is the part after its prefix.
  if (secret.startsWith(WEBHOOK_PREFIX)) return listForms(secret.slice(WEBHOOK_PREFIX.length));
  const json = JSON.stringify(secret).slice(1, -1);
  const url = encodeURIComponent(secret);
  const base64 = listBase64(secret);
  return [
    secret,
    json,
    json.replaceAll('/', String.raw`\/`),
    url,
    url.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    url.replaceAll('%20', '+'),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    ...base64.map(encodeURIComponent),
  ];
}

/**
 * The characters that a secret becomes in base64, wherever it begins in what was encoded: three bytes are four characters, so there are
 * three. Characters that also depend on the text before or after it are left out.
 */
function listBase64(secret: string): string[] {
  return [0, 1, 2].map((bytesBefore) => {
    const encoded = Buffer.concat([Buffer.alloc(bytesBefore), Buffer.from(secret)]);
    const begin = Math.ceil((bytesBefore * 8) / 6);
    return encoded.toString('base64').slice(begin, Math.floor((encoded.length * 8) / 6));
  });
}
