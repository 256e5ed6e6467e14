// Settings as they may be shown: secrets only by a fingerprint, and of addresses no password, no query and no path that lets in (G31).
import { createHash } from 'node:crypto';

const FINGERPRINT_DIGITS = 8;

/** A secret as it may be shown. The fingerprint is the beginning of its SHA-256 in hex: equal secrets have equal ones. */
export interface ShownSecret {
  isSet: boolean;
  /** Null: it is not set. */
  fingerprint: string | null;
}

const SECRET_NAME = /secret|password|credential|token(?!s)|api[_-]?key|^keys?$|authorization|cookie/i;
/** A command names the key that it calls with; a plugin's own settings may be anything. */
const SECRET_PLACE = /\.headers\.|\.heartbeat\.when\.command$|^plugins\.entries\.[^.]+\.config\./;
/** Addresses whose path is not a secret. Those of webhooks often are: who knows the path may call them. */
const OPEN_PATH = /^runtime\.|\.baseUrl$|\.publicUrl$/;

/** True for a setting whose value is a secret, set or not. */
export function isSecret(path: string, value: unknown): boolean {
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (typeof value === 'boolean' || (Array.isArray(value) && value.length === 0)) return false;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return false;
  return SECRET_NAME.test(name) || (SECRET_PLACE.test(path) && value !== null);
}

/** A secret by its fingerprint. */
export function shownSecret(value: unknown): ShownSecret {
  if (value === null || value === undefined || value === '') return { isSet: false, fingerprint: null };
  const bytes = typeof value === 'string' ? value : JSON.stringify(value);
  return { isSet: true, fingerprint: createHash('sha256').update(bytes).digest('hex').slice(0, FINGERPRINT_DIGITS) };
}

/** A value that is not a secret, with hidden parts removed from its texts. */
export function shownValue(path: string, value: unknown, redact: (text: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => shownValue(path, each, redact));
  if (typeof value !== 'string') return value;
  const mayHidePath = /url$/i.test(path) && !OPEN_PATH.test(path);
  // An address may have characters that end one within a text: a password with a quotation mark.
  if (ADDRESS.test(value) && URL.canParse(value)) return redact(shownUrl(value, mayHidePath));
  return redact(value.replaceAll(ADDRESS_IN_TEXT, (url) => shownUrl(url, mayHidePath)));
}

const CENSOR = '[secret]';
const ADDRESS = /^\s*[a-z][a-z0-9+.-]*:\/\//i;
const ADDRESS_IN_TEXT = /[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;

/** An address without its password, the values of its query and its fragment, and on demand without its path. */
function shownUrl(text: string, mayHidePath: boolean): string {
  if (!URL.canParse(text)) return text.replace(/:\/\/.*@/, `://${CENSOR}@`);
  const { protocol, username, password, host, pathname, searchParams, hash } = new URL(text);
  const isDatabase = /^(?:postgres(?:ql)?|rediss?):$/.test(protocol);
  const isPathHidden = pathname.includes('@') || (mayHidePath && pathname.length > 1);
  if (username === '' && password === '' && searchParams.size === 0 && hash === '' && !isPathHidden) return text;
  const name = password === '' && !isDatabase && username !== '' ? CENSOR : username;
  const user = username === '' && password === '' ? '' : `${name}${password === '' ? '' : `:${CENSOR}`}@`;
  const query = [...searchParams].map(([key, value]) => {
    const isOpen = isDatabase && !SECRET_NAME.test(key) && !/pass|sslkey/i.test(key);
    return `${key}=${isOpen ? value : CENSOR}`;
  });
  const path = isPathHidden ? `/${CENSOR}` : pathname;
  return `${protocol}//${user}${host}${path}${query.length > 0 ? `?${query.join('&')}` : ''}${hash === '' ? '' : `#${CENSOR}`}`;
}
