// Chapter: a worker is killed with SIGKILL while a tool runs in the middle of a loop, and another
// finishes the turn. The tool books a charge by adding a line to a file, which must not happen
// twice; each line names the process that wrote it, so the file shows which worker did what.
//
// The kill follows an event, not the clock: the third call has begun, and its line is in the file.
// So the charge is booked and Holdfast cannot know it: the worst case.
import type { TurnView } from '../src/contract/views.ts';
import type { Chapter, Scene } from './chapter.ts';
import type { DemoProcess } from './demo-process.ts';
import { newKill, showKill, type Kill } from './kill-worker.ts';
import { playMessage } from './play-message.ts';
import { formatMs } from './progress.ts';
import type { ScriptedMessage, ScriptedStep } from './script.ts';
import { entriesOf } from './transcript.ts';
import { linesOf } from './workspace-lines.ts';

const SESSION = 'demo:accounts';
const FILE = 'charges.log';
/**
 * The step in which the worker is killed. Its command would run for long, so the kill surely
 * interrupts it.
 */
const FATAL_STEP = 3;
const FATAL_COMMAND_SECONDS = 120;

const charge = (invoice: number, then = ''): ScriptedStep => ({
  name: 'exec',
  // The parent of the shell is the worker.
  input: { command: `echo "invoice ${invoice} charged by process $PPID" >> ${FILE}${then}` },
  label: `exec   charge invoice ${invoice}`,
});

const SCRIPT: ScriptedMessage = {
  text: 'Charge invoices 1 to 5, one after the other.',
  steps: [
    charge(1),
    charge(2),
    charge(FATAL_STEP, `; sleep ${FATAL_COMMAND_SECONDS}`),
    { name: 'read', input: { file_path: FILE }, label: `read   ${FILE}, to see what was booked` },
    charge(4),
    charge(5),
  ],
  reply: 'All five invoices are charged. I was interrupted at number 3, looked it up, and did not charge it again.',
};

export const takeOver: Chapter = {
  id: 'take-over',
  title: 'A worker is killed in the middle of a tool loop; another finishes the turn',
  proves: 'SIGKILL during a call: the turn finishes, no call runs twice',
  play: playTakeOver,
};

async function playTakeOver(scene: Scene): Promise<void> {
  const { stage, progress, record } = scene;
  const workerB = await progress.step(
    'worker B',
    () => stage.workerB,
    ({ pid }) => `worker B: process ${pid}`,
  );
  const workers = [stage.workerA, workerB];
  const kill = newKill();
  const show = showKill(scene, kill, {
    workers,
    script: SCRIPT,
    step: FATAL_STEP,
    file: FILE,
    line: `invoice ${FATAL_STEP} `,
    taken: 'calls 1 and 2 stay done, call 3 is unknown and does not run again',
  });
  const { message, turn } = await playMessage(scene, { sessionKey: SESSION, script: SCRIPT, show });
  record.recoveryMs = kill.recoveryMs;
  record.rescuedTurnId = turn.id;
  const { check } = scene;
  check(
    message.status === 'answered' && turn.status === 'completed' && turn.attempt === 2,
    'the same turn continued as attempt 2, and the message is answered',
    turn,
  );
  await checkFile(scene, workers, kill);
  checkLedger(scene, turn);
  await checkUnknown(scene, turn);
  check(
    kill.recoveryMs !== null,
    `taken over ${formatMs(kill.recoveryMs ?? 0)} after the kill, with a lease of ${formatMs(stage.leaseMs)}`,
    { recoveryMs: kill.recoveryMs },
  );
}

async function checkFile(scene: Scene, workers: DemoProcess[], { victim }: Kill): Promise<void> {
  const { check, record } = scene;
  const lines = await linesOf(scene, FILE);
  const charges = lines.map((line) => /^invoice (\d) charged by process (\d+)$/.exec(line)?.slice(1).map(Number) ?? []);
  record.doubledEffects += lines.length - new Set(charges.map(([invoice]) => invoice)).size;
  check(charges.map(([invoice]) => invoice).join() === '1,2,3,4,5', `${FILE} has each of the five charges once`, lines);
  const byVictim = charges.filter(([, pid]) => pid === victim?.pid).map(([invoice]) => invoice);
  const follower = workers.find((worker) => worker !== victim);
  const byFollower = charges.filter(([, pid]) => pid === follower?.pid).map(([invoice]) => invoice);
  check(
    byVictim.join() === '1,2,3' && byFollower.join() === '4,5',
    `1, 2 and 3 were booked by ${victim?.name} (process ${victim?.pid}), 4 and 5 by ${follower?.name} (process ${follower?.pid})`,
    lines,
  );
}

function checkLedger({ check }: Scene, turn: TurnView): void {
  const tools = turn.steps.flatMap((step) => step.tools);
  const statuses = tools.map((tool) => tool.status).join();
  check(
    statuses === 'done,done,unknown,done,done,done' && tools.every((tool) => tool.runs === 1),
    'the ledger: five calls done, one unknown, none ran twice',
    tools,
  );
}

/** The model received, in place of a result, that the outcome is unknown. */
async function checkUnknown(scene: Scene, turn: TurnView): Promise<void> {
  const { check, progress } = scene;
  const results = (await entriesOf(scene, SESSION)).flatMap((entry) =>
    entry.turnId === turn.id && typeof entry.content !== 'string' ? entry.content : [],
  );
  const unknown = results.filter(
    (block) => block.type === 'tool_result' && String(block.content).startsWith('outcome unknown'),
  );
  const [reported] = unknown;
  if (reported !== undefined) progress.print(`the model received: "${String(reported.content)}"`);
  check(
    unknown.length === 1 && reported?.is_error === true,
    'the model received that once, and looked before it continued',
    unknown,
  );
}
