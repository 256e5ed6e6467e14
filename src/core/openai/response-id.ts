// The id of a response: the message that began it, and the step after which it begins. A response exists before a turn has claimed its
// message, so the id of the turn cannot be in it.
const PATTERN = /^resp_([\da-f]{32})(?:_(\d{1,6}))?$/;

export interface ResponseName {
  messageId: string;
  /** 0: the whole output of the turn; otherwise the output after the results of this step. */
  afterStep: number;
}

/** The id that the client is given. */
export function responseIdOf({ messageId, afterStep }: ResponseName): string {
  return `resp_${messageId.replaceAll('-', '')}${afterStep === 0 ? '' : `_${afterStep}`}`;
}

/** The turn of an id; null: the id is not one of Holdfast's. */
export function parseResponseId(id: string): ResponseName | null {
  const [, hex = '', step = '0'] = PATTERN.exec(id) ?? [];
  if (hex === '') return null;
  const messageId = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  return { messageId, afterStep: Number(step) };
}
