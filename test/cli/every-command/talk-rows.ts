// Commands that send work to agents, or follow what happens.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandRow } from './command-row.ts';
import type { Names, Scene } from './scene.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;
const TURN_ENDED = 8;
const INTERRUPTED = 130;

export const TALK_ROWS: readonly CommandRow[] = [
  {
    line: 'send {own} hello --wait',
    make: own('sent'),
    shows: ['You said: hello'],
    json: { reply: 'You said: hello', message: { status: 'answered' } },
    isCommon: true,
  },
  {
    line: 'send {own} hello --stream',
    make: own('streamed'),
    shows: ['You said: hello'],
    json: [{ type: 'model.delta' }, { type: 'result', reply: 'You said: hello' }],
    isLines: true,
  },
  {
    line: 'chat {own}',
    make: own('chatted'),
    shows: ['You said: hello'],
    json: [{ type: 'model.delta' }, { type: 'result', message: { reply: 'You said: hello' } }],
    isLines: true,
    isDrawing: true,
    during: async ({ type, until, end }) => {
      type('hello\n');
      await until(/You said: hello/);
      end();
    },
    isCommon: true,
  },
  {
    line: 'events --session {own} --types message.accepted',
    make: own('watched'),
    shows: [/^\S+Z {2}message\.accepted +agent:main:{own} +\{"messageId":"/m],
    json: [{ type: 'message.accepted', sessionKey: 'agent:main:{own}' }],
    isLines: true,
    exitCode: INTERRUPTED,
    // Only events that come after it has connected are printed, and with --json it does not say
    // when that is.
    during: async ({ output, interrupt }, { own: session = '' }, scene) => {
      while (!output().includes('message.accepted')) await scene.say(session, '/status');
      interrupt();
    },
  },
  {
    line: 'turns watch {turn}',
    make: (scene) => scene.running('followed'),
    shows: ['aborted'],
    json: [
      { type: 'turn.started', turnId: '{turn}' },
      { type: 'turn.ended', data: { status: 'aborted' } },
    ],
    isLines: true,
    isDrawing: true,
    exitCode: TURN_ENDED,
    during: async ({ until }, { turn = '' }, scene) => {
      await until(/\S/);
      await scene.ask('POST', `/v1/turns/${turn}/abort`);
    },
  },
  {
    line: 'spawn {own} hello --wait',
    make: own('spawner'),
    shows: [/You said: .*hello/],
    json: { status: 'ok', result: /You said: .*hello/ },
  },
  {
    line: 'try {turn} --text hello',
    shows: [/You said: .*hello/],
    notes: ['tried in agent:main:try:', 'its steps: holdfast turns show'],
    json: { status: 'answered', reply: /You said: .*hello/, tags: { try: '{turn}' } },
  },
  {
    line: 'batch submit {file} --via live --wait',
    make: async (scene) => {
      const file = join(scene.rig.dataDir, `${scene.fresh('items')}.jsonl`);
      await writeFile(file, '{"text":"one"}\n{"text":"two"}\n');
      return { file };
    },
    shows: ['100%  2/2'],
    notes: ['submitted 2 items: ', 'ended: completed', 'holdfast batch results'],
    json: [{ status: 'ended', outcome: 'completed', counts: { answered: 2 } }],
    isLines: true,
    isDrawing: true,
    isCommon: true,
  },
  {
    line: 'batch watch {batch}',
    shows: ['100%  2/2  1 failed'],
    notes: ['ended: partly', 'model_invalid_request  1×', 'holdfast batch results {batch}'],
    json: [{ id: '{batch}', outcome: 'partly' }],
    isLines: true,
    isDrawing: true,
    exitCode: 9,
  },
  {
    line: 'sessions compact {session}',
    make: (scene) => scene.talked('compacted'),
    shows: [UUID],
    json: { message: { id: UUID, sessionKey: 'agent:main:{session}' } },
  },
  {
    line: 'heartbeats poll main',
    make: async (scene) => {
      await scene.look('/v1/sessions/main', ({ status }) => status === 'idle');
      return {};
    },
    shows: [/^main is polled with message /m, UUID],
    json: { messageId: UUID },
  },
];

/** A session that only one run uses. */
function own(name: string): (scene: Scene) => Promise<Names> {
  return (scene) => Promise.resolve({ own: scene.fresh(name) });
}
