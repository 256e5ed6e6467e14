// Chapter: a cron that fires every second, with three schedulers. Each fire is a turn of its own
// that adds a line to a file: the file shows whether a fire was lost or doubled.
import type { CronView, FireView } from '../src/features/crons/contract.ts';
import type { ListAnswer } from '../src/contract/answers.ts';
import type { Chapter, Scene } from './chapter.ts';
import { EventWatch } from './event-watch.ts';
import { settledMessage } from './play-message.ts';
import { linesOf } from './workspace-lines.ts';

const TICKS = 3;
const FILE = 'plants.log';
const SECOND_MS = 1000;

export const cronTicks: Chapter = {
  id: 'cron',
  title: 'A cron fires every second',
  proves: `${TICKS} schedulers: each slot fires once, and each fire is a turn`,
  play: playCronTicks,
};

async function playCronTicks(scene: Scene): Promise<void> {
  const { stage, progress, check } = scene;
  await progress.step(
    'worker B',
    () => stage.workerB,
    ({ pid }) => `worker B: process ${pid}, the third scheduler`,
  );
  const watch = await EventWatch.open(stage.api, { types: ['cron.fired'] }, stage.signal);
  const fields = {
    name: 'water the plants',
    schedule: { kind: 'cron', expr: '* * * * * *', tz: 'Europe/Berlin' },
    target: 'isolated',
    payload: { kind: 'agentTurn', message: `[[tool: exec {"command": "echo watered >> ${FILE}"}]] [[reply: Done.]]` },
  };
  const cron = await stage.api.call('createCron', fields, { signal: stage.signal });
  progress.print('created over HTTP: "* * * * * *" in Europe/Berlin, with a session of its own');
  const step = progress.begin('waiting for the next second');
  let sessionKey = '';
  for (let fired = 1; fired <= TICKS; fired += 1) {
    const event = await watch.next();
    sessionKey = String(event.sessionKey);
    step.update(`${fired} of ${TICKS}: slot ${String(event.data['scheduledFor'])}`);
  }
  watch.close();
  // Further slots may have fired meanwhile.
  const paused = await pause(scene, cron.id);
  const fires = await firesOf(scene, cron.id);
  for (const { messageId } of fires) {
    // A slot that was missed has none.
    if (messageId === null) continue;
    scene.record.inputs.set(messageId, 'answered');
    await settledMessage(scene, sessionKey, messageId);
  }
  step.done(`${fires.length} slots, the last at ${fires[0]?.scheduledFor}; then the cron is paused`);
  check(!paused.enabled && paused.nextRunAt === null, 'the paused cron has no next slot', paused);
  await checkFires(scene, cron.id);
}

async function checkFires(scene: Scene, cronId: string): Promise<void> {
  const { check, progress } = scene;
  const fires = (await firesOf(scene, cronId)).toReversed();
  const run = fires.filter(({ status }) => status !== 'missed');
  // On a machine that stalls for longer than a second, a later slot replaces earlier ones: their
  // rows say so.
  if (run.length < fires.length) progress.print('this machine stalled: slots that no scheduler saw in time are missed');
  const isUnbroken = fires.every(({ scheduledFor }, at) => {
    const before = fires[at - 1];
    return before === undefined || slotMs(scheduledFor) === slotMs(before.scheduledFor) + before.slots * SECOND_MS;
  });
  check(run.length >= TICKS && isUnbroken, 'each second from the first to the last has exactly one slot', fires);
  const turnIds = new Set(run.map(({ turnId }) => turnId));
  check(
    run.every(({ status }) => status === 'completed') && turnIds.size === run.length && !turnIds.has(null),
    'each fire is completed by a turn of its own',
    fires,
  );
  const lines = await linesOf(scene, FILE);
  scene.record.doubledEffects += Math.max(0, lines.length - run.length);
  check(
    lines.length === run.length && lines.every((line) => line === 'watered'),
    `${FILE} has one line per fire`,
    lines,
  );
}

function slotMs(time: string): number {
  return Date.parse(time);
}

function pause({ stage }: Scene, id: string): Promise<CronView> {
  return stage.api.call('updateCron', { id, enabled: false }, { signal: stage.signal });
}

/** The fires of the cron, newest first. */
async function firesOf({ stage }: Scene, cronId: string): Promise<FireView[]> {
  return (await stage.read<ListAnswer<FireView>>(`/v1/crons/${cronId}/fires?limit=100`)).items;
}
