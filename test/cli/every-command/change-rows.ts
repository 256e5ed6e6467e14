// Commands that change something: each run has its own object.
import type { CommandRow } from './command-row.ts';
import type { Names, Scene } from './scene.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;

export const CHANGE_ROWS: readonly CommandRow[] = [
  {
    line: 'sessions abort {session}',
    make: (scene) => scene.running('aborted'),
    shows: ['stopped turn {turn}; 0 cancelled'],
    json: { aborted: '{turn}', cancelled: 0 },
  },
  {
    line: 'sessions reset {session}',
    make: (scene) => scene.talked('reset'),
    shows: ['transcript 2 begins; transcript 1 is kept'],
    json: { transcriptNo: 2, previousTranscriptNo: 1 },
  },
  {
    line: 'sessions fork {session} {copy}',
    make: async (scene) => ({ ...(await scene.talked('forked')), copy: scene.fresh('copy') }),
    shows: ['agent:main:{copy}'],
    notes: ['a copy with 2 entries'],
    json: { session: { key: 'agent:main:{copy}' }, entries: 2 },
  },
  {
    line: 'sessions delete {session} --yes',
    make: (scene) => scene.talked('erased'),
    shows: ['agent:main:{session}: removed', '  1 of turns'],
    json: { key: 'agent:main:{session}', removed: { turns: 1 } },
  },
  {
    line: 'subjects delete {person} --yes',
    make: async (scene) => {
      const [session, person] = [scene.fresh('private'), scene.fresh('ada')];
      await scene.say(session, 'hello', { sender: { id: person } });
      return { session, person };
    },
    shows: ['agent:main:{session}: removed'],
    json: { sessions: [{ key: 'agent:main:{session}' }], shared: [] },
  },
  {
    line: 'turns abort {turn}',
    make: (scene) => scene.running('stopped'),
    shows: ['{turn} is being stopped'],
    json: { aborted: true },
  },
  {
    line: 'turns retry {turn}',
    make: (scene) => scene.failed('retried'),
    shows: ['the messages of {turn} wait again'],
    json: { messageIds: [UUID] },
  },
  {
    line: 'turns retry {turn} --text shorter',
    make: (scene) => scene.failed('changed'),
    shows: [/^\S+ waits in place of {turn}$/m],
    json: { retried: '{turn}', messageIds: [UUID] },
  },
  {
    line: 'deliveries redrive {delivery}',
    make: (scene) => scene.undelivered('redriven'),
    shows: ['{delivery} is sent again'],
    json: { id: '{delivery}' },
  },
  {
    line: 'deliveries send {delivery}',
    make: (scene) => scene.retried('sent-now'),
    shows: ['{delivery} is sent now'],
    json: { id: '{delivery}' },
  },
  {
    line: 'deliveries discard {delivery}',
    make: (scene) => scene.undelivered('discarded'),
    shows: ['{delivery} is discarded'],
    json: { id: '{delivery}' },
  },
  {
    line: 'batch pause {batch}',
    make: (scene) => scene.batch('paused'),
    shows: ['{batch}  paused  0/1'],
    json: { id: '{batch}', status: 'paused', pauseReason: 'manual' },
  },
  {
    line: 'batch resume {batch}',
    make: async (scene) => {
      const made = await scene.batch('resumed');
      await scene.ask('POST', `/v1/batches/${made.batch}/pause`);
      return made;
    },
    shows: ['{batch}  running  0/1'],
    json: { id: '{batch}', status: 'running' },
  },
  {
    line: 'batch cancel {batch} --running stop --yes',
    make: (scene) => scene.batch('cancelled'),
    shows: [/{batch} {2}(?:cancelling {2}[01]\/1|cancelled {2}1\/1)/],
    json: { id: '{batch}', status: /cancelling|ended/ },
  },
  {
    line: 'batch retry-failed {batch} --yes',
    make: (scene) => scene.endedBatch('again'),
    shows: ['{batch}  running  1/2'],
    json: { id: '{batch}', status: 'running', outcome: null },
  },
  {
    line: 'cron add --name {name} --every 1h --message x',
    make: (scene) => Promise.resolve({ name: scene.fresh('added') }),
    shows: [UUID],
    notes: ['next: '],
    json: { id: UUID, name: '{name}', schedule: { everyMs: 3_600_000 } },
    isCommon: true,
  },
  {
    line: 'cron edit {cron} --name {other}',
    make: async (scene) => ({ ...(await scene.cron('before')), other: scene.fresh('after') }),
    shows: ['{cron}: next '],
    json: { id: '{cron}', name: '{other}' },
  },
  {
    line: 'cron rm {name}',
    make: (scene) => scene.cron('deleted'),
    shows: ['{cron} is deleted'],
    json: { deleted: true },
  },
  {
    line: 'cron pause {name}',
    make: (scene) => scene.cron('halted'),
    shows: ['{cron}: paused'],
    json: { id: '{cron}', enabled: false },
  },
  {
    line: 'cron resume {name}',
    make: async (scene) => {
      const made = await scene.cron('enabled');
      await scene.ask('PATCH', `/v1/crons/${made.cron}`, { enabled: false });
      return made;
    },
    shows: ['{cron}: next '],
    json: { id: '{cron}', enabled: true },
  },
  {
    line: 'cron run {name}',
    make: (scene) => scene.cron('now'),
    shows: [/{cron} runs as message /, UUID],
    json: { messageId: UUID },
  },
  {
    line: 'subagents kill {run}',
    make: (scene) => scene.subagent('killed'),
    shows: ['1 stopped'],
    json: { killed: 1 },
  },
  {
    line: 'subagents steer {run} hurry',
    make: (scene) => scene.subagent('steered'),
    shows: ['joins'],
    json: { how: 'joins', runId: '{run}' },
  },
  {
    line: 'dead redrive {letter} --yes',
    make: (scene) => scene.failed('again'),
    shows: ['1 redriven, 0 skipped, 0 remaining'],
    json: { redriven: 1, letters: [{ id: '{letter}' }] },
  },
  {
    line: 'dead discard {letter} --yes',
    make: (scene) => scene.failed('given-up'),
    shows: ['1 discarded'],
    json: { discarded: 1 },
  },
  {
    line: 'bulk run retry turns --ids {turn} --yes',
    make: (scene) => scene.failed('many'),
    shows: ['100 %: 1 done, 0 skipped, 0 failed of 1'],
    json: { action: 'retry', total: 1, done: 1 },
  },
  {
    line: 'bulk cancel {bulk}',
    make: (scene) => scene.bulk(),
    shows: [/^(?:cancelled|cancelling): \d+ %: 0 done, \d+ skipped, 0 failed of 500/m],
    json: { id: '{bulk}', status: /cancel/ },
  },
  {
    line: 'budgets add session:{name} day 1',
    make: (scene) => Promise.resolve({ name: scene.fresh('cheap') }),
    shows: [UUID],
    json: { id: UUID, scope: 'session:{name}', limitUsd: 1 },
  },
  {
    line: 'budgets rm {budget}',
    make: async (scene) => {
      const { id } = await scene.ask('POST', '/v1/budgets', { scope: 'agent:main', per: 'total', limitUsd: 1_000 });
      return { budget: id };
    },
    shows: ['the budget {budget} is removed'],
    notes: ['turns that waited for it resume'],
    json: { deleted: true },
  },
  {
    line: 'scores set {turn} helpful -0.5 --note slow',
    make: (scene) => scene.talked('judged'),
    shows: ['admin about the turn {turn}: helpful -0.5, slow'],
    json: { turnId: '{turn}', score: 'helpful', value: -0.5, note: 'slow' },
  },
  {
    line: 'scores remove {score}',
    make: async (scene) => {
      const { turn } = await scene.talked('judged-once');
      const { id } = await scene.ask('POST', `/v1/turns/${turn}/scores`, { score: 'thumb', value: true });
      return { score: id };
    },
    shows: ['the score {score} is removed'],
    json: { id: '{score}' },
  },
  {
    line: 'open /turns --print',
    shows: ['{url}/turns#code='],
    notes: ['within a minute'],
    json: { url: /\/turns#code=/, expiresAt: /Z$/ },
  },
  {
    line: 'keys create {name} --role operator',
    make: (scene) => Promise.resolve({ name: scene.fresh('key') }),
    shows: [/^hf_\S+\s*$/m],
    notes: ['the key {name} has the role operator'],
    json: { name: '{name}', role: 'operator', key: /^hf_/ },
    isCommon: true,
  },
  {
    line: 'keys create {name} --agents main --sessions agent:main:shop:*',
    make: (scene) => Promise.resolve({ name: scene.fresh('key') }),
    shows: [/^hf_\S+\s*$/m],
    notes: ['it sees agent:main:shop:*, of agents main'],
    json: { name: '{name}', role: 'viewer', agents: ['main'], sessions: ['agent:main:shop:*'] },
  },
  {
    line: 'keys create {name} --requests-per-minute 600 --messages-in-flight 20',
    make: (scene) => Promise.resolve({ name: scene.fresh('key') }),
    shows: [/^hf_\S+\s*$/m],
    notes: ['its limits: 600/min, 20 in flight'],
    json: { name: '{name}', limits: { requestsPerMinute: 600, messagesInFlight: 20 } },
  },
  {
    line: 'keys create {name} --replaces {old}',
    make: async (scene) => {
      const old = scene.fresh('replaced');
      const made = await scene.ask('POST', '/v1/keys', { name: old, role: 'viewer' });
      return { name: scene.fresh('key'), old, id: String(made['id']) };
    },
    shows: [/^hf_\S+\s*$/m],
    notes: ['it continues the conversations of the key {old}'],
    json: { name: '{name}', role: 'viewer', replaces: '{id}' },
  },
  {
    line: 'keys revoke {name}',
    make: async (scene) => {
      const name = scene.fresh('revoked');
      await scene.ask('POST', '/v1/keys', { name, role: 'viewer' });
      return { name };
    },
    shows: ['the key {name} is revoked'],
    notes: ['browsers that signed in with it are signed out, and its tokens end'],
    json: { name: '{name}', revokedAt: /Z$/ },
  },
  {
    line: 'attention acknowledge {problem} --reason known',
    make: problem('model_unpriced'),
    shows: [/acknowledged: .+/],
    json: { id: '{problem}', state: 'acknowledged', mark: { reason: 'known' } },
  },
  {
    line: 'attention snooze {problem} --for 30m',
    make: problem('dead_letters'),
    shows: [/snoozed until .+: .+/],
    json: { id: '{problem}', state: 'snoozed' },
  },
  {
    line: 'workers drain {own}',
    make: drainable,
    shows: ['{own} is asked to drain'],
    json: { id: '{own}', state: 'draining' },
  },
  {
    line: 'models unblock {model} --reason why',
    make: blockedModel,
    shows: ['{model} is called again'],
    json: { lifted: [{ model: '{model}' }] },
  },
  {
    line: 'models blocks',
    make: blockedModel,
    shows: ['{model}', /overloaded/i],
    json: { items: [{ model: '{model}' }] },
  },
  {
    line: 'pause --session {own} --reason why',
    make: (scene) => Promise.resolve({ own: scene.fresh('held') }),
    shows: ['session agent:main:{own} is paused'],
    json: { session: 'agent:main:{own}', reason: 'why' },
  },
  {
    line: 'resume --session {own}',
    make: async (scene) => {
      const own = scene.fresh('freed');
      await scene.ask('POST', '/v1/pause', { session: own });
      return { own };
    },
    shows: ['session agent:main:{own} is resumed'],
    json: { ended: [{ session: 'agent:main:{own}' }] },
  },
  {
    line: 'config reload',
    shows: [/limits\.eventStreams +1000 +77 +after a restart/],
    json: { items: [{ path: 'limits.eventStreams', needsRestart: true }] },
  },
];

/**
 * A problem of the scene. Each row decides about one of its own, because rows run at the same time.
 */
function problem(kind: string) {
  return (scene: Scene): Promise<Names> =>
    scene.look('/v1/attention', ({ items }: { items: { id: string; kind: string }[] }) => {
      const found = items.find((item) => item.kind === kind);
      return found === undefined ? null : { problem: found.id };
    });
}

/** A process that the rest of the service can do without. */
async function drainable(scene: Scene): Promise<Names> {
  const { child } = await scene.rig.start('scheduler');
  const own = await scene.look(
    '/v1/workers',
    ({ items }: { items: { id: string; pid: number }[] }) => items.find(({ pid }) => pid === child.pid)?.id ?? null,
  );
  return { own };
}

/** A model whose provider has asked for no calls. */
async function blockedModel(scene: Scene): Promise<Names> {
  const model = `anthropic/${scene.fresh('blocked')}`;
  await scene.send(scene.fresh('waits-for-model'), '[[error: 529 retry-after=600]] [[reply: here]]', { model });
  await scene.look('/v1/model-blocks', ({ items }: { items: { model: string }[] }) =>
    items.some((block) => block.model === model),
  );
  return { model };
}
