// Chapter: an agent gives a task away and continues; the subagent works in a session of its own,
// and its parent receives its end exactly once. The subagent's command waits for a file that
// appears when the parent's turn is over: so it certainly works in the background.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListAnswer } from '../src/contract/answers.ts';
import type { MessageView, SessionFacts } from '../src/contract/views.ts';
import type { SubagentView } from '../src/features/subagents/contract.ts';
import type { StreamedEvent } from '../src/cli/event-stream.ts';
import type { Chapter, Scene } from './chapter.ts';
import { EventWatch } from './event-watch.ts';
import { playMessage } from './play-message.ts';
import type { LiveStep } from './progress.ts';
import { messageTextOf, type ScriptedMessage } from './script.ts';
import { entriesOf, textOf } from './transcript.ts';

const SESSION = 'demo:office';
const REPORT = 'The year was good. We sold more umbrellas than ever, because it rained.\n';
const LABEL = 'count words';
/**
 * The file that the subagent's command waits for: it appears when the turn of its parent has ended.
 */
const ALONE = 'parent-is-idle';
const WAIT_SECONDS_MAX = 120;

const TASK: ScriptedMessage = {
  text: 'How many words has report.txt? Answer with the number.',
  steps: [
    {
      name: 'exec',
      input: {
        command: `n=0; while [ ! -e ${ALONE} ] && [ $n -lt ${WAIT_SECONDS_MAX * 20} ]; do n=$((n + 1)); sleep 0.05; done; set -- $(< report.txt); echo "$# words"`,
      },
      label: 'exec   count the words of report.txt',
    },
  ],
  reply: 'It has 13 words.',
};

const ASK: ScriptedMessage = {
  text: 'How long is the report? I am in no hurry.',
  steps: [
    {
      name: 'sessions_spawn',
      input: { task: messageTextOf(TASK), label: LABEL },
      label: `sessions_spawn  "${LABEL}"`,
    },
  ],
  reply: 'A subagent is counting the words. I will report the result.',
};

export const subagent: Chapter = {
  id: 'subagent',
  title: 'A subagent works in the background and is announced',
  proves: 'the parent continues, and receives the end exactly once',
  play: playSubagent,
};

async function playSubagent(scene: Scene): Promise<void> {
  const { stage, check } = scene;
  await writeFile(join(stage.workspaceDir, 'report.txt'), REPORT);
  const watch = await EventWatch.open(stage.api, {}, stage.signal);
  const asked = await playMessage(scene, { sessionKey: SESSION, script: ASK });
  const [parent, run] = [await stage.read<SessionFacts>(`/v1/sessions/${SESSION}`), await runOf(scene)];
  check(
    asked.turn.status === 'completed' && parent.status === 'idle' && run.status === 'running',
    "the parent's turn is over and its session idle, while the subagent works",
    { turn: asked.turn, parent, run },
  );
  await writeFile(join(stage.workspaceDir, ALONE), '');
  const events = await showUntilAnnounced(scene, watch, { parentKey: parent.key, askedTurnId: asked.turn.id });
  watch.close();
  await checkRun(scene, run, events);
}

/**
 * Shows the subagent's work and how its parent receives the end; resolves with all events when the
 * parent's turn has ended.
 */
async function showUntilAnnounced(
  scene: Scene,
  watch: EventWatch,
  { parentKey, askedTurnId }: { parentKey: string; askedTurnId: string },
): Promise<StreamedEvent[]> {
  const { progress } = scene;
  const events: StreamedEvent[] = [];
  let step: LiveStep | null = null;
  for (;;) {
    const event = await watch.next();
    events.push(event);
    const { type, data, turnId, sessionKey } = event;
    if (turnId === askedTurnId) continue;
    if (type === 'tool.started') step = progress.begin(`subagent: ${TASK.steps[0]?.label}`);
    if (type === 'tool.ended') step?.done();
    if (type === 'announce.queued') progress.print('the end of the run and its announcement are one commit');
    if (type === 'model.delta' && sessionKey === parentKey) progress.replying(String(data['text']));
    if (type !== 'turn.ended') continue;
    if (sessionKey === parentKey) {
      progress.replied(String(data['reply']));
      return events;
    }
    progress.say('subagent', String(data['reply']));
  }
}

async function checkRun(
  scene: Scene,
  { runId, childSessionKey }: SubagentView,
  events: StreamedEvent[],
): Promise<void> {
  const { stage, check, record } = scene;
  const accepted = events.filter(
    ({ type, sessionKey }) => type === 'message.accepted' && sessionKey === childSessionKey,
  );
  for (const { data } of accepted) record.inputs.set(String(data['messageId']), 'answered');
  const run = await runOf(scene);
  const queued = events.filter(({ type }) => type === 'announce.queued');
  const announcementId = run.announcement?.messageId ?? '';
  record.inputs.set(announcementId, 'answered');
  check(
    run.status === 'ok' && run.result === TASK.reply && accepted.length === 1,
    'the subagent did its task in a session of its own',
    { run, accepted },
  );
  const announcement = await stage.read<MessageView>(`/v1/messages/${announcementId}`);
  const prompts = (await entriesOf(scene, SESSION)).filter(({ kind }) => kind === 'prompt').map(textOf);
  const announcing = prompts.filter((text) => text.includes('[System Message]'));
  const [first = ''] = announcing;
  if (first !== '') scene.progress.print(`the parent received: ${first.split('\n')[0]}`);
  check(
    queued.length === 1 &&
      queued[0]?.data['runId'] === runId &&
      announcement.status === 'answered' &&
      announcing.length === 1 &&
      first.includes(`A subagent task "${LABEL}" just completed successfully.`) &&
      first.includes(TASK.reply),
    'its end was announced to the parent once: one row, one prompt, one turn',
    { queued, announcement, prompts },
  );
}

/** The one subagent of the session. */
async function runOf({ stage }: Scene): Promise<SubagentView> {
  const { items } = await stage.read<ListAnswer<SubagentView>>(`/v1/sessions/${SESSION}/subagents`);
  const [run] = items;
  if (run === undefined || items.length > 1) throw new Error(`${SESSION} has ${items.length} subagents instead of one`);
  return run;
}
