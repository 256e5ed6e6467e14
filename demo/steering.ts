// Chapter: messages that reach an agent while it works. A message in mode `steer` joins the running
// turn between two steps; one in mode `interrupt` ends the turn, with the command that runs in it,
// and is next. No timing decides: the first command waits for a file that appears when the message
// was accepted, the second would run for long.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AcceptedMessage } from '../src/contract/answers.ts';
import type { MessageView } from '../src/contract/views.ts';
import type { StreamedEvent } from '../src/cli/event-stream.ts';
import type { Chapter, Scene } from './chapter.ts';
import { playMessage, sendMessage, settledMessage, type LiveCall, type PlayedMessage } from './play-message.ts';
import { formatMs } from './progress.ts';
import { messageTextOf, type ScriptedMessage, type ScriptedStep } from './script.ts';
import { entriesOf, promptOf } from './transcript.ts';
import { awaitLine, linesOf } from './workspace-lines.ts';

const SESSION = 'demo:garden';
const FENCE = 'fence.txt';
const TREES = 'trees.txt';
/**
 * The file that the first command waits for: it appears when the message that joins its turn was
 * accepted.
 */
const ACCEPTED = 'message-accepted';
const WAIT_SECONDS_MAX = 120;
/**
 * How long the interrupted command would run: longer than any demo, so that only the interrupt can
 * end it.
 */
const LONG_COMMAND_SECONDS = 600;
const ABORT_NOTE = 'The previous agent run was aborted by the user.';

const paint = (board: number, colour: string, then = ''): ScriptedStep => ({
  name: 'exec',
  input: { command: `echo "board ${board} ${colour}" >> ${FENCE}${then}` },
  label: `exec   paint board ${board} ${colour}`,
});

const untilAccepted = `; n=0; while [ ! -e ${ACCEPTED} ] && [ $n -lt ${WAIT_SECONDS_MAX * 20} ]; do n=$((n + 1)); sleep 0.05; done`;

const GREEN: ScriptedMessage = {
  text: 'Paint the fence green, all three boards.',
  steps: [paint(1, 'green', untilAccepted), paint(2, 'green'), paint(3, 'green')],
  reply: 'The fence is green.',
};

const BLUE: ScriptedMessage = {
  text: 'Wait: blue from the second board on, please.',
  steps: [paint(2, 'blue'), paint(3, 'blue')],
  reply: 'The first board is green, the others are blue, as you asked.',
};

const WATER: ScriptedMessage = {
  text: 'Water all trees, one after the other.',
  steps: [
    {
      name: 'exec',
      input: {
        command: `echo "tree 1 watered" >> ${TREES}; sleep ${LONG_COMMAND_SECONDS}; echo "tree 2 watered" >> ${TREES}`,
      },
      label: 'exec   water the trees',
    },
  ],
  reply: 'All trees are watered.',
};

const COME_IN: ScriptedMessage = { text: 'It rains: come in.', steps: [], reply: 'I am in. One tree is watered.' };
const THANKS: ScriptedMessage = { text: 'Thank you.', steps: [], reply: 'You are welcome.' };

export const steering: Chapter = {
  id: 'steering',
  title: 'Messages that reach an agent while it works',
  proves: 'one message joins the running turn, another one ends it',
  async play(scene) {
    await playSteer(scene);
    await playInterrupt(scene);
  },
};

async function playSteer(scene: Scene): Promise<void> {
  const { stage, progress } = scene;
  const sent: Sent = { accepted: null };
  const show = async ({ type, data }: StreamedEvent, live: LiveCall): Promise<boolean> => {
    if (type === 'steer.injected')
      progress.print('the message follows the result of the running call, before the next answer');
    if (type !== 'tool.started') return false;
    const step = Number(data['step']);
    const { label = '' } = (step === 1 ? GREEN.steps[0] : BLUE.steps[step - 2]) ?? {};
    if (step === 1) {
      await awaitLine(scene, FENCE, 'board 1');
      progress.say('user', BLUE.text);
      sent.accepted = await sendWhileBusy(scene, BLUE, 'steer');
      await writeFile(join(stage.workspaceDir, ACCEPTED), '');
    }
    live.step = progress.begin(label);
    return true;
  };
  const played = await playMessage(scene, { sessionKey: SESSION, script: GREEN, show });
  await checkSteer(scene, played, sent);
}

/** The service's answer to the message that was sent while the agent worked. */
interface Sent {
  accepted: AcceptedMessage | null;
}

async function checkSteer(scene: Scene, { turn, message, events }: PlayedMessage, { accepted }: Sent): Promise<void> {
  const { stage, check } = scene;
  const steered = await stage.read<MessageView>(`/v1/messages/${accepted?.message.id}`);
  check(
    accepted?.disposition === 'steered' &&
      [message, steered].every(({ turnId, status, reply }) => {
        return turnId === turn.id && status === 'answered' && reply === BLUE.reply;
      }),
    'both messages are answered by the same turn',
    { accepted, message, steered },
  );
  const entries = (await entriesOf(scene, SESSION)).filter(({ turnId }) => turnId === turn.id);
  const kinds = entries.map(({ kind }) => kind).join();
  const injected = events.filter(({ type }) => type === 'steer.injected');
  check(
    kinds === 'prompt,answer,results,steer,answer,results,answer,results,answer' && injected.length === 1,
    'the second message is in the transcript once, as an entry between two steps',
    { kinds, injected },
  );
  const lines = await linesOf(scene, FENCE);
  check(lines.join() === 'board 1 green,board 2 blue,board 3 blue', `${FENCE} shows that the agent followed it`, lines);
}

async function playInterrupt(scene: Scene): Promise<void> {
  const { progress, check, record } = scene;
  const { label = '' } = WATER.steps[0] ?? {};
  const sent: Sent = { accepted: null };
  const show = async ({ type }: StreamedEvent, live: LiveCall): Promise<boolean> => {
    if (type === 'tool.started') {
      await awaitLine(scene, TREES, 'tree 1');
      progress.say('user', COME_IN.text);
      live.step = progress.begin(label);
      sent.accepted = await sendWhileBusy(scene, COME_IN, 'interrupt');
      return true;
    }
    if (type === 'turn.ended') {
      live.step?.end('unknown', `${label}: stopped in the middle of its ${LONG_COMMAND_SECONDS} s`);
      live.step = null;
    }
    return type === 'tool.ended';
  };
  const { turn, message } = await playMessage(scene, { sessionKey: SESSION, script: WATER, show });
  record.inputs.set(message.id, 'cancelled');
  record.turnEnds.set(turn.id, 'aborted');
  const { accepted } = sent;
  const next = await settledMessage(scene, SESSION, accepted?.message.id ?? '');
  progress.say('model', next.reply ?? '');
  check(
    accepted?.disposition === 'interrupting' && turn.status === 'aborted' && message.status === 'cancelled',
    'the running turn ends as aborted, and its message as cancelled',
    { accepted, turn, message },
  );
  const tookMs = Date.parse(turn.endedAt ?? '') - Date.parse(next.receivedAt);
  check(
    next.status === 'answered' && next.reply === COME_IN.reply,
    `it ended ${formatMs(tookMs)} after the message arrived, which was answered next`,
    { tookMs, next },
  );
  const lines = await linesOf(scene, TREES);
  check(lines.join() === 'tree 1 watered', 'its command was stopped too: no second tree', lines);
  const thanks = await playMessage(scene, { sessionKey: SESSION, script: THANKS });
  const entries = await entriesOf(scene, SESSION);
  check(
    promptOf(entries, next.turnId).includes(ABORT_NOTE) && !promptOf(entries, thanks.turn.id).includes(ABORT_NOTE),
    'the next prompt, and no other, says that the work was interrupted',
    entries,
  );
}

async function sendWhileBusy(
  scene: Scene,
  script: ScriptedMessage,
  mode: 'steer' | 'interrupt',
): Promise<AcceptedMessage> {
  const text = messageTextOf(script);
  const sent = { sessionKey: SESSION, text, idempotencyKey: randomUUID(), more: { mode } };
  const accepted = await sendMessage(scene, sent);
  scene.record.inputs.set(accepted.message.id, 'answered');
  return accepted;
}
