// The path parameters by name: their checks, the values that a route gets, and their descriptions in the document.
import { isUuid, type SessionKey } from '../core/ids.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../core/session-key.ts';
import { notFound, Problem } from './problem.ts';

interface PathParameter<Value> {
  description: string;
  /** JSON Schema of the value in a request. */
  schema: Record<string, unknown>;
  /** The value that routes get. Throws `Problem`. */
  parse: (raw: string) => Value;
}

const COUNT = /^[1-9]\d{0,8}$/;

export const PATH_PARAMETERS = {
  key: {
    description: 'The key of a session; a key without the prefix agent: belongs to the agent main',
    schema: { type: 'string', maxLength: 211 },
    parse: (raw) => parseSessionKey(raw, 'key'),
  } satisfies PathParameter<SessionKey>,
  id: defineUuid('The id of the object, as answers have it', 'resource'),
  runId: defineUuid('The id of a run of a subagent', 'run'),
  n: {
    description: 'The number of the model call, or of the part of an entry, counted from 1',
    schema: { type: 'integer', minimum: 1 },
    parse(raw) {
      if (!COUNT.test(raw)) throw notFound('object with this number: numbers start at 1');
      return Number(raw);
    },
  } satisfies PathParameter<number>,
  callId: defineText('The id of a tool call'),
  toolCallId: defineText('The id of a call of an external tool'),
  model: defineText('The name of a model'),
  responseId: defineText('The id of a response'),
  fileId: defineText('The id of a file'),
  clientBatchId: defineText('The id of an OpenAI-compatible batch'),
  senderId: defineText('The sender.id in the messages of the person'),
  agent: defineText('The id of an agent'),
  server: defineText('The name of an MCP server'),
  name: defineText('The name of a channel in the configuration'),
  account: defineText('The name of an account of the channel in the configuration'),
  attentionId: defineText('The id of a problem that needs attention'),
};

type PathParameterName = keyof typeof PATH_PARAMETERS;

/** `key` is canonical, `id` and `runId` are UUIDs in lower case, `n` is a positive integer, `callId` a text, `agent` a name. */
export type PathValues = {
  [Name in PathParameterName]: ReturnType<(typeof PATH_PARAMETERS)[Name]['parse']>;
};

function isPathParameter(name: string): name is PathParameterName {
  return Object.hasOwn(PATH_PARAMETERS, name);
}

export function namesIn(path: string): PathParameterName[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    if (!isPathParameter(name))
      throw new Error(`the path ${path} has a parameter that path-parameters.ts does not know`);
    return name;
  });
}

/** The canonical form of a session key from outside. Throws `Problem` 400. */
export function parseSessionKey(raw: string, path: string): SessionKey {
  try {
    return canonicalSessionKey(raw);
  } catch (error) {
    if (!(error instanceof InvalidSessionKeyError)) throw error;
    throw new Problem('invalid_session_key', `The ${error.message}.`, {
      errors: [{ path, message: '1 to 200 characters of a-z 0-9 : _ . @ + -' }],
      cause: error,
    });
  }
}

function defineText(description: string): PathParameter<string> {
  return { description, schema: { type: 'string' }, parse: (raw) => raw };
}

function defineUuid(description: string, what: string): PathParameter<string> {
  return {
    description,
    schema: { type: 'string', format: 'uuid' },
    parse(raw) {
      if (!isUuid(raw)) throw notFound(`${what} with this id: ids are UUIDs`);
      return raw.toLowerCase();
    },
  };
}
