// Chapter: a message that makes the agent use its tools, shown live, and sent again as after a
// network failure.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListAnswer } from '../src/contract/answers.ts';
import type { TurnView } from '../src/contract/views.ts';
import type { StreamedEvent } from '../src/cli/event-stream.ts';
import type { Chapter, Scene } from './chapter.ts';
import { playMessage, sendMessage } from './play-message.ts';
import { messageTextOf, type ScriptedMessage } from './script.ts';

/** Also the session that the system event goes to: one with a history. */
export const HOME_SESSION = 'demo:home';

const SCRIPT: ScriptedMessage = {
  text: 'Write a shopping list: oats, apples, milk. Then sort it.',
  steps: [
    {
      name: 'write',
      input: { file_path: 'shopping.txt', content: 'oats\napples\nmilk\n' },
      label: 'write  shopping.txt',
    },
    {
      name: 'exec',
      input: { command: 'sort -o shopping.txt shopping.txt' },
      label: 'exec   sort -o shopping.txt shopping.txt',
    },
    { name: 'read', input: { file_path: 'shopping.txt' }, label: 'read   shopping.txt' },
  ],
  reply: 'Your list is in shopping.txt, sorted: apples first, then milk, then oats.',
};

export const toolLoop: Chapter = {
  id: 'tool-loop',
  title: 'A message, three tool calls, a streamed reply',
  proves: 'real tools, a streamed reply; sent twice, still one message',
  play: playToolLoop,
};

async function playToolLoop(scene: Scene): Promise<void> {
  const { check, stage } = scene;
  const played = await playMessage(scene, { sessionKey: HOME_SESSION, script: SCRIPT });
  const { message, turn, events } = played;
  check(message.status === 'answered' && message.reply === SCRIPT.reply, 'the message is answered', message);
  check(streamedText(events) === SCRIPT.reply, 'the streamed pieces are the whole reply, in order', events);
  const tools = turn.steps.flatMap((step) => step.tools);
  const asScripted = tools.map((tool) => tool.name).join() === SCRIPT.steps.map((step) => step.name).join();
  check(
    asScripted && tools.every((tool) => tool.status === 'done' && tool.runs === 1),
    'three tool calls, each in the ledger before it ran, each ran once',
    tools,
  );
  const file = await readFile(join(stage.workspaceDir, 'shopping.txt'), 'utf8');
  check(file === 'apples\nmilk\noats\n', 'the tools are real: the file exists and is sorted', file);
  await sendAgain(scene, played.idempotencyKey, message.id);
}

/** A client that received no answer sends the same message again: it stays one message. */
async function sendAgain(scene: Scene, idempotencyKey: string, messageId: string): Promise<void> {
  const again = await sendMessage(scene, { sessionKey: HOME_SESSION, text: messageTextOf(SCRIPT), idempotencyKey });
  const turns = await scene.stage.read<ListAnswer<TurnView>>(`/v1/turns?session=${HOME_SESSION}`);
  scene.check(
    again.message.id === messageId && turns.items.length === 1,
    'sent again with the same Idempotency-Key: the same message, no second turn',
    { again, turns: turns.items.length },
  );
}

/** The text that the last model call streamed. */
function streamedText(events: readonly StreamedEvent[]): string {
  const deltas = events.filter((event) => event.type === 'model.delta');
  const lastCall = deltas.at(-1)?.data['call'];
  return deltas
    .filter((event) => event.data['call'] === lastCall)
    .map((event) => event.data['text'])
    .join('');
}
