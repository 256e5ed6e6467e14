// The tools of the MCP server: each is a route of the API, whose schemas make the input schema of
// the tool. Only names and descriptions are declared here.
import { z } from 'zod';
import { listParameters } from '../../api/openapi.ts';
import { roleOf, type Route } from '../../api/route.ts';
import { mayAct, type KeyRole } from '../../core/key-role.ts';

interface ToolRow {
  name: string;
  operationId: string;
  description: string;
  /** The parameters of the path by the fields of the tool. */
  params?: Readonly<Record<string, string>>;
  /** Fields of the route that the tool does not have. */
  without?: readonly string[];
  /** The route answers later if it is asked to wait. */
  waits?: true;
  /** A second route with the same parameters, whose answer is put into this field. */
  beside?: { field: string; operationId: string };
  /** Other defaults than those of the route. */
  defaults?: Readonly<Record<string, string | number>>;
}

/** What a message says of the chat platform that it comes from. */
const OF_CHATS = (
  'messageId channel accountId chatId chatType provider surface timestamp sender group conversationLabel wasMentioned replyTo ' +
  'forwarded history thread groupSystemPrompt'
).split(' ');

const ROWS: readonly ToolRow[] = [
  {
    name: 'send_message',
    operationId: 'sendMessage',
    description:
      'Send a message to the agent of a session; a session that does not exist is created. Returns at once with the ids of the message and the session, or waits ' +
      'up to waitSeconds for the reply. The message is answered once, also if this process or the agent crashes.',
    params: { sessionKey: 'key' },
    without: OF_CHATS,
    waits: true,
  },
  {
    name: 'read_session',
    operationId: 'listEntries',
    description:
      'Read a session: its state and the entries of its transcript (prompts, answers of the agent, tool results), newest first. Long parts are cut.',
    params: { sessionKey: 'key' },
    beside: { field: 'session', operationId: 'getSession' },
    defaults: { order: 'desc', limit: 20, partChars: 4000 },
  },
  {
    name: 'spawn_subagent',
    operationId: 'storeSpawn',
    description:
      'Start a subagent of an existing session in the background. Its result is announced to that session; the session of the subagent can be read, too.',
    params: { sessionKey: 'key' },
  },
  {
    name: 'list_crons',
    operationId: 'listCrons',
    description: 'List the crons (scheduled runs of agents), newest first.',
  },
  {
    name: 'create_cron',
    operationId: 'createCron',
    description: 'Create a cron: a scheduled run of an agent. Each slot fires at most once.',
  },
  {
    name: 'submit_batch',
    operationId: 'postBatches',
    description:
      'Submit a batch: many conversations that run in the background, each answered once. Returns the batch with its id; follow it with batch_status.',
  },
  {
    name: 'batch_status',
    operationId: 'getBatch',
    description:
      'The state, the progress and the costs of a batch. A reply is read in the session of its item with read_session.',
    params: { batchId: 'id' },
  },
];

/** A tool whose routes this API has. */
export interface RouteTool extends Omit<ToolRow, 'operationId' | 'beside'> {
  route: Route;
  beside: { field: string; route: Route } | null;
  inputSchema: { type: 'object'; properties: Record<string, object>; required: string[]; [word: string]: unknown };
}

/** Kept for each list of routes, because the schema of a message takes milliseconds. */
const offered = new WeakMap<readonly Route[], readonly RouteTool[]>();

/** The tools whose routes are there: those of features that are left out are not. */
export function listTools(routes: readonly Route[]): readonly RouteTool[] {
  const known = offered.get(routes);
  if (known !== undefined) return known;
  const find = (id: string): Route | undefined => routes.find(({ operationId }) => operationId === id);
  const tools = ROWS.flatMap(({ operationId, beside, ...row }): RouteTool[] => {
    const route = find(operationId);
    const other = beside === undefined ? undefined : find(beside.operationId);
    if (route === undefined) return [];
    return [
      {
        ...row,
        route,
        beside: beside === undefined || other === undefined ? null : { field: beside.field, route: other },
        inputSchema: buildInputSchema(row, route),
      },
    ];
  });
  offered.set(routes, tools);
  return tools;
}

/** True when a key with the role may use the tool. */
export function mayCall({ route }: RouteTool, role: KeyRole): boolean {
  return mayAct(role, roleOf(route));
}

const IDEMPOTENCY_KEY = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  description:
    'Chosen by you, new for each thing that you want done. If no answer arrives, call again with the same key and the same input: nothing happens twice, and the first answer is returned.',
};
const WAIT_SECONDS = {
  type: 'integer',
  minimum: 0,
  description:
    'How long to wait for the reply. If it takes longer, the answer has the ids only, and the agent continues. Absent: do not wait.',
};

function buildInputSchema(row: Omit<ToolRow, 'operationId' | 'beside'>, route: Route): RouteTool['inputSchema'] {
  const { params = {}, defaults = {}, without = [], waits = false } = row;
  const parameters = listParameters(route) as unknown as {
    name: string;
    in: string;
    description: string;
    schema: object;
  }[];
  const named = Object.entries(params).flatMap(([field, name]) => {
    const found = parameters.find((one) => one.in === 'path' && one.name === name);
    return found === undefined ? [] : [[field, { ...found.schema, description: found.description }] as const];
  });
  const own = route.method === 'GET' ? querySchema(parameters, defaults) : bodySchema(route);
  const shown = Object.entries(own.properties).filter(([name]) => !without.includes(name));
  return {
    ...own,
    type: 'object',
    properties: {
      ...Object.fromEntries(named),
      ...Object.fromEntries(shown),
      ...(waits ? { waitSeconds: WAIT_SECONDS } : {}),
      ...(route.method === 'POST' ? { idempotencyKey: IDEMPOTENCY_KEY } : {}),
    },
    required: [...Object.keys(params), ...(own.required ?? [])],
    additionalProperties: false,
  };
}

interface PartSchema {
  properties: Record<string, object>;
  required?: string[];
}

function bodySchema({ body }: Route): PartSchema {
  if (body === undefined) return { properties: {} };
  const { $schema: _dialect, ...schema } = z.toJSONSchema(body, {
    io: 'input',
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // Hundreds of characters that say no more than the format.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  });
  return schema as unknown as PartSchema;
}

function querySchema(
  parameters: readonly { name: string; in: string; description: string; schema: object }[],
  defaults: Readonly<Record<string, string | number>>,
): PartSchema {
  const inQuery = parameters
    .filter((one) => one.in === 'query')
    .map(({ name, description, schema }) => {
      const own = defaults[name];
      if (own === undefined) return [name, { ...schema, description }] as const;
      return [name, { ...schema, description: description.replace(/; absent: .*$/, ''), default: own }] as const;
    });
  return { properties: Object.fromEntries(inQuery) };
}
