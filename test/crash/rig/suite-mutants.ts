// The safeguards of batches, the provider lane, budgets, rate limits and files, each with the test
// that fails without it.
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
];
