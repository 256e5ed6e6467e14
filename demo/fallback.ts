// Chapter: in the middle of a tool loop, the model's provider refuses because its credit is used
// up. The turn continues on a model of another provider, which speaks another API, with the result
// of the tool that has run already.
import type { TurnView } from '../src/contract/views.ts';
import type { Chapter, Scene } from './chapter.ts';
import { readReceived } from './model-requests.ts';
import { playMessage } from './play-message.ts';
import type { ScriptedMessage, ScriptedStep } from './script.ts';
import { FALLBACK_MODEL } from './stage.ts';
import { linesOf } from './workspace-lines.ts';

const SESSION = 'demo:refunds';
const FILE = 'refunds.log';

const refund = (invoice: number): ScriptedStep => ({
  name: 'exec',
  input: { command: `echo "invoice ${invoice} refunded" | tee -a ${FILE}` },
  label: `exec   refund invoice ${invoice}`,
});

const SCRIPT: ScriptedMessage = {
  text: 'Refund invoices 8 and 9, one after the other.',
  steps: [refund(8), { ...refund(9), refusedWith: 402 }],
  reply: 'Both invoices are refunded.',
};

export const fallback: Chapter = {
  id: 'fallback',
  title: 'The provider refuses in the middle of a tool loop; a model of another one continues',
  proves: 'a model of another provider continues, no tool runs twice',
  play: playFallback,
};

async function playFallback(scene: Scene): Promise<void> {
  const { check } = scene;
  const { message, turn } = await playMessage(scene, { sessionKey: SESSION, script: SCRIPT });
  check(message.status === 'answered' && turn.model === FALLBACK_MODEL, 'the message is answered', turn);
  const calls = turn.steps.flatMap((step) => step.calls);
  const asked = calls.map(({ model, fallbackReason }) => [model === FALLBACK_MODEL, fallbackReason !== null].join());
  check(
    asked.join(' ') === 'false,false false,false true,true true,true',
    'each call names the model that it asked, and why it was not the first',
    calls,
  );
  const lines = await linesOf(scene, FILE);
  scene.record.doubledEffects += lines.length - new Set(lines).size;
  check(lines.join() === 'invoice 8 refunded,invoice 9 refunded', `${FILE} has each of the two refunds once`, lines);
  await checkWires(scene, turn);
}

/**
 * The two providers were asked in their own APIs, and the second was given what the first has
 * begun.
 */
async function checkWires(scene: Scene, turn: TurnView): Promise<void> {
  const received = await readReceived(scene, turn.id);
  const paths = received.map(({ path }) => path);
  scene.check(
    paths.join() === '/v1/messages,/v1/messages,/v1/responses,/v1/responses' &&
      JSON.stringify(received[2]?.body).includes('invoice 8 refunded'),
    'the other provider was asked in its own API, with the result of the first refund',
    paths,
  );
}
