// The safeguards of batches, the provider lane, budgets, rate limits, files, scopes and tokens, each
// with the test that fails without it.
import type { SourceChange } from './mutant.ts';

/** A safeguard and how it is switched off. */
export interface Safeguard {
  name: string;
  /** From the root of the checkout. */
  file: string;
  /** What is replaced in that file. */
  find: string;
  replace: string;
  /** Further changes, where two places keep the same. */
  more?: SourceChange[];
  /** The test that fails without it: its file, and its title or the beginning of it. */
  test: string;
  title: string;
}

const lane = 'test/features/provider-batches/lane.test.ts';
const proofs = 'test/features/provider-batches/lane-proofs.test.ts';
const submissions = 'src/features/provider-batches/store/submissions.ts';
const migration = 'migrations/0019_provider_lane.sql';
const results = 'src/features/provider-batches/store/store-results.ts';
const control = 'test/features/batches/control.test.ts';
const budgets = 'test/features/budgets/turns.test.ts';
const blocks = 'test/turn/model-blocks.test.ts';
const models = 'src/kernel/turn/model-states.ts';
const turnContext = 'workers/create-turn-context.ts';

const matrix = 'test/api/scope-matrix.test.ts';
const tokens = 'src/api/token-access.ts';
const performing = 'src/api/perform-route.ts';

/** What a key with a scope would see of others: the name, the change of the source, and the list that shows it. */
const scopes: readonly [name: string, file: string, find: string, replace: string, list: string][] = [
  [
    'the scope of the list of turns',
    'src/api/routes/turns.ts',
    'scope,\n        hasSteps',
    'scope: null,\n        hasSteps',
    '/v1/turns',
  ],
  [
    'the scope of the count of turns',
    'src/api/routes/turns.ts',
    '...toTurnFilter(query), scope }',
    '...toTurnFilter(query), scope: null }',
    '/v1/turns/count',
  ],
  [
    'the scope of the list of sessions',
    'src/api/routes/sessions.ts',
    'scope: principal.scope,',
    'scope: null,',
    '/v1/sessions',
  ],
  [
    'the scope of the list of messages',
    'src/api/routes/messages.ts',
    'scope,\n      statuses',
    'scope: null,\n      statuses',
    '/v1/messages',
  ],
  [
    'the scope of the list of waiting messages',
    'src/api/routes/messages.ts',
    'scope: principal.scope,\n      lane',
    'scope: null,\n      lane',
    '/v1/waiting',
  ],
  [
    'the scope of the search',
    'src/features/search/routes.ts',
    'listHits(views, { scope,',
    'listHits(views, { scope: null,',
    '/v1/search',
  ],
  [
    'the scope of the list of deliveries',
    'src/features/deliveries/routes.ts',
    'scope,\n        sessionKey',
    'scope: null,\n        sessionKey',
    '/v1/deliveries',
  ],
  ['the scope of the list of approvals', 'src/features/approvals/views.ts', `seenBy: 'a.scope',`, '', '/v1/approvals'],
  [
    'the scope of the list of dead letters',
    'src/features/dead-letters/routes.ts',
    '{ state, code, scope }',
    '{ state, code, scope: null }',
    '/v1/dead-letters',
  ],
  [
    'the scope of the list of external calls',
    'src/features/external-tools/routes.ts',
    '{ tool, scope }',
    '{ tool, scope: null }',
    '/v1/tool-calls',
  ],
  ['the scope of the list of scores', 'src/features/scores/views.ts', `seenBy: 'r.scope',`, '', '/v1/scores'],
  [
    'the owner of the list of batches',
    'src/features/batches/views/batches.ts',
    `seenBy: 'b.owner',`,
    '',
    '/v1/batches',
  ],
  [
    'the owner of the list of files',
    'src/features/openai/views/files.ts',
    `seenBy: 'f.owner',`,
    '',
    '/openai/v1/files',
  ],
];

/** In the order of docs/guarantees.md. */
export const safeguards: readonly Safeguard[] = [
  {
    name: 'the unique cause of the input of an item',
    file: 'src/features/batches/store/feed.ts',
    find: `':' || n || ':' || attempt`,
    replace: `':' || n || ':' || message_id`,
    test: control,
    title: 'that were fed get no second input',
  },
  {
    name: 'the end of an item by the row of its input',
    file: 'src/features/batches/store/settle.ts',
    find: `where i.status = 'fed' and x.settled_at is not null`,
    replace: `where i.status = 'fed'`,
    more: [
      // The minutes of a batch have no row without a time.
      {
        file: 'src/features/batches/store/settle.ts',
        find: 'x.turn_id, x.settled_at,',
        replace: 'x.turn_id, coalesce(x.settled_at, clock_timestamp()) as settled_at,',
      },
    ],
    test: control,
    title: 'end when their inputs are settled',
  },
  {
    name: 'the single count of the end of an item',
    file: 'src/features/batches/store/settle.ts',
    find: `where i.status = 'fed' and x.settled_at is not null`,
    replace: `where x.settled_at is not null`,
    test: control,
    title: 'end when their inputs are settled',
  },
  {
    name: 'one submission in flight for each account',
    file: submissions,
    find: `where b.account = $2 and b.status in ('open', 'submitting', 'unknown')`,
    replace: 'where false',
    more: [
      { file: migration, find: 'create unique index provider_batches_in_flight', replace: 'create index in_flight' },
    ],
    test: proofs,
    title: 'no process opens a submission while',
  },
  {
    name: 'the index of submissions in flight',
    file: migration,
    find: 'create unique index provider_batches_in_flight',
    replace: 'create index in_flight',
    test: proofs,
    title: 'two processes that open a submission at the same time',
  },
  {
    name: 'the proof of a batch that has ended before it is adopted',
    file: 'src/features/provider-batches/follow-submission.ts',
    find: `if (kind !== 'unreadable') return kind !== 'foreign';`,
    replace: `if (kind !== 'unreadable') return true;`,
    test: proofs,
    title: 'a batch of another program that looks like a submission',
  },
  {
    name: 'the proof of an adopted batch before its results are used',
    file: 'src/features/provider-batches/read-results.ts',
    find: `if (!this.#isProved) return 'not-ours';`,
    replace: '',
    test: proofs,
    title: 'an adopted batch whose results are not those',
  },
  {
    name: 'the proof of a batch before it is cancelled',
    file: 'src/features/provider-batches/follow-submission.ts',
    find: 'submission.assigned === 0 && isProved && ',
    replace: 'submission.assigned === 0 && ',
    test: proofs,
    title: 'an adopted batch that is not proved to be the submission',
  },
  {
    name: 'the wait before a lost submission is made again',
    file: 'src/features/provider-batches/rules/submission.ts',
    find: 'absentMs >= settleMs ?',
    replace: 'absentMs >= 0 ?',
    test: lane,
    title: 'is found although the list lags a quarter of settleMs',
  },
  {
    name: 'the submission that a request waits for',
    file: results,
    find: `where r.provider_batch_id = $1 and r.status = 'assigned' and r.request_no in`,
    replace: `where r.status = 'assigned' and r.request_no in`,
    more: [
      {
        file: results,
        find: 'where r.provider_batch_id = $1 and r.request_no = results.request_no',
        replace: 'where r.request_no = results.request_no',
      },
    ],
    test: proofs,
    title: 'the answers of a submission that was given up',
  },
  {
    name: 'the single charge of a call in a batch',
    file: 'src/features/provider-batches/ask-by-batch.ts',
    find: 'callNo: nextCallNo(turn.journal.at)',
    replace: 'callNo: turn.journal.at.progress.calls + 1',
    test: 'test/features/provider-batches/ask-by-batch.test.ts',
    title: 'is parked after its request is stored',
  },
  {
    name: 'the reservation before a call',
    file: 'src/features/budgets/store/reserve-cost.ts',
    find: 'b.limit_micros - w.spent_micros - w.reserved_micros',
    replace: 'b.limit_micros - w.spent_micros',
    test: budgets,
    title: 'a call has no room beside what another call has reserved',
  },
  {
    name: 'the end of a reservation with its call',
    file: 'src/features/budgets/store/settle-costs.ts',
    find: ', reserved_micros = w.reserved_micros - sums.micros',
    replace: '',
    test: budgets,
    title: 'the spending of a turn is the sum of its calls',
  },
  {
    name: 'the release of the reservations of lost workers',
    file: 'src/features/budgets/rounds.ts',
    find: 'releaseReservations(database)',
    replace: 'Promise.resolve(false)',
    test: 'test/workers/scheduler.test.ts',
    title: 'a scheduler releases the reservations of calls',
  },
  {
    name: 'the block of a model for all workers',
    file: models,
    find: 'await blockModel(database, block, { code, text });',
    replace: '',
    test: blocks,
    title: 'is not called by a worker that claims a session later',
  },
  {
    name: 'the blocks in the answer of a claim',
    file: 'src/kernel/turn/run/steps.ts',
    find: 'context.models.states.learn(answer.blocks);',
    replace: '',
    // On a busy machine the poll may bring the block before the call.
    more: [
      { file: turnContext, find: 'onBlocks: (blocks) => states.learn(blocks)', replace: 'onBlocks: () => undefined' },
    ],
    test: blocks,
    title: 'is not called by a worker that claims a session later',
  },
  {
    name: 'the blocks in the poll for stops',
    file: turnContext,
    find: 'onBlocks: (blocks) => states.learn(blocks)',
    replace: 'onBlocks: () => undefined',
    test: blocks,
    title: 'is not called by a turn that runs in another worker',
  },
  {
    name: 'the check of the block after a wait',
    file: turnContext,
    find: '// A block may have been met while the others were asked.\n        states.blocked,',
    replace: '',
    test: blocks,
    title: 'is not called when its block was learned while another check was asked',
  },
  {
    name: 'the place of a folder after it was opened',
    file: 'src/files/held-folder.ts',
    find: 'isThere = whereIs(descriptor) === path;',
    replace: "isThere = path !== '';",
    test: 'test/files/inside.test.ts',
    title: 'a folder whose path has become a link is not held',
  },
  ...scopes.map(([name, file, find, replace, list]) => ({
    name,
    file,
    find,
    replace,
    test: matrix,
    title: `GET ${list} shows the role viewer of some sessions`,
  })),
  {
    name: 'the scope of stored events',
    file: 'src/api/routes/events.ts',
    find: 'const filter = { scope, sessionKey, types };',
    replace: 'const filter = { scope: EVERYTHING, sessionKey, types };',
    test: matrix,
    title: 'a stream of events has for some sessions',
  },
  {
    name: 'the scope of live events',
    file: 'src/api/routes/events.ts',
    find: '(scope === EVERYTHING || (event.root !== null && isInside(scope, event.root))) &&',
    replace: 'true &&',
    test: matrix,
    title: 'a stream of events has for some sessions',
  },
  {
    name: 'the check of what a route is about',
    file: performing,
    find: 'await refuse(route, principal, { params, query, body }, api.context.reads);',
    replace: '',
    test: matrix,
    title: 'PATCH /v1/sessions/{key} tells the role operator of some sessions',
  },
  {
    name: 'the routes for tokens',
    file: performing,
    find: 'principal.token === undefined ? refuseOutside : refuseOutsideToken',
    replace: 'refuseOutside',
    more: [{ file: 'src/api/on-request.ts', find: 'refuseToken(token, claims)', replace: 'void token' }],
    test: matrix,
    title: 'GET /v1/sessions/{key}/transcript tells the role token of some sessions',
  },
  {
    name: 'the session of a token',
    file: tokens,
    find: 'key !== null && (await isOfToken(token.sessions, key, db))',
    replace: 'key !== null',
    test: matrix,
    title: 'GET /v1/turns/{id} shows a token for a session of some sessions',
  },
  {
    name: 'the answers for tokens',
    file: tokens,
    find: 'body: access?.shows?.parse(body)',
    replace: 'body',
    test: matrix,
    title: 'GET /v1/turns/{id} shows a token for a session of some sessions',
  },
];
