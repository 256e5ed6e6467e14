// Chapter: turns that have paid invoices are asked again, with the recorded model and with a cheaper
// one, which does worse on two of them: it answers another amount, and it pays a second time. Each
// call is answered from the recording, so the file that the turns have written stays as it was.
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ListAnswer } from '../src/contract/answers.ts';
import type { BatchItemView } from '../src/features/batches/contract.ts';
import type { EvaluationResultView, EvaluationRunView, EvaluationView } from '../src/features/evaluations/contract.ts';
import type { Chapter, Scene } from './chapter.ts';
import { readReceived } from './model-requests.ts';
import { sendMessage, settledMessage } from './play-message.ts';
import { linesOf } from './workspace-lines.ts';

const INVOICES = [1, 2, 3, 4, 5, 6];
const FILE = 'payments.log';
const CHEAPER = 'claude-haiku-4-5';
/** What the cheaper model does worse. */
const MISREAD = 3;
const PAID_TWICE = 5;
/** The step at which it pays again, where the recorded turn read the file. */
const AGAIN_STEP = 2;
const RUNS = 2 * INVOICES.length;
const POLL_MS = 50;
const NAME = 'payments';

export const evaluation: Chapter = {
  id: 'evaluation',
  title: 'Recorded turns are asked again, with a cheaper model beside the recorded one',
  proves: 'no tool ran again, each run happened once, both planted mistakes are found',
  play: playEvaluation,
};

async function playEvaluation(scene: Scene): Promise<void> {
  const { progress } = scene;
  const turnIds = await progress.step(`${INVOICES.length} messages, each pays an invoice with a tool`, () =>
    payInvoices(scene),
  );
  const paid = await linesOf(scene, FILE);
  await progress.step('their turns become a data set', () => copyTurns(scene, turnIds));
  const ended = await progress.step(
    `the data set is asked again: ${RUNS} runs`,
    () => evaluate(scene),
    ({ counts }) => `the data set was asked again: ${counts.ended} runs have ended`,
  );
  const results = await scene.stage.read<ListAnswer<EvaluationResultView>>(`/v1/evaluations/${ended.id}/results`);
  for (const line of tableOf(ended)) progress.print(line);
  await checkEffects(scene, paid);
  await checkRuns(scene, ended, results.items);
  checkNumbers(scene, ended, results.items);
  await checkRequests(scene, results.items);
}

/** Resolves with the turns, in the order of the invoices. */
function payInvoices(scene: Scene): Promise<string[]> {
  return Promise.all(
    INVOICES.map(async (invoice) => {
      const sessionKey = `demo:invoice-${invoice}`;
      const text = textOf(invoice);
      const { message } = await sendMessage(scene, { sessionKey, text, idempotencyKey: sessionKey });
      scene.record.inputs.set(message.id, 'answered');
      const { turnId } = await settledMessage(scene, sessionKey, message.id);
      return turnId ?? '';
    }),
  );
}

/** The message, with what each of the two models does. */
function textOf(invoice: number): string {
  const pay = `[[tool: exec ${JSON.stringify({ command: `echo "invoice ${invoice} is paid" >> ${FILE}` })}]]`;
  const look = `[[tool: read ${JSON.stringify({ file_path: FILE })}]]`;
  const right = `[[reply: Invoice ${invoice} is paid: ${invoice}0 euros.]]`;
  const wrong = `[[reply: Invoice ${invoice} is paid: ${invoice}00 euros.]]`;
  const cheaper: Record<number, string> = {
    [MISREAD]: `${look} ${wrong}`,
    [PAID_TWICE]: `${pay} ${right}`,
  };
  const worse = cheaper[invoice];
  const script =
    worse === undefined ? `${look} ${right}` : `[[for: ${CHEAPER}]] ${worse} [[for: others]] ${look} ${right}`;
  return `Pay invoice ${invoice} of ${invoice}0 euros. ${pay} ${script}`;
}

async function copyTurns({ stage: { api, signal }, check }: Scene, turns: readonly string[]): Promise<void> {
  await api.call('createDataset', { name: NAME }, { signal });
  await api.call('addDatasetItems', { dataset: NAME, turns }, { signal });
  const { counts } = await api.call('getDataset', { dataset: NAME }, { signal });
  check(counts.ready === turns.length && counts.items === turns.length, 'each turn is an item that can be run', counts);
}

/** Resolves when it has ended. */
async function evaluate({ stage: { api, signal } }: Scene): Promise<EvaluationView> {
  const { id } = await api.call(
    'startEvaluation',
    {
      dataset: NAME,
      candidates: [{ name: 'recorded' }, { name: CHEAPER, model: `anthropic/${CHEAPER}` }],
      graders: [{ type: 'equal', name: 'same-answer' }],
      repeats: 1,
    },
    { signal },
  );
  for (;;) {
    const found: EvaluationView = await api.call('getEvaluation', { id }, { signal });
    if (found.status === 'ended') return found;
    await delay(POLL_MS, undefined, { signal });
  }
}

/** How many items each candidate has passed, and what follows from it. */
function tableOf({ results, counts: { items } }: EvaluationView): string[] {
  const width = Math.max(...results.map(({ name }) => name.length));
  const rows = results.map(({ name, graders, diverged }) => {
    const passed = Math.round((graders[0]?.passRate ?? 0) * items);
    const bar = '█'.repeat(2 * passed).padEnd(2 * items, '░');
    return `${name.padEnd(width)}  ${bar}  ${passed} of ${items} the same, ${diverged} diverged`;
  });
  return [...rows, results[1]?.comparison?.text ?? ''];
}

/** The file has each line once, as before: the calls of all runs were answered from the recording. */
async function checkEffects(scene: Scene, paid: readonly string[]): Promise<void> {
  const lines = await linesOf(scene, FILE);
  scene.record.doubledEffects += lines.length - new Set(lines).size;
  scene.check(
    isDeepStrictEqual(lines, paid) && new Set(lines).size === INVOICES.length && lines.length === INVOICES.length,
    `${FILE} has each payment once, as before: no tool ran again`,
    { paid, lines },
  );
}

/** Each candidate has run each item once, each run as an input of its own. */
async function checkRuns(
  { stage, record, check }: Scene,
  { batchId, outcome }: EvaluationView,
  results: readonly EvaluationResultView[],
): Promise<void> {
  const { items } = await stage.read<ListAnswer<BatchItemView>>(`/v1/batches/${batchId}/items?limit=${RUNS}`);
  // A run that diverges ends without an answer.
  const diverged = cheaperRunOf(results, PAID_TWICE)?.turnId ?? '';
  record.turnEnds.set(diverged, 'silent');
  for (const { messageId, turnId } of items) {
    record.inputs.set(messageId ?? '', turnId === diverged ? 'silent' : 'answered');
  }
  const turnIds = results.flatMap(({ candidates }) => candidates.flatMap(({ runs }) => runs.map((run) => run.turnId)));
  check(
    outcome === 'completed' && turnIds.length === RUNS && new Set(turnIds).size === RUNS && items.length === RUNS,
    `each of the ${RUNS} runs is one turn, in a session that delivers nothing`,
    { outcome, results, items },
  );
}

function checkNumbers(
  { check, progress }: Scene,
  { results }: EvaluationView,
  items: readonly EvaluationResultView[],
): void {
  const [recorded, cheaper] = results;
  const { better, worse, verdict } = cheaper?.comparison ?? {};
  check(
    recorded?.graders[0]?.passRate === 1 && better === 0 && worse === 2 && verdict === 'unknown',
    'the recorded model does the same again; the cheaper one does 2 of 6 worse, which is too little to decide by',
    results,
  );
  const worst = items.filter(({ change }) => change < 0).map(({ n }) => n);
  const again = cheaperRunOf(items, PAID_TWICE)?.divergence;
  progress.print(`invoice ${PAID_TWICE}, step ${again?.step}: recorded ${again?.expected}, now ${again?.got}`);
  check(
    worst.length === 2 &&
      worst.includes(MISREAD) &&
      worst.includes(PAID_TWICE) &&
      again?.step === AGAIN_STEP &&
      again.kind === 'call',
    `the worst are invoice ${MISREAD}, with a wrong amount, and invoice ${PAID_TWICE}, which it would have paid twice`,
    items,
  );
}

function cheaperRunOf(items: readonly EvaluationResultView[], invoice: number): EvaluationRunView | undefined {
  return items.find(({ n }) => n === invoice)?.candidates[1]?.runs[0];
}

/** The recorded model was asked what it was asked before. */
async function checkRequests(scene: Scene, items: readonly EvaluationResultView[]): Promise<void> {
  const pairs = await Promise.all(
    items.map(async ({ turnId, candidates }) => {
      const run = candidates[0]?.runs[0]?.turnId ?? null;
      const [[recorded], [again]] = await Promise.all([readReceived(scene, turnId), readReceived(scene, run)]);
      return { recorded: recorded?.body, again: again?.body };
    }),
  );
  scene.check(
    pairs.every(({ recorded, again }) => recorded !== undefined && isDeepStrictEqual(recorded, again)),
    'the model server received the same first request from each turn and from its run',
    pairs,
  );
}
