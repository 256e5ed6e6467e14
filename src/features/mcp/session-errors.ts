// The errors with which the transport of a server says that it does not know the session of a
// connection: no session has taken the request, so it is sent again in a new one. The errors of
// tools may be about sessions of their own, so the whole message has to be such words.
import { ProtocolErrorCode, type ProtocolError } from '@modelcontextprotocol/client';

/** The codes of requests and transports. Tools fail with others. */
const CODES: readonly number[] = [ProtocolErrorCode.InvalidRequest, -32_000, -32_001];
const FILLERS = new Set(
  'a the bad request error http mcp transport id with for is was has been provided or missing'.split(' '),
);
const SAID =
  'not found|not found expired|does not exist|not valid|expired|invalid|unknown|terminated|closed|not initialized';
const KINDS = 'no|no valid|no active|no such|invalid|invalid expired|unknown|expired';
const PHRASES = new Set([
  ...SAID.split('|').map((said) => `session ${said}`),
  ...KINDS.split('|').map((kind) => `${kind} session`),
  'no session found',
  'server not initialized',
]);

/** `sessionId`: that of the connection, which the message may name. */
export function isOfSession({ code, message }: Pick<ProtocolError, 'code' | 'message'>, sessionId = ''): boolean {
  if (!CODES.includes(code)) return false;
  const words = (sessionId === '' ? message : message.replaceAll(sessionId, ' '))
    .toLowerCase()
    .split(/[\s:.,;!'"()[\]]+/);
  return PHRASES.has(words.filter((word) => word !== '' && !FILLERS.has(word)).join(' '));
}
