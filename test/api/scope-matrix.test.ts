// Goal: what is outside of the scope of a key does not exist for it, in any route and any tool
// (G44). Method: three customers of one service, each with something of every kind. Keys of one of
// them, and a token for one of its sessions, ask every route of the table for things of the others
// and for things that do not exist, and compare the answers. The requests are made from the table
// and from the scenarios of test/crash/rig/keyed-scenarios.ts; a route that needs more fails a test
// that says what to add.
import { beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { ROUTES } from '../../scripts/all-routes.ts';
import { roleOf, type Route } from '../../src/api/route.ts';
import { KEY_ROLES, mayAct } from '../../src/core/key-role.ts';
import { listTools, type RouteTool } from '../../src/features/mcp-server/tools.ts';
import { KEYED_SETTINGS } from '../crash/rig/keyed-channels.ts';
import { ADMIN_KEY } from './api-rig.ts';
import { openEvents, type ReceivedEvent } from './event-client.ts';
import { HIDDEN_FIELDS } from './hidden-fields.ts';
import { bearer, fill, placesOf, routeOf, type Customer } from './scope-world.ts';
import { useApiRig } from './use-api-rig.ts';

const WORDS = ['zebra-of-a', 'zebra-of-b', 'horse-of-s'] as const;
const FOREIGN = /[\w:.@+%-]*(?:zebra-of-b|horse-of-s)[\w:.@+%-]*/g;
const UUID = /[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}/g;

/** Bodies of PATCH routes, and of POST routes without a scenario, by their operations. */
const BODIES: Record<string, object> = {
  updateSession: { label: 'of a stranger' },
  updateBatch: { name: 'of a stranger' },
  createChatCompletion: { model: 'holdfast', messages: [] },
  createChatCompletionForClients: { model: 'holdfast', messages: [] },
  uploadFileForClients: {},
  callMcp: {},
};

/** Bodies that name more than the path does, by their operations. */
const NAMING: Record<string, (things: Record<string, string>) => object> = {
  setScore: ({ messages }) => ({ score: 'helpful', value: 1, messageId: messages }),
  forkSession: ({ key, entries }) => ({ key, entryId: entries }),
  createResponse: ({ responseId }) => ({ model: 'holdfast', input: 'x', previous_response_id: responseId }),
  createResponseForClients: ({ responseId }) => ({ model: 'holdfast', input: 'x', previous_response_id: responseId }),
  createBatchForClients: ({ fileId }) => ({
    input_file_id: fileId,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  }),
  postBatches: ({ key }) => ({ items: [{ text: 'x', session: key }] }),
  storeSpawn: ({ agent }) => ({ task: 'x', agentId: agent }),
};

/** What they show is in the configuration, which is the same for all: agents inside. */
const ABOUT_AGENTS = new Set('listAgents listModels listModelsForClients getModel getModelForClients'.split(' '));

/** Filters that name what a customer has, each with such a value. */
const FILTERS: Record<string, (customer: Customer, route: Route) => string | undefined> = {
  session: ({ things }) => things['key'],
  ids: ({ things }) => things['messages'],
  turn: ({ things }) => things['turns'],
  batch: ({ things }) => things['batches'],
  agent: ({ agent }) => agent,
  tag: ({ word }) => `customer:${word}`,
  q: ({ word }) => word,
  author: ({ word }) => `author-${word}`,
  score: ({ word }, { operationId }) => `label-${word}${operationId.endsWith('Turns') ? ':1' : ''}`,
};

/** Parameters of queries that name nothing of a customer. */
const NAMELESS = new Set(
  `limit cursor status kind except lane since until model tool callStatus code worker minMs minCostUsd steps textChars order state
  transcript partChars reason types after channel image offset length by from to group all format html count stream starting_after purpose
  dryRun`.split(/\s+/),
);

/** The id of nothing. */
const NOBODY = '01a200b2-af01-73e8-8681-83b97fe6f9f3';

/** What a parameter is that must be given, when nothing of a customer is asked for. */
const REQUIRED: Record<string, string> = { q: 'reply', ids: NOBODY };

/** A token for browsers, which is for one session of the first customer, is asked as another role. */
const ROLES = [...KEY_ROLES, 'token'] as const;
type Role = (typeof ROLES)[number];

/** What the service and the agent write in a session, beside what the person and the agent say to each other. */
const UNSAID = /(?:(?:thought|task|event|note|author|canvas|context|label)(?: of |-)|say[\\": ]+)zebra/;

/** A body that no route takes. */
const NOTHING = { nothing: 'of this' };

interface Ask {
  method: Route['method'];
  url: string;
  body?: object;
  headers?: Record<string, string>;
}

interface Told {
  status: number;
  /** The body and the headers, without what differs between any two answers. */
  text: string;
  /** The body, or its lines. */
  json: unknown[];
}

/** The name in `things` of each parameter of a path. */
const kindsOf = ({ path }: Route): string[] =>
  [...path.matchAll(/([\w-]+)\/\{(\w+)\}/g)].map(([, before = '', name = '']) => (name === 'id' ? before : name));

/** The path with what a customer has; customers have nothing of what only the service has. */
function pathOf(route: Route, things: Record<string, string>): string {
  const values = kindsOf(route).map((kind) => things[kind] ?? NOBODY);
  return values.reduce((path, value) => path.replace(/\{\w+\}/, encodeURIComponent(value)), route.path);
}

const queryOf = ({ query }: Route): [string, z.ZodType][] =>
  Object.entries((query as z.ZodObject | undefined)?.shape ?? {});

/** The parameters of the query that must be given. */
const neededIn = ({ query }: Route): string[] =>
  query?.safeParse({}).error?.issues.map(({ path }) => String(path[0])) ?? [];

/** The query with this parameter and those that must be given. */
function withQuery(route: Route, given: Record<string, string> = {}): string {
  const all = { ...Object.fromEntries(neededIn(route).map((name) => [name, REQUIRED[name] ?? ''])), ...given };
  return Object.keys(all).length === 0 ? '' : `?${new URLSearchParams(all).toString()}`;
}

const isFor = (route: Route, ...places: string[]): boolean =>
  placesOf(route).some((place) => places.includes(String(place)));
/** A stream without an end has a test of its own. */
const isEndless = ({ operationId }: Route): boolean => operationId === 'streamEvents';
const ASKED = ROUTES.filter((route) => route.isPublic !== true && !isEndless(route));
const ROWS = ASKED.map((route) => [route.method, route.path, route] as const);
const TOKEN_ROWS = ROWS.filter(([, , { token }]) => token !== undefined);

describe.each([
  ['some sessions', 'sessions'],
  ['an agent', 'agents'],
] as const)('a key for %s', (part, kind) => {
  const agents = { list: [{ id: 'main' }, ...(kind === 'agents' ? WORDS.map((id) => ({ id })) : [])] };
  const holder = useApiRig({ file: { ...KEYED_SETTINGS, agents, api: { tokens: { requestsPerMinute: 100_000 } } } });
  const scopeOf = (word: string) => (kind === 'agents' ? { agents: [word] } : { sessions: [`agent:main:${word}:*`] });
  /** The customer that each id of the database is of, without hyphens. */
  const ownerOf = new Map<string, string>();
  const customers: Customer[] = [];
  const keys = {} as Record<Role, string>;
  /** What the first key was told of the first customer before there was another, by the URL. */
  const alone = new Map<string, Told>();
  let before: Map<string, string[]>;

  const isForeign = (id: string): boolean =>
    WORDS.slice(1).includes(ownerOf.get(id.replaceAll('-', '')) as 'zebra-of-b');

  /** The same text about things that do not exist, of the same length. Called twice, it gives the ids back. */
  const ofNobody = (text: string): string =>
    text
      .replace(/zebra-of-b|horse-of-s/g, (word) => word.replace(/.$/, 'x'))
      .replace(UUID, (id) => {
        if (!isForeign(id)) return id;
        return id.replace(/.{12}$/, (end) =>
          end.replaceAll(/./g, (digit) => (15 - Number.parseInt(digit, 16)).toString(16)),
        );
      });

  async function say({ method, url, body, headers }: Ask, key: string): Promise<Told> {
    const payload = body === undefined ? {} : { payload: body };
    const answer = await holder.rig.app.inject({ method, url, ...payload, headers: { ...bearer(key), ...headers } });
    const {
      date: _date,
      connection: _connection,
      'content-length': _length,
      'x-request-id': requestId,
      ...others
    } = answer.headers;
    const text = `${answer.body}\n${JSON.stringify(others)}`.replaceAll(String(requestId), 'REQUEST');
    const lines = /json/.test(String(answer.headers['content-type'])) ? answer.body.split('\n') : [];
    const json = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as unknown);
    return { status: answer.statusCode, text, json };
  }

  /** What an answer shows of others beyond what the request has named. */
  function leaksOf({ text }: Told, ask: Ask): string[] {
    const plain = (said: string): string => said.replaceAll('%3A', ':').replaceAll('-', '');
    const named = [...(text.match(FOREIGN) ?? []), ...(text.match(UUID) ?? []).filter(isForeign)];
    const secrets = customers.slice(1).flatMap(({ key }) => (key !== null && text.includes(key) ? [key] : []));
    return [...named, ...secrets].filter(
      (found) => !plain(JSON.stringify(ask)).includes(plain(found).replace(/\.$/, '')),
    );
  }

  async function tables(): Promise<string[]> {
    const found = await holder.rig.rows(`select tablename as name from pg_tables where schemaname = 'holdfast'`);
    return found.map(({ name }) => String(name));
  }

  /** Gives the ids that are new in the database to a customer. */
  async function claimIds(word: string): Promise<void> {
    for (const name of await tables()) {
      const found = await holder.rig.rows(
        `select distinct m[1] as id from holdfast.${name} r, regexp_matches(r::text, '([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})', 'g') m`,
      );
      const fresh = found.map(({ id }) => String(id).replaceAll('-', '')).filter((id) => !ownerOf.has(id));
      for (const id of fresh) ownerOf.set(id, word);
    }
  }

  /** The rows of the others, by their tables, without notes of requests and of uses of keys. */
  async function rowsOfOthers(): Promise<Map<string, string[]>> {
    const all = new Map<string, string[]>();
    for (const name of (await tables()).filter((table) => table !== 'audit' && table !== 'api_keys')) {
      const rows = await holder.rig.rows(`select r::text as text from holdfast.${name} r order by 1`);
      const isOthers = (text: string) => text.match(FOREIGN) !== null || (text.match(UUID) ?? []).some(isForeign);
      all.set(name, rows.map(({ text }) => String(text)).filter(isOthers));
    }
    return all;
  }

  /** A request to a route that reads, about what the first customer has. */
  function readingOwn(route: Route): Ask {
    return { method: 'GET', url: `${pathOf(route, customers[0]!.things)}${withQuery(route)}` };
  }

  beforeAll(async () => {
    const { rig } = holder;
    await claimIds('nobody');
    for (const [at, word] of WORDS.entries()) {
      const agent = kind === 'agents' ? word : 'main';
      customers.push(await fill(rig, { word, agent, scope: at === 2 ? null : scopeOf(word) }));
      await claimIds(word);
      if (at > 0) continue;
      for (const route of ASKED.filter((one) => one.method === 'GET' && !isFor(one, 'service'))) {
        const ask = readingOwn(route);
        alone.set(ask.url, await say(ask, ADMIN_KEY));
      }
    }
    keys.operator = customers[0]!.key!;
    let replaces = `${WORDS[0]}-operator`;
    for (const role of ['viewer', 'admin'] as const) {
      const made = await rig.post('/v1/keys', { name: `${WORDS[0]}-${role}`, role, replaces, ...scopeOf(WORDS[0]) });
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      keys[role] = made.body.key;
      replaces = made.body.id;
    }
    const session = customers[0]!.things['key'];
    const made = await rig.post('/v1/tokens', { session, allow: ['read', 'send'] }, bearer(keys.operator));
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    keys.token = made.body.token;
    before = await rowsOfOthers();
  });

  test.each(ROWS.filter(([, , route]) => !isFor(route, 'service', 'public', 'self')))(
    '%s %s has all that it is asked with',
    (method, path, route) => {
      for (const one of kindsOf(route)) {
        for (const { things } of customers)
          expect(things[one], `${path}: add what ${one} can be to findThings in scope-world.ts`).toMatch(
            /^(?!null$).+/,
          );
      }
      for (const [name] of queryOf(route)) {
        const isKnown = name in FILTERS || NAMELESS.has(name);
        expect(isKnown, `${path}: add ${name} to FILTERS if it names what a customer has, else to NAMELESS`).toBe(true);
      }
      for (const name of neededIn(route))
        expect(Object.keys(REQUIRED), `${path}: add a value of ${name} to REQUIRED`).toContain(name);
      const { requests } = customers[1]!;
      const hasBody = route.body === undefined || requests.has(path) || route.operationId in BODIES;
      expect(hasBody, `${path}: add a body to BODIES, or a scenario to keyed-scenarios.ts`).toBe(true);
      expect(method === 'GET' || route.path !== '').toBe(true);
    },
  );

  /** True for a body that names what others have: one with a word of theirs only makes something of that name. */
  const names = (body: object | undefined): boolean =>
    (JSON.stringify(body ?? {}).match(UUID) ?? []).some(isForeign) ||
    Object.entries(body ?? {}).some(([field, value]) => field.startsWith('session') && namesOthers(String(value)));

  /** The requests to a route that name what another customer has. */
  function naming(route: Route, customer: Customer): Ask[] {
    const { method, operationId } = route;
    const [own, theirs] = [customers[0]!.things, customer.things];
    const parameters = kindsOf(route);
    const body = BODIES[operationId] ?? {};
    const whole = parameters.length === 0 ? [] : [pathOf(route, theirs)];
    // Each of theirs among the own ones.
    const mixed =
      parameters.length < 2 ? [] : parameters.map((one) => pathOf(route, { ...own, [one]: theirs[one] ?? '' }));
    const filtered = queryOf(route).flatMap(([name]) => {
      const value = FILTERS[name]?.(customer, route);
      return value === undefined ? [] : [{ method, url: pathOf(route, own) + withQuery(route, { [name]: value }) }];
    });
    if (method === 'GET')
      return [...[...whole, ...mixed].map((path) => ({ method, url: path + withQuery(route) })), ...filtered];
    const prepared = (customer.requests.get(route.path) ?? []).flatMap(({ path, body, usedKey }): Ask[] => {
      const ask = { method, url: path, body };
      return usedKey === null
        ? [ask, { ...ask, body: NOTHING }]
        : [{ ...ask, headers: { 'idempotency-key': usedKey } }];
    });
    const others = [
      ...whole.map((url) => ({ method, url, body: NOTHING })),
      ...[...whole, ...mixed].map((url) => ({ method, url, body })),
    ];
    const named = NAMING[operationId]?.(theirs);
    const more = namesOthers(JSON.stringify(named ?? {})) ? [{ method, url: pathOf(route, own), body: named! }] : [];
    return [...prepared, ...others, ...more].filter(({ body: sent }) => parameters.length > 0 || names(sent));
  }

  const namesOthers = (text: string): boolean =>
    text.match(FOREIGN) !== null || (text.match(UUID) ?? []).some(isForeign);

  /** True for a request that the key may not send, whatever it names. */
  const isRefused = (route: Route, role: Role): boolean =>
    role === 'token'
      ? route.token === undefined
      : !mayAct(role, roleOf(route)) || isFor(route, 'service') || (kind === 'sessions' && isFor(route, 'agents'));

  describe.each(ROLES)('with the role %s', (role) => {
    test.each(ROWS)(
      `%s %s tells the role ${role} of ${part} nothing of others (G44)`,
      async (_method, _path, route) => {
        for (const customer of customers.slice(1)) {
          for (const ask of naming(route, customer)) {
            const where = JSON.stringify(ask);
            const told = await say(ask, keys[role]);
            const never = await say(JSON.parse(ofNobody(where)) as Ask, keys[role]);
            expect(leaksOf(told, ask), where).toEqual([]);
            expect({ status: told.status, text: ofNobody(told.text) }, where).toEqual({
              status: never.status,
              text: never.text,
            });
            if (isRefused(route, role)) expect(told.status, where).toBe(403);
            else if (namesOthers(ask.url.split('?', 1)[0]!))
              // Its handler looks for what a list could have, after the check of the body.
              expect(told.status, where).toBe(ask.body === NOTHING && isFor(route, 'list') ? 400 : 404);
            else expect(told.status, where).toBeLessThan(500);
          }
        }
      },
    );

    if (role === 'token') return;
    test.each(ROWS.filter(([method]) => method === 'GET'))(
      `%s %s shows the role ${role} of ${part} what is inside as if there were nothing else (G44)`,
      async (_method, _path, route) => {
        const ask = readingOwn(route);
        const told = await say(ask, keys[role]);
        expect(leaksOf(told, ask)).toEqual([]);
        if (isRefused(route, role)) return expect(told.status).toBe(403);
        if (isFor(route, 'self')) return expect(told.status).toBe(200);
        if (ABOUT_AGENTS.has(route.operationId)) return expect(told.text.includes(WORDS[0])).toBe(kind === 'agents');
        if (kind === 'sessions' && isFor(route, 'agent')) return expect(told.status).toBe(404);
        const first = alone.get(ask.url)!;
        expect([first.status, told.status], told.text).toEqual([200, 200]);
        expect(first.text, 'the customer has nothing that this shows').not.toMatch(/"(?:items|data)":\[\]/);
        expect(differences(told.json, first.json).slice(0, 5)).toEqual([]);
      },
    );
  });

  /** A request to a route for tokens about a session, or about what it has. */
  function askingAbout(route: Route, things: Record<string, string>): Ask {
    const query = route.token?.session === 'query' ? { session: things['key']! } : {};
    const url = `${pathOf(route, things)}${withQuery(route, query)}`;
    return { method: route.method, url, ...(route.method === 'POST' && { body: { text: 'of a visitor' } }) };
  }

  test.each(TOKEN_ROWS)(
    `%s %s shows a token for a session of ${part} what is said in it, and no other session (G32, G44)`,
    async (_method, _path, route) => {
      const { things, word } = customers[0]!;
      const others = await holder.rig.rows(
        `select s.key, coalesce(t.id, $2) as turns, coalesce(i.id, $2) as messages from holdfast.sessions s
         left join holdfast.turns t on t.session_id = s.id left join holdfast.inbox i on i.session_id = s.id where s.key <> $1`,
        [things['key'], NOBODY],
      );
      const told = await say(askingAbout(route, things), keys.token);
      expect(told.status, told.text).toBe(route.method === 'POST' ? 202 : 200);
      // The person's text says what the model does.
      const shown = told.text.replaceAll(/\[\[(?:\\.|[^\]"\\])*(?:\]\]|(?="))/g, '');
      expect(shown).not.toMatch(HIDDEN_FIELDS);
      expect(shown).not.toMatch(UNSAID);
      expect(others.flatMap((row) => Object.values(row)).filter((one) => shown.includes(String(one)))).toEqual([]);

      const never = { ...things, key: `${things['key']!}-never`, turns: NOBODY, messages: NOBODY };
      const about = async (asked: Record<string, string>) => {
        const { status, text } = await say(askingAbout(route, asked), keys.token);
        return [status, text.replaceAll(/agent(?::|%3A)[^\s"/]+|[0-9a-f-]{36}/g, '')];
      };
      const [ofNothing, ofOthers] = [await about(never), others.filter(({ key }) => String(key).includes(word))];
      expect(ofNothing[0]).toBe(404);
      expect(ofOthers.length).toBeGreaterThan(20);
      for (const other of ofOthers)
        expect(await about({ ...things, ...(other as Record<string, string>) })).toEqual(ofNothing);
    },
  );

  test.each(KEY_ROLES)(
    'no tool of the MCP server tells anything of others to a key with the role %s (G44)',
    async (role) => {
      const call = async (tool: RouteTool, asked: Ask): Promise<Told> => {
        const { route, params } = routeOf(asked.method, asked.url);
        const named = Object.entries(tool.params ?? {}).map(([field, name]) => [field, params[name]]);
        const query = Object.fromEntries(new URLSearchParams(asked.url.split('?')[1] ?? ''));
        const input = { ...query, ...asked.body, ...Object.fromEntries(named) };
        const meta = { 'holdfast/idempotencyKey': asked.headers?.['idempotency-key'] };
        const body = {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: tool.name, arguments: input, _meta: meta },
        };
        const told = await say(
          { method: 'POST', url: '/mcp', body, headers: { accept: 'application/json, text/event-stream' } },
          keys[role],
        );
        expect(told.status, told.text).toBe(200);
        const { result } = JSON.parse(/\{.*\}/.exec(told.text.replaceAll(/[0-9a-f-]{36}(?=\\?",\\?"status)/g, ''))![0]);
        expect(result.isError, told.text).toBe(true);
        const status = Number(result.structuredContent.status);
        expect(status, JSON.stringify(route.path)).toBe(isRefused(route, role) ? 403 : 404);
        return { ...told, status };
      };
      for (const tool of listTools(ROUTES)) {
        for (const customer of customers.slice(1)) {
          for (const ask of naming(tool.route, customer)) {
            // Without a name it is about nothing of others, and the tool itself refuses unknown fields.
            if (kindsOf(tool.route).length === 0 || ask.body === NOTHING) continue;
            const where = JSON.stringify([tool.name, ask]);
            const told = await call(tool, ask);
            const never = await call(tool, JSON.parse(ofNobody(JSON.stringify(ask))) as Ask);
            expect(leaksOf(told, ask), where).toEqual([]);
            expect(ofNobody(told.text), where).toBe(never.text);
          }
        }
      }
    },
  );

  test.each(ROWS.filter(([, , route]) => 'cursor' in Object.fromEntries(queryOf(route)) && !isFor(route, 'service')))(
    '%s %s gives with the cursor of another key what is inside (G44)',
    async (_method, _path, route) => {
      const ask = readingOwn(route);
      const url = `${ask.url}${ask.url.includes('?') ? '&' : '?'}limit=1`;
      const first = await say({ ...ask, url }, ADMIN_KEY);
      const { nextCursor } = first.json[0] as { nextCursor?: string | null };
      if (nextCursor === null || nextCursor === undefined) return;
      const next = { ...ask, url: `${url}&cursor=${encodeURIComponent(nextCursor)}` };
      for (const role of KEY_ROLES) expect(leaksOf(await say(next, keys[role]), next)).toEqual([]);
    },
  );

  /** The ids of all pages of a list. */
  async function idsOf(url: string, key: string): Promise<string[]> {
    const found: string[] = [];
    let cursor: string | null | undefined;
    do {
      const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(String(cursor))}`;
      const told = await say({ method: 'GET', url: `${url}${url.includes('?') ? '&' : '?'}limit=20${more}` }, key);
      const { items, nextCursor } = told.json[0] as {
        items: { id?: string; key?: string; letters?: { id: string }[] }[];
        nextCursor?: string | null;
      };
      found.push(...items.flatMap(({ id, key: name, letters }) => id ?? name ?? letters?.map((one) => one.id) ?? []));
      cursor = nextCursor;
    } while (typeof cursor === 'string');
    return found;
  }

  test('a wider key sees what two keys see, page by page, and a narrower one a part (G44)', async () => {
    const { rig } = holder;
    const makeKey = async (name: string, scope: object): Promise<string> => {
      const made = await rig.post('/v1/keys', { name, role: 'viewer', ...scope });
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      return made.body.key as string;
    };
    const narrow = [await makeKey('only-a', scopeOf(WORDS[0])), await makeKey('only-b', scopeOf(WORDS[1]))];
    const both = kind === 'agents' ? { agents: [WORDS[0], WORDS[1]] } : { sessions: ['agent:main:zebra-of-*'] };
    const wide = await makeKey('both', both);
    const lists = ASKED.filter((route) => {
      const parameters = queryOf(route).map(([name]) => name);
      return (
        route.method === 'GET' &&
        parameters.includes('cursor') &&
        kindsOf(route).length === 0 &&
        !isFor(route, 'service', 'agents')
      );
    });
    expect(lists.length).toBeGreaterThan(5);
    for (const route of lists) {
      const url = `${route.path}${withQuery(route)}`;
      const [ofA, ofB] = [await idsOf(url, narrow[0]!), await idsOf(url, narrow[1]!)];
      expect(await idsOf(url, wide), route.path).toEqual(expect.arrayContaining([...ofA, ...ofB]));
      expect(new Set(await idsOf(url, wide)), route.path).toEqual(new Set([...ofA, ...ofB]));
      const all = await idsOf(url, ADMIN_KEY);
      expect(
        all.filter((id) => ofA.includes(id)),
        `the order of ${route.path}`,
      ).toEqual(ofA);
    }
  });

  test.each(['open', 'sent'] as const)(
    'what is inside is changed as with any key: requests that are %s (G44)',
    async (which) => {
      for (const [path, all] of customers[0]!.requests) {
        const { route } = routeOf('POST', all[0]!.path);
        if (isFor(route, 'service') || (kind === 'sessions' && isFor(route, 'agent'))) continue;
        for (const { path: url, body, status, usedKey } of all.filter(
          (one) => (one.usedKey === null) === (which === 'open'),
        )) {
          const ask: Ask = {
            method: 'POST',
            url,
            body,
            ...(usedKey !== null && { headers: { 'idempotency-key': usedKey } }),
          };
          const told = await say(ask, keys.operator);
          expect(told.status, `${path} ${JSON.stringify(ask)} ${told.text}`).toBe(status);
          expect(leaksOf(told, ask), path).toEqual([]);
        }
      }
    },
  );

  test('nothing of others is changed by what came before (G44)', async () => {
    const after = await rowsOfOthers();
    for (const [table, rows] of before) expect(after.get(table), table).toEqual(rows);
  });

  test('a stored answer is for nobody who does not see what it is about (G2, G44)', async () => {
    const { rig } = holder;
    const wide = await rig.post('/v1/keys', { name: 'wide', role: 'operator' });
    const ask = {
      method: 'POST',
      url: `/v1/sessions/${customers[1]!.things['key']!}/messages`,
      body: { text: 'once' },
      headers: { 'idempotency-key': 'once' },
    } as const;
    expect((await say(ask, wide.body.key)).status).toBe(202);
    const narrow = await rig.post('/v1/keys', {
      name: 'narrow',
      role: 'operator',
      replaces: wide.body.id,
      ...scopeOf(WORDS[0]),
    });
    const told = await say(ask, narrow.body.key);
    expect([told.status, leaksOf(told, ask)]).toEqual([404, []]);
  });

  test(`a stream of events has for ${part} those of what is inside, stored and live (G44)`, async () => {
    const { rig } = holder;
    const url = `${await rig.listen()}/v1/events`;
    const [own, all] = [await openEvents(`${url}?after=0`, undefined, keys.viewer), await openEvents(`${url}?after=0`)];
    const [foreign] = [
      await openEvents(`${url}?after=0&session=${customers[1]!.things['key']!}`, undefined, keys.viewer),
    ];
    const post = (customer: Customer, text: string) =>
      rig.post(
        `/v1/sessions/${customer.things['key']!}/messages`,
        { text },
        customer.key === null ? {} : bearer(customer.key),
      );
    for (const customer of [...customers, ...customers]) expect((await post(customer, 'live')).status).toBe(202);
    const last = (await post(customers[0]!, 'the last')).body.message.id;
    const isLast = ({ data }: ReceivedEvent): boolean => JSON.stringify(data).includes(last);
    await Promise.all([own, all].map((stream) => stream.until((events) => events.some(isLast))));
    const { agent, word, owner } = customers[0]!;
    const inside = await rig.rows(
      `select key from holdfast.sessions where starts_with(coalesce(root, key), $1) or starts_with(coalesce(root, key), $2)`,
      [`agent:${agent}:${kind === 'agents' ? '' : `${word}:`}`, owner],
    );
    const seen = new Set(inside.map(({ key }) => key));
    expect(own.events.length).toBeGreaterThan(20);
    expect(own.events.map(({ id }) => id)).toEqual(
      all.events.filter(({ data }) => seen.has(data['sessionKey'])).map(({ id }) => id),
    );
    expect(leaksOf({ status: 200, text: JSON.stringify(own.events), json: [] }, { method: 'GET', url })).toEqual([]);
    expect(foreign.events).toEqual([]);
  });
});

/** What differs in two answers, each with its place; not what time changes, and who has done something. */
function differences(told: unknown, first: unknown, place = ''): string[] {
  if (/\.(?:\w+At|\w+Ms|since|nextCursor|ratePerMinute)$/.test(place)) return [];
  // Other callers and processes are not named, and what is of the service is not shown.
  if (/\.(?:worker|workerTitle|by|createdBy|decidedBy|sentBy|chargedTo|spans\.\d+\.name)$/.test(place)) return [];
  if (/\.(?:target|lastError|workspace|crons|reason)$/.test(place)) return [];
  if (typeof told !== 'object' || typeof first !== 'object' || told === null || first === null)
    return told === first ? [] : [`${place}: ${JSON.stringify(told)}, alone ${JSON.stringify(first)}`];
  const names = new Set([...Object.keys(told), ...Object.keys(first)]);
  const of = (value: object, name: string): unknown => (value as Record<string, unknown>)[name];
  return [...names].flatMap((name) => differences(of(told, name), of(first, name), `${place}.${name}`));
}
