// Customers of one service, each with something of every kind, for the tests of what a key with a
// scope sees. All texts, names and keys of a customer hold its word, and its ids are known, so a
// test finds them in any answer.
import { ROUTES } from '../../scripts/all-routes.ts';
import { rootOfKey } from '../../src/core/scope.ts';
import { indexTexts } from '../../src/features/search/rounds.ts';
import type { Route } from '../../src/api/route.ts';
import type { Ground, KeyedRequest } from '../crash/rig/keyed-ground.ts';
import { KEYED_SCENARIOS } from '../crash/rig/keyed-scenarios.ts';
import type { ApiRig, JsonAnswer } from './api-rig.ts';

export interface Customer {
  /** In every text, name and key of it, and nowhere else. */
  word: string;
  agent: string;
  /** The key that everything is made with; null: the first key of the service. */
  key: string | null;
  /** The owner of what the key makes; null: it sees everything. */
  owner: string | null;
  /** The requests of its scenarios, by the paths of their routes: two of each, of which it has sent the second. */
  requests: Map<string, Prepared[]>;
  /** What the parameters of paths can be, by the last fixed part before `{id}`, or their names. */
  things: Record<string, string>;
}

export interface Prepared extends KeyedRequest {
  /** The Idempotency-Key that it was sent with; null: it is not sent yet. */
  usedKey: string | null;
}

export const sessionOf = ({ agent, word }: Customer, name: string): string => `agent:${agent}:${word}:${name}`;

/** The route of a request, and the values of its parameters. */
export function routeOf(method: string, path: string): { route: Route; params: Record<string, string> } {
  const found = ROUTES.filter((one) => one.method === method).flatMap((route) => {
    const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const parts = new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`).exec(path.split('?', 1)[0]!);
    if (parts === null) return [];
    return [{ route, params: Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(parts[at + 1]!)])) }];
  });
  const exact = found.find(({ params }) => Object.keys(params).length === 0) ?? found[0];
  if (exact === undefined) throw new Error(`${method} ${path} is no route`);
  return exact;
}

/** What a route is about, each part by itself. */
export const placesOf = ({ belongs }: Pick<Route, 'belongs'>) => (typeof belongs === 'object' ? belongs : [belongs]);

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** Makes the customer: a key for its agent or its sessions, and something of every kind. */
export async function fill(
  rig: ApiRig,
  { word, agent, scope }: { word: string; agent: string; scope: object | null },
): Promise<Customer> {
  const name = `${word}-operator`;
  const made = scope === null ? null : await rig.post('/v1/keys', { name, role: 'operator', ...scope });
  if (made !== null && made.status !== 201) throw new Error(JSON.stringify(made.body));
  const customer: Customer = {
    word,
    agent,
    key: made === null ? null : made.body.key,
    owner: made === null ? null : await ownerOfKey(rig, made.body.id),
    requests: new Map(),
    things: {},
  };
  const ground = groundOf(rig, customer);
  await converse(rig, customer, ground);
  for (const [at, { route, prepare }] of KEYED_SCENARIOS.entries()) {
    // What only the service has is made with the first key.
    const isOfService = placesOf(routeOf('POST', route).route).includes('service');
    if (isOfService && scope !== null) continue;
    const [open, sent] = [
      await prepare(ground, sessionOf(customer, `open-${at}`)),
      await prepare(ground, sessionOf(customer, `sent-${at}`)),
    ];
    // The scenarios name the agent `main`.
    for (const request of [open, sent]) request.path = request.path.replace('/agents/main/', `/agents/${agent}/`);
    const usedKey = `used-by-${word}-${at}`;
    await ground.post(sent.path, sent.body, usedKey);
    customer.requests.set(route, [
      ...(customer.requests.get(route) ?? []),
      { ...open, usedKey: null },
      { ...sent, usedKey },
    ]);
  }
  await indexTexts(rig.turns.database, new AbortController().signal);
  customer.things = await findThings(rig, customer);
  return customer;
}

/** Requests with the key of the customer; those about the whole service, which it may not send, with the first one. */
export function groundOf(rig: ApiRig, { key, owner }: Customer): Ground {
  return {
    ...(owner !== null && { owner }),
    async post(path, body, idempotencyKey) {
      const headers = {
        ...(key !== null && !placesOf(routeOf('POST', path).route).includes('service') && bearer(key)),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      };
      const answer = await rig.post(path, body, headers);
      return { ...answer, isReplay: answer.headers['idempotent-replayed'] === 'true' };
    },
    rows: (sql, values = []) => rig.rows(sql, values),
  };
}

async function ownerOfKey(rig: ApiRig, id: string): Promise<string> {
  const [row] = await rig.rows('select owner from holdfast.api_keys where id = $1', [id]);
  return rootOfKey(String(row?.['owner']));
}

/** Turns with tool calls, thoughts and an error, and what comes of them. */
async function converse(rig: ApiRig, customer: Customer, ground: Ground): Promise<void> {
  const { word } = customer;
  const at = (path: string, name = 'one'): string => `/v1/sessions/${sessionOf(customer, name)}/${path}`;
  const run = (name: string) => rig.work(sessionOf(customer, name));
  async function post(path: string, body: object): Promise<JsonAnswer['body']> {
    const answer = await ground.post(path, body);
    if (answer.status >= 400) throw new Error(`POST ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
  const script = `[[thinking: thought of ${word}]] [[tool: echo {"say": "${word}"}]] [[reply: reply of ${word}]]`;
  for (const text of [`${script} first of ${word}`, `${script} second of ${word}`]) {
    const sender = { id: `person-${word}`, name: `Person ${word}` };
    await post(at('messages'), { text, sender, tags: { customer: word } });
    await run('one');
  }
  await post(at('messages', 'broken'), { text: `[[error: 400 message="fault of ${word}"]] ${word}` });
  await run('broken');
  await post(at('spawn'), { task: `task of ${word}`, label: `label-${word}` });
  await post(at('fork'), { key: sessionOf(customer, 'fork') });
  await post(at('messages', 'fork'), { text: `in the fork of ${word}` });
  await run('fork');
  await post(at('messages', 'waiting'), { text: `later, ${word}`, deliverAt: '2099-01-01T00:00:00Z' });
  await post(at('messages', 'waiting'), { text: `now, ${word}` });
  await post(at('system-events'), { text: `event of ${word}`, contextKey: `context-${word}` });
  await post(at('messages', 'ended'), { text: `[[reply: of ${word}]] ended ${word}` });
  await run('ended');
  await post(at('reset', 'ended'), {});
  const [turn] = await turnsOf(rig, customer);
  const scored = { score: `label-${word}`, value: 1, note: `note of ${word}`, by: `author-${word}` };
  await post(`/v1/turns/${String(turn!['id'])}/scores`, scored);
  await post(`/v1/turns/${String(turn!['id'])}/try`, { text: `try of ${word}` });
  await rig.rows(
    `insert into holdfast.canvases (session_id, title, html, turn_id, call_keys) values ($1, $2, $2, $3, '{}')`,
    [turn!['session_id'], `canvas of ${word}`, turn!['id']],
  );
  await rig.rows(
    `insert into holdfast.compactions (id, session_id, transcript_no, turn_id, reason, status, attempt, summary_seq, tokens_before)
     values (gen_random_uuid(), $1, 1, $2, 'manual', 'completed', 1, 1, 10)`,
    [turn!['session_id'], turn!['id']],
  );
  // The children that wait: a subagent and a try.
  for (const { key } of await rig.rows(`select key from holdfast.sessions where waiting > 0 and root like $1`, [
    sessionOf(customer, '%'),
  ]))
    await rig.work(String(key));
}

function turnsOf(rig: ApiRig, customer: Customer): Promise<Record<string, unknown>[]> {
  return rig.rows(
    `select t.id, t.session_id from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where s.key = $1 order by t.id`,
    [sessionOf(customer, 'one')],
  );
}

async function findThings(rig: ApiRig, customer: Customer): Promise<Record<string, string>> {
  const [turn] = await turnsOf(rig, customer);
  const of = async (select: string): Promise<string> => {
    const [row] = await rig.rows(
      `select (${select}) as id`
        .replaceAll('$session', `'${String(turn!['session_id'])}'`)
        .replaceAll('$turn', `'${String(turn!['id'])}'`),
    );
    return String(row?.['id']);
  };
  const ofWord = (table: string, column: string): Promise<string> =>
    of(
      `select id from holdfast.${table} x where x.${column} in (select id from holdfast.sessions s where coalesce(s.root, s.key) like '${sessionOf(customer, '%')}') order by id limit 1`,
    );
  const path = (place: string, at: number): string => customer.requests.get(place)?.[0]?.path.split('/')[at] ?? '';
  return {
    key: sessionOf(customer, 'one'),
    agent: customer.agent,
    model: customer.agent === 'main' ? 'holdfast' : `holdfast:${customer.agent}`,
    turns: String(turn!['id']),
    n: '1',
    messages: await ofWord('inbox', 'session_id'),
    entries: await of(`select id from holdfast.entries where session_id = $session order by seq limit 1`),
    callId: await of(`select call_id from holdfast.tool_calls where turn_id = $turn limit 1`),
    compactions: await ofWord('compactions', 'session_id'),
    runId: await ofWord('subagent_runs', 'parent_id'),
    deliveries: await ofWord('deliveries', 'session_id'),
    approvals: await ofWord('approvals', 'session_id'),
    scores: await ofWord('turn_scores', 'session_id'),
    batches: path('/v1/batches/{id}/pause', 3),
    responseId: path('/v1/responses/{responseId}/cancel', 3),
    clientBatchId: path('/openai/v1/batches/{clientBatchId}/cancel', 4),
    fileId: String(
      (customer.requests.get('/openai/v1/batches')?.[0]?.body as { input_file_id?: string })?.input_file_id,
    ),
    toolCallId: path('/v1/tool-calls/{toolCallId}/result', 3),
    senderId: `person-${customer.word}`,
  };
}
