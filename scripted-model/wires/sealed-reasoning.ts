// The encrypted content of a reasoning item of Responses. Only the model and the organisation that
// wrote it can read it, and it stands before the item that followed it.
import { isRecord } from '../wire.ts';
import { sealOf } from '../signature.ts';
import { refused } from './openai-errors.ts';

const START = 'gAAAA';

interface Reasoning {
  model: string;
  organisation: string;
  /** The id of the reasoning item. */
  id: string;
  /**
   * The item after it: the id of its call, or of the message; empty: the answer ended with the
   * reasoning.
   */
  next: string;
}

export function sealReasoning(reasoning: Reasoning): string {
  const text = Buffer.from(JSON.stringify(reasoning)).toString('base64url');
  return `${START}${text}.${sealOf(text)}`;
}

/**
 * Throws `ProviderError` 400 `invalid_encrypted_content` for what was changed, or written by
 * another model or organisation.
 */
export function openReasoning(
  content: string,
  reader: { model: string; organisation: string; id?: string },
): Reasoning {
  const [text = '', seal] = content.slice(START.length).split('.');
  const what = reader.id === undefined ? `${content.slice(0, 4)}...${content.slice(-4)}` : `for item ${reader.id}`;
  const refuse = (reason: string) =>
    refused(
      `The encrypted content ${what} could not be verified. Reason: ${reason}`,
      null,
      'invalid_encrypted_content',
    );
  if (!content.startsWith(START) || seal !== sealOf(text)) {
    throw refuse('Encrypted content could not be decrypted or parsed.');
  }
  const reasoning: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
  if (!isReasoning(reasoning) || reasoning.model !== reader.model) {
    throw refuse('Encrypted content could not be decrypted or parsed.');
  }
  if (reasoning.organisation !== reader.organisation) {
    throw refuse('Encrypted content organization_id did not match the target organization.');
  }
  if (reader.id !== undefined && reasoning.id !== reader.id) {
    throw refuse('Encrypted content item_id did not match the target item id.');
  }
  return reasoning;
}

/** The seal says that it is one of ours. */
function isReasoning(value: unknown): value is Reasoning {
  return isRecord(value);
}
