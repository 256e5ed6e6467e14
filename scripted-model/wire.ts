// A request as the scripted model sees it once it has been checked: that of the Messages API, into
// which the other wires read theirs.

export interface WireBlock {
  type: string;
  cache_control?: unknown;
  [field: string]: unknown;
}

export interface WireMessage {
  role: 'user' | 'assistant';
  content: string | WireBlock[];
}

/** A valid body of `POST /v1/messages`; fields that play no part here are left out. */
export interface MessagesRequest {
  model: string;
  max_tokens: number;
  messages: WireMessage[];
  system?: string | WireBlock[];
  tools?: Record<string, unknown>[];
  stream?: boolean;
  /** True: the answer is a picture. */
  wantsPicture?: boolean;
  /** Prompts of different keys share no cached prefix. */
  cacheKey?: string;
  /** The JSON schema that the text of the answer has to fit. */
  outputSchema?: Record<string, unknown>;
}

/** The blocks of a message or system prompt; a plain string is one text block. */
export function blocksOf(content: string | WireBlock[] | undefined): WireBlock[] {
  if (content === undefined) return [];
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
