// Chapter: many messages to several sessions at the same time, each sent twice, as after a network
// failure. Each makes a tool write its number into a file: the file shows whether a message was
// lost or answered twice.
import { randomUUID } from 'node:crypto';
import type { AcceptedMessage } from '../src/contract/answers.ts';
import type { MessageView } from '../src/contract/views.ts';
import type { Chapter, Scene } from './chapter.ts';
import { EventWatch } from './event-watch.ts';
import { sendMessage } from './play-message.ts';
import { entriesOf, textOf } from './transcript.ts';
import { linesOf } from './workspace-lines.ts';

const MESSAGES = 20;
const SESSIONS = 7;
const FILE = 'numbers.log';

export const manyMessages: Chapter = {
  id: 'many-messages',
  title: `${MESSAGES} messages to ${SESSIONS} sessions at once, each sent twice`,
  proves: 'accepted once, answered once, in order, although sent twice',
  play: playManyMessages,
};

interface Sent {
  n: number;
  sessionKey: string;
  answers: AcceptedMessage[];
}

async function playManyMessages(scene: Scene): Promise<void> {
  const { stage, progress, check, record } = scene;
  const watch = await EventWatch.open(stage.api, { types: ['message.settled'] }, stage.signal);
  const step = progress.begin('sending');
  const sent = await Promise.all(Array.from({ length: MESSAGES }, (_, index) => sendTwice(scene, index + 1)));
  for (const each of sent) record.inputs.set(idOf(each), 'answered');
  const open = new Set(sent.map(idOf));
  while (open.size > 0) {
    step.update(`${MESSAGES - open.size} of ${MESSAGES} are answered`);
    open.delete(String((await watch.next()).data['messageId']));
  }
  step.done(`${MESSAGES} of ${MESSAGES} are answered`);
  watch.close();
  const messages = await Promise.all(sent.map((each) => stage.read<MessageView>(`/v1/messages/${idOf(each)}`)));
  check(
    sent.every(({ answers }) => new Set(answers.map(({ message }) => message.id)).size === 1),
    `${2 * MESSAGES} requests create ${MESSAGES} messages`,
    sent,
  );
  check(
    messages.every((message) => message.status === 'answered'),
    'each message is answered',
    messages,
  );
  const numbers = (await linesOf(scene, FILE)).map(Number);
  record.doubledEffects += numbers.length - new Set(numbers).size;
  check(
    numbers.toSorted((a, b) => a - b).join() === sent.map(({ n }) => n).join(),
    `their tools wrote each number from 1 to ${MESSAGES} once`,
    numbers,
  );
  await checkTranscripts(scene, sent);
}

/** Sends both concurrently, with the same key; either may arrive first. */
async function sendTwice(scene: Scene, n: number): Promise<Sent> {
  const sessionKey = `demo:team-${1 + (n % SESSIONS)}`;
  const text = `Message ${n} of ${MESSAGES}. [[tool: exec ${JSON.stringify({ command: `echo ${n} >> ${FILE}` })}]]`;
  const idempotencyKey = randomUUID();
  const send = () => sendMessage(scene, { sessionKey, text, idempotencyKey });
  return { n, sessionKey, answers: await Promise.all([send(), send()]) };
}

function idOf({ answers }: Sent): string {
  const [first] = answers;
  if (first === undefined) throw new Error('a message was not sent');
  return first.message.id;
}

/** Each message is in one prompt of its session, in the order in which they were accepted. */
async function checkTranscripts(scene: Scene, sent: readonly Sent[]): Promise<void> {
  const { check, record } = scene;
  const bySession = Map.groupBy(sent, ({ sessionKey }) => sessionKey);
  const comparisons = await Promise.all(
    Array.from(bySession, async ([sessionKey, messages]) => {
      const prompts = (await entriesOf(scene, sessionKey)).filter(({ kind }) => kind === 'prompt').map(textOf);
      const said = [...prompts.join('\n').matchAll(/Message (\d+) of/g)].map((match) => Number(match[1]));
      const inOrder = messages.toSorted((one, other) => seqOf(one) - seqOf(other)).map(({ n }) => n);
      return { sessionKey, said, inOrder };
    }),
  );
  for (const { said } of comparisons) record.doubledEffects += said.length - new Set(said).size;
  check(
    comparisons.every(({ said, inOrder }) => said.join() === inOrder.join()),
    'each is in exactly one prompt of its session, in the order of acceptance',
    comparisons,
  );
}

function seqOf({ answers }: Sent): number {
  return answers[0]?.message.seq ?? 0;
}
