// The questions of an operator: each is answered by the one command that the page shows for it.
import { expect, test } from 'vitest';
import { readPage, tableRows } from '../docs/read-page.ts';
import { addToolCalls } from '../rows/calls.ts';
import { now } from '../rows/table.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { runCommand } from './every-command/run-command.ts';
import { openScene, type Scene } from './every-command/scene.ts';

const holder = {} as { scene: Scene };
shareAmongTests(async (onEnd) => {
  holder.scene = await openScene();
  onEnd(() => holder.scene.close());
  await failAtNight(holder.scene);
  await refundTwice(holder.scene);
});

/** A cron whose turn fails. */
async function failAtNight({ ask, look }: Scene): Promise<void> {
  const payload = { kind: 'agentTurn', message: '[[error: 400 message="no such table"]]' };
  const { id } = await ask('POST', '/v1/crons', {
    name: 'night-report',
    schedule: { kind: 'every', everyMs: 3_600_000 },
    payload,
  });
  await ask('POST', `/v1/crons/${id}/run`);
  await look(`/v1/crons/${id}/fires`, ({ items }) => items[0]?.status === 'failed');
}

/** A worker was lost while it ran a refund. */
async function refundTwice({ rig, names }: Scene): Promise<void> {
  const call = {
    turnId: names['turn']!,
    step: 1,
    ordinal: 9,
    callId: 'twice',
    name: 'refund',
    epoch: 1,
    isIdempotent: false,
  };
  await addToolCalls(rig, { ...call, status: 'unknown', intentAt: now, endedAt: now, unknownAt: now });
}

const page = readPage('docs/how-to/answer-questions.md');
const questions = tableRows(page, ['question', 'command', 'in the dashboard']);

/** What the answer says of the objects of the scene, by the beginning of the question. */
const ANSWERS: Readonly<Record<string, RegExp>> = {
  'What needs a person': /dead letter/,
  'Which cron failed': /failed.*night-report.*no such table/,
  'What did a cron do': /completed/,
  'What did an agent cost': /cost +\$\d.* in the last 7 days/,
  'What did each model cost': /anthropic\/claude-sonnet-5-5 .*\$0\.\d{4}/,
  'Is a budget': /agent:main +day.*\$100\.0000/,
  'Which refund': /refund/,
  'Why does this conversation': /\(paused\).*a test/,
  'What waits': /paused/,
  'What was said': /Seen it\./,
  'What did a turn do': /session_status/,
  'What exactly was sent': /session_status/,
  'What failed most': /model_invalid_request/,
  'Why did this one fail': /has failed, since .*model_invalid_request.*no/,
  'Which replies': /failed/,
  'How far is a batch': /failed/,
  'Which processes': /api,worker,scheduler/,
  'Is the installation': /ok +database_version|ok +data-dir/,
  'Which answers': /helpful +1 +0/,
  'Where was something': /Seen it\./,
};

test('the page has twenty questions, each with an answer that is known', () => {
  expect(questions).toHaveLength(20);
  const unknown = questions.filter(([question = '']) => answerOf(question) === undefined);
  expect(unknown).toEqual([]);
});

function answerOf(question: string): RegExp | undefined {
  return Object.entries(ANSWERS).find(([beginning]) => question.startsWith(beginning))?.[1];
}

test.each(questions)('%s', async (question = '', command = '') => {
  const { names, env } = holder.scene;
  const values: Readonly<Record<string, string | undefined>> = {
    cron: names['cronName'],
    agent: 'main',
    session: question.startsWith('Why') ? 'waits' : names['session'],
    turn: names['turn'],
    'failed turn': names['failedTurn'],
    batch: names['batch'],
  };
  const words = command.slice(1, -1).match(/"[^"]+"|<[^>]+>|\S+/g) ?? [];
  const args = words.slice(1).map((word) => values[word.slice(1, -1)] ?? word.replaceAll('"', ''));
  const { code, stdout, stderr } = await runCommand({ args, env });
  // The scene has faults, so the doctor ends with 1.
  expect({ code, text: stdout + stderr }).toEqual({
    code: command.includes('doctor') ? 1 : 0,
    text: expect.stringMatching(answerOf(question)!),
  });
});
