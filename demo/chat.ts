// Chapter: a person writes to a bot on a chat platform, and the worker that answers is killed
// during a tool call. Another worker finishes the turn, answers in the chat, and reads what the
// person writes next: if the killed one polled the bot, another one does now.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Chapter, Scene } from './chapter.ts';
import { newKill, showKill } from './kill-worker.ts';
import { playMessage, type PlayedMessage, type PlayOptions } from './play-message.ts';
import type { ScriptedMessage } from './script.ts';
import { linesOf } from './workspace-lines.ts';

const PERSON = 42;
const SESSION = `telegram:direct:${PERSON}`;
const FILE = 'tables.log';
const LINE = 'a table for two, Friday at eight';
/** The command would run for long, so the kill surely interrupts it. */
const FATAL_COMMAND_SECONDS = 120;
/** From the end of a turn to its answer in the chat. */
const ANSWER_MS_MAX = 120_000;
const POLL_MS = 20;

const BOOK: ScriptedMessage = {
  text: 'A table for two on Friday at eight, please.',
  steps: [
    {
      name: 'exec',
      input: { command: `echo "${LINE}" >> ${FILE}; sleep ${FATAL_COMMAND_SECONDS}` },
      label: 'exec   book the table',
    },
    { name: 'read', input: { file_path: FILE }, label: `read   ${FILE}, to see what was booked` },
  ],
  reply: 'Your table for two is booked for Friday at eight.',
};
const THANK: ScriptedMessage = { text: 'Thank you!', steps: [], reply: 'Have a good evening.' };

export const chat: Chapter = {
  id: 'chat',
  title: 'A person writes on Telegram, and the worker that answers is killed',
  proves: 'SIGKILL while a chat is answered: each answer is in the chat once',
  play: playChat,
};

async function playChat(scene: Scene): Promise<void> {
  const { stage, progress, check } = scene;
  const workerC = await progress.step(
    'worker C',
    () => stage.startWorker('worker C'),
    ({ pid }) => `worker C: process ${pid}`,
  );
  const workers = [stage.workerA, await stage.workerB, workerC].filter(({ isAlive }) => isAlive);
  const fatal = {
    workers,
    script: BOOK,
    step: 1,
    file: FILE,
    line: LINE,
    taken: 'the call is unknown and does not run again',
  };
  const booked = await play(scene, BOOK, showKill(scene, newKill(), fatal));
  const thanked = await play(scene, THANK);
  check(
    booked.message.status === 'answered' && booked.turn.status === 'completed' && booked.turn.attempt === 2,
    'the same turn continued as attempt 2, and the message is answered',
    booked.turn,
  );
  check(thanked.message.status === 'answered', 'the next message reached a worker that is alive', thanked.message);
  const booking = await linesOf(scene, FILE);
  check(booking.join() === LINE, `${FILE} has the table once`, booking);
  const answers = await readAnswers(scene);
  scene.record.doubledEffects += booking.length - new Set(booking).size + answers.length - new Set(answers).size;
  check(answers.join('\n') === `${BOOK.reply}\n${THANK.reply}`, 'the chat has each answer once, in order', answers);
}

/** Has the person write; resolves when the answer is in the chat. */
async function play(scene: Scene, script: ScriptedMessage, show?: PlayOptions['show']): Promise<PlayedMessage> {
  const send = async (text: string): Promise<void> => void (await ask(scene, 'say', { from: PERSON, text }));
  const options = { sessionKey: SESSION, script, send, ...(show === undefined ? {} : { show }) };
  const played = await playMessage(scene, options);
  const step = scene.progress.begin('on its way to the chat');
  const deadlineMs = performance.now() + ANSWER_MS_MAX;
  while (!(await readAnswers(scene)).includes(script.reply)) {
    if (performance.now() > deadlineMs) throw new Error(`the chat had no "${script.reply}" within ${ANSWER_MS_MAX} ms`);
    await delay(POLL_MS, undefined, { signal: scene.stage.signal });
  }
  step.done('the answer is in the chat');
  return played;
}

/** What the bot has written in the chat. */
async function readAnswers(scene: Scene): Promise<string[]> {
  const { messages } = (await ask(scene, `messages?chat=${PERSON}`)) as {
    messages: { text: string; from: { is_bot: boolean } }[];
  };
  return messages.filter(({ from }) => from.is_bot).map(({ text }) => text);
}

/** Plays the person on the platform, or reads what it has. */
async function ask({ stage }: Scene, path: string, body?: object): Promise<unknown> {
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(`${stage.telegramUrl}/control/${path}`, { ...sent, signal: stage.signal });
  if (!answer.ok) throw new Error(`${path} of the scripted Telegram: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
