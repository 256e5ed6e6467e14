// The thought signatures of Gemini: only the model and the organisation that signed a part can use
// it, and only with the same content. A signed text may come back in more or fewer parts.
import { refusedByGemini } from './gemini-errors.ts';
import { sealOf } from '../signature.ts';

/** With these, Gemini takes a call without a signature of its own, as its documentation says. */
const SKIPPING: ReadonlySet<string> = new Set([
  'skip_thought_signature_validator',
  'context_engineering_is_the_way_to_go',
]);

interface Signer {
  model: string;
  organisation: string;
}

export function signCall(signer: Signer, name: string, args: unknown): string {
  return sign(signer, 0, contentOfCall(name, args));
}

/** Signs the end of a text. */
export function signText(signer: Signer, text: string): string {
  return sign(signer, text.length, text);
}

/** Throws `ProviderError` 400 unless the reader has signed this call. */
export function checkCallSignature(reader: Signer, signature: string, name: string, args: unknown): void {
  check(reader, signature, () => contentOfCall(name, args));
}

/** As `checkCallSignature`, for a text: `text` is all of the answer up to the signed part. */
export function checkTextSignature(reader: Signer, signature: string, text: string): void {
  check(reader, signature, (chars) => (chars === 0 ? '' : text.slice(-chars)));
}

function sign({ model, organisation }: Signer, chars: number, content: string): string {
  const seal = sealOf(model, organisation, content);
  return Buffer.from(`scripted:${chars}:${seal}`).toString('base64');
}

function check(reader: Signer, signature: string, contentOf: (chars: number) => string): void {
  if (SKIPPING.has(signature)) return;
  const [, chars, seal] = /^scripted:(\d+):(.+)$/.exec(Buffer.from(signature, 'base64').toString()) ?? [];
  if (chars === undefined || seal === undefined) throw refusedByGemini('Corrupted thought signature.');
  if (seal !== sealOf(reader.model, reader.organisation, contentOf(Number(chars)))) {
    throw refusedByGemini('Thought signature is not valid.');
  }
}

function contentOfCall(name: string, args: unknown): string {
  return JSON.stringify([name, sorted(args)]);
}

/** A value with the fields of its objects in order, which a store may have changed. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
