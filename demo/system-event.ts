// Chapter: a fact that reaches a session from outside waits for the next prompt, is in it once, and
// in no other.
import type { ListAnswer } from '../src/contract/answers.ts';
import type { SystemEventView } from '../src/contract/views.ts';
import type { Chapter, Scene } from './chapter.ts';
import { playMessage } from './play-message.ts';
import { HOME_SESSION } from './tool-loop.ts';
import { entriesOf, promptOf } from './transcript.ts';

const FACT = 'The nightly backup has finished: 412 files, no errors.';

export const systemEvent: Chapter = {
  id: 'system-event',
  title: 'A system event waits for the next prompt',
  proves: 'a fact from outside is in exactly one prompt',
  play: playSystemEvent,
};

async function playSystemEvent(scene: Scene): Promise<void> {
  const { stage, progress, check } = scene;
  const path = `/v1/sessions/${HOME_SESSION}/system-events`;
  const post = () => stage.api.call('queueSystemEvent', { key: HOME_SESSION, text: FACT }, { signal: stage.signal });
  progress.say('event', FACT);
  const dispositions = [(await post()).disposition, (await post()).disposition];
  const { items: waiting } = await stage.read<ListAnswer<SystemEventView>>(path);
  check(
    dispositions.join() === 'queued,duplicate' && waiting.length === 1,
    'it waits without a turn; posted twice in a row, it waits once',
    { dispositions, waiting },
  );
  const first = await ask(scene, 'Did the backup run?', 'Yes: it has finished, with 412 files and no errors.');
  const second = await ask(scene, 'Thank you.', 'You are welcome.');
  const { items } = await stage.read<ListAnswer<SystemEventView>>(`${path}?state=all`);
  const event = items.find((each) => each.text === FACT);
  const line = first.prompt.split('\n').find((each) => each.includes(FACT));
  if (line !== undefined) progress.print(`in the prompt: ${line}`);
  check(
    line?.startsWith('System: ') === true && !second.prompt.includes(FACT),
    'the next prompt begins with it, the one after does not contain it',
    { first, second },
  );
  check(
    event?.state === 'consumed' && event.turnId === first.turnId,
    'the service names the turn that consumed it',
    items,
  );
}

/** A message and its reply; answers with the prompt that was made of it. */
async function ask(scene: Scene, text: string, reply: string): Promise<{ turnId: string; prompt: string }> {
  const { turn } = await playMessage(scene, { sessionKey: HOME_SESSION, script: { text, steps: [], reply } });
  return { turnId: turn.id, prompt: promptOf(await entriesOf(scene, HOME_SESSION), turn.id) };
}
