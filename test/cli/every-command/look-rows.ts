// Commands that read: what they show of the objects of the scene.
import type { CommandRow } from './command-row.ts';

const SHA = /this body has the hash of what was sent/;

export const LOOK_ROWS: readonly CommandRow[] = [
  {
    line: 'sessions list',
    shows: ['agent:main:seen', 'agent:main:waits'],
    json: { items: [{ key: 'agent:main:seen' }], nextCursor: null },
    isCommon: true,
  },
  {
    line: 'sessions show {session}',
    shows: [/session +agent:main:seen/, /status +idle/],
    json: { key: 'agent:main:seen', status: 'idle' },
  },
  {
    line: 'sessions transcript {session}',
    shows: ['Person · prompt', '→ session_status', 'Seen it.'],
    json: { items: [{ kind: 'answer', content: [{ type: 'text', text: 'Seen it.' }] }] },
  },
  {
    line: 'sessions export {session}',
    shows: ['"Seen it."', /\{"type":"end","lines":\d+\}/],
    json: [{ type: 'session', key: 'agent:main:seen' }, { type: 'end' }],
    isLines: true,
  },
  {
    line: 'messages list --limit 200',
    shows: ['{message}', 'answered', '{waiting}', 'paused'],
    json: {
      items: [
        { id: '{message}', status: 'answered' },
        { id: '{waiting}', status: 'waiting' },
      ],
    },
    isCommon: true,
  },
  {
    line: 'messages show {message}',
    shows: [/message +\S+/, '{message}', '{turn}', 'reply: Seen it.'],
    json: { id: '{message}', turnId: '{turn}', reply: 'Seen it.' },
  },
  {
    // A round of the scheduler adds words a second later.
    line: 'search nothing-has-these-words',
    shows: ['WORDS'],
    notes: ['Nothing that was said has these words.'],
    json: { items: [], nextCursor: null },
  },
  {
    line: 'turns list --limit 200',
    shows: ['{turn}', 'completed', '{failedTurn}', 'failed'],
    json: {
      items: [
        { id: '{turn}', status: 'completed' },
        { id: '{failedTurn}', status: 'failed' },
      ],
    },
    isCommon: true,
  },
  {
    line: 'turns show {turn}',
    shows: ['{turn}', /tool session_status +done/, 'Seen it.'],
    json: { id: '{turn}', reply: 'Seen it.', steps: [{ tools: [{ name: 'session_status' }] }] },
    isCommon: true,
  },
  {
    line: 'turns request {turn} 1',
    shows: [/^PART +FROM +TRUST +TOKENS/m, /sender +untrusted/],
    notes: [SHA],
    json: { request: { model: /claude/ }, parts: [{ trust: 'untrusted' }], matches: true },
  },
  {
    line: 'deliveries list --limit 200',
    shows: ['{delivery}', 'failed'],
    json: { items: [{ id: '{delivery}', status: 'failed' }] },
    isCommon: true,
  },
  {
    line: 'tool-calls list --tool {tool}',
    make: (scene) => scene.external('ship'),
    shows: ['{call}', '{tool}', '{"order":"42"}'],
    json: { items: [{ id: '{call}', tool: '{tool}', status: 'waiting' }] },
  },
  {
    line: 'deliveries show {delivery}',
    shows: ['{delivery}  failed', /^ {2}last error +\S/m, /^ {2}1 .* failed/m],
    json: { id: '{delivery}', log: [{ attempt: 1, status: 'failed' }] },
  },
  {
    line: 'batch list --limit 200',
    shows: ['{batch}', '{batchName}', 'partly', '2/2'],
    json: { items: [{ id: '{batch}', outcome: 'partly' }] },
  },
  {
    line: 'batch show {batch}',
    shows: ['{batch}', 'ended: partly', '2 total, 1 answered, 1 failed', 'model_invalid_request  1×'],
    json: { id: '{batch}', outcome: 'partly', counts: { answered: 1, failed: 1 } },
  },
  {
    line: 'batch items {batch}',
    shows: [/1 +good +answered .*simulated/, /2 +bad +failed/],
    json: {
      items: [
        { customId: 'good', status: 'answered' },
        { customId: 'bad', status: 'failed' },
      ],
    },
  },
  {
    line: 'batch results {batch}',
    shows: ['"customId":"good"', '"reply":"You said: one"', '"customId":"bad"'],
    json: [
      { n: 1, customId: 'good', reply: 'You said: one' },
      { n: 2, customId: 'bad', status: 'failed' },
    ],
    isLines: true,
  },
  {
    line: 'cron list --limit 200',
    shows: ['{cron}', '{cronName}', 'every 3600 s'],
    json: { items: [{ id: '{cron}', name: '{cronName}' }] },
  },
  {
    line: 'cron next {cronName} --count 2',
    shows: [/^\S.*\n\S.*\n$/],
    json: { items: [{ runAt: /Z$/ }] },
  },
  {
    line: 'cron fires {cron}',
    shows: [/completed +1 +\S+ +asked for/],
    json: { items: [{ status: 'completed', isManual: true }] },
  },
  {
    line: 'heartbeats list',
    shows: [/main +fired/],
    json: { items: [{ agentId: 'main', status: 'fired' }] },
  },
  {
    line: 'subagents list parent',
    shows: ['{run}', 'ok', 'a-task'],
    json: { items: [{ runId: '{run}', status: 'ok', label: 'a-task' }] },
  },
  {
    line: 'dead list',
    shows: [/model_invalid_request +turn/, /delivery/],
    json: { items: [{ code: 'model_invalid_request', kind: 'turn' }, { kind: 'delivery' }] },
    isCommon: true,
  },
  {
    line: 'dead list --code model_invalid_request',
    shows: ['model_invalid_request'],
    json: { items: [{ code: 'model_invalid_request', kind: 'turn' }] },
  },
  {
    line: 'dead show {letter}',
    shows: ['{letter}', 'failing'],
    json: [{ id: '{letter}', turnId: '{failedTurn}' }],
  },
  {
    line: 'bulk list',
    shows: ['{bulk}', 'retry turns', 'completed'],
    json: { items: [{ id: '{bulk}', reason: 'a mistake', skipped: 1 }] },
  },
  {
    line: 'bulk show {bulk}',
    shows: [/action +retry turns/, 'a mistake', '{turn}  skipped: '],
    json: { id: '{bulk}', left: [{ id: '{turn}', status: 'skipped' }] },
  },
  {
    line: 'usage --group model',
    shows: ['anthropic/claude-sonnet-5-5', /\$0\.\d{4}\b/],
    notes: ['together $', 'no money was spent'],
    json: { items: [{ group: 'anthropic/claude-sonnet-5-5' }], simulated: true },
  },
  {
    line: 'models list --provider openai',
    shows: [/openai\/gpt-5.5 +\d+ +\d+ +text, image/],
    json: { items: [{ model: 'openai/gpt-5.5', source: /pi-ai/, usedBy: [] }] },
  },
  {
    line: 'models show anthropic/claude-sonnet-5-5',
    shows: [/window +1000000 tokens/, /price +\$2 in, \$10 out, per million tokens/, 'agent "main"'],
    json: { model: 'anthropic/claude-sonnet-5-5', contextTokens: 1_000_000, inputPerMTok: 2 },
  },
  {
    line: 'providers list',
    shows: [/anthropic +default +ok/],
    json: { items: [{ name: 'anthropic', api: 'anthropic', keys: [{ name: 'default', state: 'ok' }] }] },
  },
  {
    line: 'bindings list',
    shows: [/0 +main +channel telegram, chatId -100123/],
    notes: ['all other chats: agent main'],
    json: { defaultAgent: 'main', items: [{ index: 0, agent: 'main', match: { chatId: '-100123' } }] },
  },
  {
    line: 'bindings explain telegram --chat -100123 --thread 7',
    shows: ['agent main, by bindings[0] (agent main: channel telegram, chatId -100123)'],
    json: { agent: 'main', binding: { index: 0 }, candidates: [{ index: 0 }] },
  },
  {
    line: 'models probe anthropic/claude-sonnet-5-5',
    shows: ['anthropic/claude-sonnet-5-5 answers.'],
    json: { model: 'anthropic/claude-sonnet-5-5', code: 'ok', text: 'anthropic/claude-sonnet-5-5 answers.' },
  },
  {
    line: 'prices list',
    shows: ['anthropic/claude-sonnet-5-5'],
    notes: [/^version [0-9a-f]{12}$/m],
    json: { version: /^[0-9a-f]{12}$/, rows: [{ model: 'anthropic/claude-sonnet-5-5' }] },
  },
  {
    line: 'prices check',
    shows: ['anthropic/scripted-1: 1 calls without a price in 30 days'],
    json: { unpriced: [{ model: 'anthropic/scripted-1', calls: 1 }] },
    exitCode: 1,
  },
  {
    line: 'budgets list',
    shows: [/agent:main +day/, '$100.0000', '{budget}'],
    json: { items: [{ id: '{budget}', limitUsd: 100 }] },
  },
  {
    line: 'scores list --turn {turn}',
    shows: [/helpful +true +Well done\. +admin/, '{turn}'],
    json: { items: [{ turnId: '{turn}', score: 'helpful', value: true }] },
  },
  {
    line: 'scores counts --session {session}',
    shows: [/SCORE +GOOD +BAD +SCORES +AVERAGE/, /helpful +1 +0 +1/],
    json: { items: [{ name: 'helpful', good: 1 }], isCapped: false },
  },
  {
    line: 'keys list',
    shows: [/night-shift +viewer +valid/],
    json: { items: [{ name: 'night-shift', role: 'viewer' }] },
  },
  {
    line: 'waiting',
    shows: ['{waiting}', 'paused'],
    notes: [/^waiting: \d+/m],
    json: { items: [{ id: '{waiting}', why: { code: 'paused' } }] },
  },
  {
    line: 'why waits',
    shows: [/session agent:main:waits has waited since .*\(paused\).*a test/],
    json: { kind: 'session', id: 'agent:main:waits', why: { code: 'paused' } },
    isCommon: true,
  },
  {
    line: 'agents list',
    shows: ['AGENT', /main +active/, 'COST'],
    notes: ['the scripted model'],
    json: { items: [{ id: 'main', paused: null }] },
    isCommon: true,
  },
  {
    line: 'agents show main',
    shows: [/agent +main/, /cost +\$\d.* in the last 7 days/, 'By day', 'Last failures'],
    notes: ['the scripted model'],
    json: { id: 'main', channels: { isDefault: true } },
  },
  {
    line: 'workers list',
    shows: ['{worker}', 'api,worker,scheduler'],
    json: { items: [{ id: '{worker}', roles: ['worker'] }] },
    isCommon: true,
  },
  {
    line: 'pauses',
    shows: [/session agent:main:waits .*a test/],
    json: { items: [{ session: 'agent:main:waits', reason: 'a test' }] },
  },
  {
    line: 'attention list',
    shows: [/warning +open .*paused/i],
    json: { items: [{ kind: 'paused', severity: 'warning', state: 'open' }] },
  },
  {
    line: 'config diff',
    shows: [/limits\.eventStreams +1000 +77 +after a restart/],
    json: { items: [{ path: 'limits.eventStreams', value: 1000, next: 77, needsRestart: true }] },
  },
];
