// The headers that requests of clients may have, for the document.
export const answerCallHeaders = {
  'x-holdfast-session-key': 'The session that the message is for',
  'x-holdfast-agent-id': 'The agent of a request whose model names none',
  'x-holdfast-history':
    'server: the stored history counts; fork: the history of the request counts, in a copy of the session',
  'x-holdfast-on-disconnect': 'continue: the turn ends without the client; abort: it stops when the client leaves',
};
