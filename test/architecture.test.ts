// Holds the import table of docs/decisions/0002-rooms-and-imports.md: who may import whom, and
// which rooms know which packages. To change it, change the decision with it. It also lists who
// writes each table, and where inputs are inserted.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');

/** Files that every room except the core may import. */
const BASE = [
  'src/config.ts',
  'src/config/',
  'src/logger.ts',
  'src/metrics.ts',
  'src/files/',
  'src/clock.ts',
  'src/gate.ts',
  'src/ids.ts',
  'src/lease-keeper.ts',
  'src/trace-ids.ts',
  'src/tracing.ts',
  'src/work-off.ts',
  'src/coalesce.ts',
  'src/network/',
];

/** Files of pure decisions, wherever they stand: rooms of them, and what is named rules. */
const PURE_ROOMS = ['src/core/', 'src/prompt/', 'src/history/', 'src/compaction/', 'src/model/stream/'];
const isPure = (file: string): boolean =>
  PURE_ROOMS.some((room) => file.startsWith(room)) || /\/rules(?:\/|\.ts$)/.test(file);

/**
 * The parts of other rooms that stand in the folder of a feature, so that a feature is one folder;
 * each has the rights of its room.
 */
const PART_ROOMS: Record<string, string> = {
  'config.ts': 'src/config/',
  'contract.ts': 'src/contract/',
  'rows.ts': 'src/rows/',
};

/**
 * The place of a file in its room: of a part of a feature, its place in the room that it is part
 * of.
 */
function placeOf(file: string): string {
  const [, feature = '', part = ''] = /^src\/features\/([^/]+)\/([^/]+)$/.exec(file) ?? [];
  const room = PART_ROOMS[part];
  return room === undefined ? file : `${room}${feature}/${part}`;
}

/** Files that read what the API shows. */
const isView = (file: string): boolean => /^src\/(?:kernel|features\/[^/]+)\/views(?:\/|\.ts$)/.test(file);
const isStore = (file: string): boolean =>
  /^src\/(?:database\/|kernel\/(?:inbox|sessions|effects|queue|processes|events|turn\/journal)\/|features\/[^/]+\/store\/)/.test(
    file,
  );
const isFrontDoor = (file: string): boolean =>
  /^src\/(?:api\/|features\/[^/]+\/(?:routes\/|[\w-]*routes\.ts))/.test(file);

/**
 * What the files of a room may import beside their own room and pure files; the longest matching
 * room counts.
 */
const MAY_IMPORT: Record<string, string[]> = {
  'src/config': BASE,
  'src/logger.ts': BASE,
  'src/metrics.ts': [],
  'src/clock.ts': [],
  'src/files/': BASE,
  'src/gate.ts': [],
  'src/ids.ts': [],
  'src/lease-keeper.ts': BASE,
  'src/trace-ids.ts': [],
  'src/tracing.ts': [],
  'src/work-off.ts': ['src/clock.ts'],
  'src/coalesce.ts': ['src/clock.ts'],
  'src/network/': [],
  'src/client/': [],
  'src/embedded-postgres/': BASE,
  'src/rows/': BASE,
  'src/database/': ['src/rows/', ...BASE],
  'src/model/': BASE,
  'src/tools/': ['src/images/', ...BASE],
  'src/plugins/': ['src/model/', 'src/tools/', ...BASE],
  'src/images/': BASE,
  'src/kernel/': [
    'src/database/',
    'src/rows/',
    'src/model/',
    'src/tools/',
    'src/plugins/',
    'src/images/',
    'jobs/',
    ...BASE,
  ],
  'src/features/': [
    'src/kernel/',
    'src/database/',
    'src/rows/',
    'src/model/',
    'src/tools/',
    'src/images/',
    'src/contract/',
    'src/api/',
    'src/cli/',
    'src/embedded-postgres/',
    ...BASE,
  ],
  'src/contract/': BASE,
  'src/api/': ['src/database/', 'src/kernel/', 'src/contract/', ...BASE],
  'jobs/': ['src/kernel/queue/', ...BASE],
  'workers/': [
    'src/database/',
    'src/kernel/',
    'src/features.ts',
    'src/model/',
    'src/tools/',
    'src/plugins/',
    'src/images/',
    'jobs/',
    ...BASE,
  ],
  // A model provider of its own: it knows Holdfast's list of models and the mark of its own
  // answers, and no other code of it.
  'scripted-model/': [],
  // Chat platforms of their own: they know nothing of Holdfast.
  'scripted-platform/': [],
  // Holdfast's own command line, played as a user would; its database is cleaned up with the code
  // that started it.
  'demo/': ['src/cli/', 'src/client/', 'src/embedded-postgres/', ...BASE],
  // Entry points build the context of a process, so they see all rooms, and they alone see the demo
  // and what is scripted.
  'src/features.ts': ['src/kernel/features.ts', 'src/features/'],
  'workers/load-modules.ts': [''],
  'workers/own-servers.ts': [''],
  'workers/start-service.ts': [''],
  'src/cli/': [''],
};

/**
 * The features whose code a feature uses beside its own and the kernel's. It does that also where
 * their lines in src/features.ts are missing.
 */
const FEATURES_MAY_IMPORT: Record<string, string[]> = {
  agents: ['budgets', 'channels', 'costs', 'crons', 'mcp'],
  alerts: ['deliveries', 'overview'],
  batches: ['budgets', 'provider-batches'],
  'bulk-actions': ['dead-letters', 'deliveries'],
  crons: ['budgets', 'deliveries'],
  // A reaction to an answer is a score.
  channels: ['scores'],
  deliveries: ['channels'],
  'dead-letters': ['bulk-actions', 'deliveries'],
  erasure: ['budgets', 'costs', 'retention'],
  // A run is a turn like a try, and batches carry the runs.
  evaluations: ['batches', 'tries'],
  gateway: ['overview'],
  heartbeats: ['budgets'],
  openai: ['batches'],
  overview: ['budgets', 'costs', 'deliveries', 'retention'],
  'provider-batches': ['batches'],
  search: ['memory'],
  tries: ['erasure'],
};

/**
 * Files and folders that describe types; `import type` of them is allowed in these rooms, in
 * addition to the table.
 */
const TYPE_FILES: Record<string, string[]> = {
  // What each thing is: what reads it from the database returns just that, and what shows it takes
  // it.
  'src/contract/': ['src/kernel/', 'workers/', 'src/cli/', 'demo/'],
};

/**
 * Single files that may be imported as types in addition: what a feature adds to the API or the
 * command line is a row of it.
 */
const DOOR_TYPES = ['src/api/part.ts', 'src/api/route.ts', 'src/cli/command.ts'].map(
  (to) => `src/kernel/features.ts -> ${to}`,
);

/**
 * Features whose words the kernel uses: its rows, entries and inputs have them, or they mean other
 * things, too.
 */
const WORDS_OF_KERNEL = [
  'agents',
  'alerts',
  'approvals',
  'batches',
  'budgets',
  'bulk-actions',
  'channels',
  'costs',
  'crons',
  'dead-letters',
  'deliveries',
  'external-tools',
  'gateway',
  'heartbeats',
  'keys',
  'limits',
  'memory',
  'provider-batches',
  'retention',
  'sandbox',
  'scores',
  'subagents',
  'tokens',
  'traces',
];

/**
 * Folders that import each other in one direction: each may import those before it. The empty name:
 * the files of the folder itself.
 */
const ORDERED_FOLDERS: Record<string, string[]> = {
  'src/kernel/': [
    'rules',
    'events',
    'queue',
    'sessions',
    'inbox',
    'effects',
    'turn',
    'views',
    'processes',
    'use-cases',
    '',
  ],
  'src/kernel/turn/': ['journal', '', 'gate', 'open', 'compact', 'loop', 'end', 'run'],
};

/**
 * Files whose functions return what follows from a write: those that send statements, and the parts
 * of a turn.
 */
const WRITING_ROOMS = [
  /^src\/(?:kernel\/(?:inbox|sessions|effects|queue|processes|turn\/journal)|features\/[^/]+\/store)\//,
  /^src\/kernel\/turn\/(?!journal\/)/,
];

/**
 * What the API reads from the store beside the views; the answer of a keyed request is stored with
 * its key.
 */
const API_READS: Record<string, string[]> = {
  'src/database/database-time.ts': ['readDatabaseTime'],
  'src/database/idempotency.ts': ['isKeyTaken', 'keepAnswer', 'readKey'],
  'src/database/passing-faults.ts': ['isPassingFault', 'listCauses'],
};

/**
 * Packages that only some rooms may import; all others may be imported anywhere outside the core.
 */
const PACKAGE_ROOMS: Record<string, string[]> = {
  // Loaded only where a server is used: these files are imported only by `import()`, or for their
  // types.
  '@modelcontextprotocol/client': [
    'src/features/mcp/http-transport.ts',
    'src/features/mcp/log-in.ts',
    'src/features/mcp/oauth.ts',
    'src/features/mcp/message-reader.ts',
    'src/features/mcp/open-client.ts',
    'src/features/mcp/session-errors.ts',
    'src/features/mcp/stdio-transport.ts',
    'src/features/mcp/task-requests.ts',
  ],
  '@modelcontextprotocol/server': ['src/features/mcp-server/answer-mcp.ts', 'src/features/mcp-server/call-tool.ts'],
  '@ai-sdk/google': ['src/model/ai-sdk/'],
  '@ai-sdk/openai': ['src/model/ai-sdk/'],
  '@ai-sdk/openai-compatible': ['src/model/ai-sdk/'],
  '@ai-sdk/provider': ['src/model/ai-sdk/'],
  '@ai-sdk/xai': ['src/model/ai-sdk/'],
  '@anthropic-ai/sdk': ['src/model/', 'src/tools/', 'src/files/', 'src/features/provider-batches/'],
  '@opentelemetry/api': ['src/features/traces/'],
  '@opentelemetry/exporter-trace-otlp-http': ['src/features/traces/'],
  '@opentelemetry/resources': ['src/features/traces/'],
  '@opentelemetry/sdk-trace': ['src/features/traces/'],
  undici: ['src/model/', 'src/features/provider-batches/'],
  'ipaddr.js': ['src/network/'],
  'string-width': ['src/cli/', 'demo/'],
  bullmq: ['jobs/', 'workers/queue/'],
  ioredis: ['workers/queue/', 'src/cli/doctor/'],
  pg: ['src/database/', 'src/kernel/', 'src/features/', 'src/embedded-postgres/', 'workers/queue/', 'src/cli/doctor/'],
  sharp: ['src/images/'],
  '@mozilla/readability': ['src/tools/'],
  linkedom: ['src/tools/'],
  fastify: ['src/api/', 'src/features/'],
  commander: ['src/cli/', 'src/features/'],
  'drizzle-orm': ['src/rows/', 'src/database/', 'src/kernel/', 'src/features/'],
  standardwebhooks: ['src/features/deliveries/'],
  'node-cron': ['src/features/crons/'],
  yaml: ['src/features/heartbeats/', 'src/kernel/turn/open/'],
};

/**
 * Other cuts: of digests and ids, one that leaves more than is shown, and the output of `initdb`,
 * whose room imports nothing of the core.
 */
const RAW_CUTS = [
  'src/api/cursor.ts: .slice(FINGERPRINT_CHARS)',
  'src/api/cursor.ts: .slice(0, FINGERPRINT_CHARS)',
  'src/api/key-ring.ts: .slice(0, GENERATION_CHARS)',
  'src/config/live-config.ts: .slice(0, VERSION_CHARS)',
  'src/config/secrets.ts: .slice(0, TEXT_CHARS_MAX + formCharsMax)',
  'src/embedded-postgres/initialise-cluster.ts: .slice(-OUTPUT_CHARS_MAX)',
  'src/features/tokens/token-text.ts: .slice(0, -SIGNATURE_CHARS)',
  'src/features/tokens/token-text.ts: .slice(-SIGNATURE_CHARS)',
  'src/history/provider-family.ts: .slice(0, form.charsMax - number.length)',
];

/**
 * The files and rooms that may import `node:fs`, with what they open. What an agent, a message or a
 * workspace names is opened by `src/files/` alone.
 */
const MAY_OPEN_FILES: Record<string, string> = {
  'src/files/': 'what agents, messages and workspaces name',
  'src/cli/': 'what the person at the terminal names, and the files of this program',
  'src/config/': 'the configuration, the files that it names, and accounts of the machine',
  'src/embedded-postgres/': 'the cluster in the data directory',
  'src/database/migrate.ts': 'the migrations of this program',
  'src/api/web-app.ts': 'the dashboard of this program',
  'src/logger.ts': 'the log in the data directory',
  'src/model/observers/jsonl-file.ts': 'a log that the operator has switched on',
  'src/features/backup/commands.ts': 'the backup that the operator names; it lists the data directory',
  'src/features/batches/commands/': 'what the person at the terminal names',
  'src/features/evaluations/commands/': 'what the person at the terminal names',
  'src/features/tries/commands.ts': 'what the person at the terminal names',
  'src/features/channels/accounts.ts': 'tokens that the configuration names',
  'src/features/channels/add-channel.ts': 'the configuration',
  'src/features/channels/message-body.ts': 'new files in the data directory, and the list of them',
  'src/features/channels/platforms/': 'files that are sent',
  'src/features/channels/send.ts': 'copies in the data directory, and a new file in the folder for temporary files',
  'src/features/deliveries/trim-copies.ts': 'lists and deletes copies in the data directory',
  'src/features/erasure/erase-session.ts': 'lists the data directory, deletes outputs of commands there',
  'src/features/gateway/apply-patch.ts': 'the configuration',
  'src/features/mcp/launch-browser.ts': 'a new folder for temporary files',
  'src/features/mcp/server-place.ts': 'facts of programs that the configuration names, and homes of servers',
  'src/kernel/turn/open/agent-facts.ts': 'the documentation, and the shell of the machine',
  'src/kernel/turn/open/session-context.ts': 'whether a folder at or above the workspace has a .git',
  'src/tools/command-user.ts': 'facts of files that the configuration names',
  'src/tools/exec-tool.ts': 'whether a folder is there; it is entered as a place',
  'src/tools/glob-tool.ts': 'facts of an entry of a held folder',
  'src/tools/grep-tool.ts': 'whether a path is a folder',
  'src/tools/outgoing-media.ts': 'copies in the data directory',
  'src/tools/open-workspace.ts': 'the folders of workspaces',
  'src/tools/process-group.ts': '/proc',
  'src/tools/process-log.ts': 'outputs of commands in the data directory',
  'src/tools/sandbox/': 'facts of what the configuration names, and files that commands cannot write',
  'src/tools/start-shell.ts': 'whether the machine has bash',
  'src/tools/walk-files.ts': 'entries of a held folder',
  'demo/': 'the folder of the demo',
  'workers/report-process.ts': 'the version of this program',
};

/**
 * Who writes the rows of each table, as the beginning of a path: all that it has to keep true is
 * read there. The tables of the kernel that several of its folders write belong to the kernel.
 */
const TABLE_OWNERS: Record<string, string> = {
  'src/database/': 'event_ids idempotency_keys migrations',
  'src/kernel/':
    'charged_inputs compactions dead_letters doorbells effects entries held_notices inbox lost_workers model_blocks processes sessions system_events ' +
    'turns',
  'src/kernel/events/': 'events',
  'src/kernel/processes/': 'audit pauses workers',
  'src/kernel/sessions/': 'ended_transcripts turn_attempts',
  'src/kernel/turn/journal/': 'model_calls process_inputs snapshots tool_calls',
  'src/features/alerts/': 'alert_destinations alerts',
  'src/features/approvals/': 'approvals',
  'src/features/batches/': 'batch_items batch_minutes batches',
  'src/features/budgets/': 'budget_windows budgets cost_reservations',
  'src/features/bulk-actions/': 'bulk_action_items bulk_actions',
  'src/features/canvas/': 'canvases',
  'src/features/channels/': 'channel_accounts channel_context channel_previews pairings',
  'src/features/costs/':
    'cache_rates earlier_costs minute_marks minute_samples price_versions repricings roll_up_cursor row_counts usage_buckets',
  'src/features/crons/': 'cron_fires crons',
  'src/features/deliveries/': 'channel_gates deliveries',
  'src/features/evaluations/': 'dataset_items datasets evaluation_runs evaluations',
  'src/features/heartbeats/': 'heartbeat_states heartbeats',
  'src/features/keys/': 'api_keys scopes sign_in_codes web_sessions',
  'src/features/limits/': 'rate_demands rate_windows',
  'src/features/mcp/': 'mcp_logins mcp_servers mcp_tasks mcp_tools',
  'src/features/memory/': 'memory_chunks memory_files',
  'src/features/openai/':
    'client_batches client_file_parts client_files client_requests client_sessions hidden_responses',
  'src/features/overview/': 'attention_marks',
  'src/features/provider-batches/': 'batch_hops provider_batches provider_requests',
  'src/features/retention/': 'retention',
  'src/features/scores/': 'scores turn_scores',
  'src/features/search/': 'search_position search_texts',
  'src/features/subagents/': 'subagent_runs yields',
  'src/features/tokens/': 'token_secrets',
};

/**
 * Folders that write tables of all owners: what is over, or what a person wants erased, is deleted
 * wherever it is.
 */
const WRITE_EVERYWHERE = ['src/features/erasure/', 'src/features/retention/'];

/** What else writes tables of another owner, in a statement or a transaction with its own. */
const ALSO_WRITE: Record<string, string> = {
  // The cap of a batch is a budget; items are inputs, whose costs and results are counted once; a
  // redriven one answers its dead letter.
  'src/features/batches/store/batch-cap.ts': 'budget_windows budgets',
  'src/features/batches/store/control.ts': 'batch_hops charged_inputs dead_letters',
  'src/features/batches/store/feed.ts': 'inbox sessions',
  'src/features/batches/store/settle.ts': 'batch_hops charged_inputs',
  // The OpenAI API's fields of a batch are stored with the batch.
  'src/features/batches/store/upload.ts': 'client_batches',
  // Reports and codes of pairing are numbered and delivered as replies are; the rest of an album
  // joins its message.
  'src/features/alerts/chats.ts': 'deliveries sessions',
  'src/features/batches/store/guard.ts': 'deliveries sessions',
  'src/features/channels/store/inbox.ts': 'inbox',
  'src/features/channels/store/pairings.ts': 'deliveries sessions',
  // New prices change the costs of calls and their sums.
  'src/features/costs/store/reprice.ts': 'model_calls sessions turns',
  // A delivery that fails for good becomes a dead letter, and its agent reads of it.
  'src/features/dead-letters/letters.ts': 'dead_letters deliveries',
  'src/features/deliveries/decide.ts': 'dead_letters',
  'src/features/deliveries/store/due.ts': 'dead_letters',
  'src/features/deliveries/store/settle.ts': 'dead_letters system_events',
  // A new key with a scope: what was stored before it is given the label by which its lists find it.
  'src/features/keys/store/label-rows.ts': 'sessions',
  // The client of the OpenAI API brings entries of its own.
  'src/features/openai/store/client-requests.ts': 'entries sessions',
  // A call is charged to its turn with the request that makes it; its results wake the session.
  'src/features/provider-batches/store/store-request.ts': 'sessions turns',
  'src/features/provider-batches/store/store-results.ts': 'sessions',
  // A run is a session with a parent; its end may find no parent left.
  'src/features/subagents/store/end-runs.ts': 'dead_letters sessions',
  'src/features/subagents/store/spawn.ts': 'sessions',
  // A stop ends what its session waits for.
  'src/kernel/effects/stop-family.ts': 'yields',
  // A message is stored with its key, and a reply with its delivery.
  'src/kernel/inbox/accept-messages.ts': 'idempotency_keys',
  'src/kernel/inbox/commands.ts': 'deliveries',
  'src/kernel/inbox/delayed-messages.ts': 'idempotency_keys',
  'src/kernel/inbox/send-message.ts': 'deliveries',
  'src/kernel/turn/journal/finish-turn.ts': 'deliveries',
};

/**
 * Files that insert inputs, the first for all others (docs/decisions/0125). The rest say in their
 * first line why they do not use it.
 */
const PUT_INPUTS = 'src/kernel/inbox/put-inputs.ts';
const INSERT_INPUTS = [
  'src/features/batches/store/feed.ts',
  'src/kernel/inbox/accept-messages.ts',
  'src/kernel/inbox/delayed-messages.ts',
  PUT_INPUTS,
  'src/kernel/turn/journal/commit-step.ts',
];

interface Import {
  from: string;
  /** The text between the quotes. */
  specifier: string;
  /** The imported file, for relative imports. */
  to: string | null;
  /** True for `import type`, of which nothing is left at run time. */
  isOfTypes: boolean;
}

const files = globSync('{src,jobs,workers,demo,scripted-model,scripted-platform}/**/*.ts', { cwd: ROOT }).toSorted();
const imports = files.flatMap(importsOf);
const serviceFiles = files.filter((file) => /^(?:src|workers|jobs)\//.test(file));

test('every relative import is allowed by the table', () => {
  const forbidden = imports.filter(
    ({ from, to, isOfTypes }) => to !== null && !mayImport(from, to) && !(isOfTypes && mayImportTypes(from, to)),
  );
  expect(forbidden.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
});

test('a feature imports the features that the list names for it, and each of them', () => {
  const used = imports.flatMap(({ from, to }) => {
    const [own = '', other = ''] = [from, to ?? ''].map((file) => /^src\/features\/([^/]+)\//.exec(file)?.[1]);
    return own === '' || other === '' || own === other ? [] : [`${own} -> ${other}`];
  });
  const listed = Object.entries(FEATURES_MAY_IMPORT).flatMap(([own, others]) =>
    others.map((other) => `${own} -> ${other}`),
  );
  expect([...new Set(used)].toSorted()).toEqual(listed.toSorted());
});

test('the kernel and its tools name no feature, but those whose words are theirs', () => {
  const rooms = files.filter((file) => /^src\/(?:kernel|tools|compaction|plugins)\//.test(file));
  const words = new Set(rooms.flatMap(namesIn).map((name) => `-${name}-`));
  const named = globSync('src/features/*/', { cwd: ROOT })
    .map((folder) => basename(folder))
    .filter((name) => [...words].some((word) => word.includes(`-${name}-`) || word.includes(`-${singularOf(name)}-`)));
  expect(named.toSorted()).toEqual(WORDS_OF_KERNEL);
});

test('the folders of the kernel and those of a turn import each other in one direction', () => {
  for (const [room, folders] of Object.entries(ORDERED_FOLDERS)) {
    const folderOf = (file: string): string => file.slice(room.length).split('/').slice(0, -1)[0] ?? '';
    const inRoom = imports.filter(({ from, to }) => from.startsWith(room) && to?.startsWith(room) === true);
    expect(new Set(files.filter((file) => file.startsWith(room)).map(folderOf))).toEqual(new Set(folders));
    const place = (file: string): number => folders.indexOf(folderOf(file));
    const later = inRoom.filter(({ from, to }) => place(to ?? '') > place(from));
    expect(later.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  }
});

test('files of the kernel that import each other have different names', () => {
  const twins = imports.filter(
    ({ from, to }) =>
      from.startsWith('src/kernel/') && to?.startsWith('src/kernel/') === true && basename(from) === basename(to),
  );
  expect(twins.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
});

test('a file of types is imported as types, and imports nothing else', () => {
  const values = imports.filter(
    ({ from, to, isOfTypes }) => !isOfTypes && ((to ?? '') in TYPE_FILES || from in TYPE_FILES),
  );
  expect(values.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([]);
});

test('the api imports nothing of a turn', () => {
  const ofTurns = imports.filter(({ from, to }) => from.startsWith('src/api/') && to?.startsWith('src/kernel/turn/'));
  expect(ofTurns.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
});

test('the command line loads nothing of the api', () => {
  const loaded = imports.filter(({ from, to, isOfTypes }) => {
    return from.startsWith('src/cli/') && to?.startsWith('src/api/') === true && !(isOfTypes && to in TYPE_FILES);
  });
  expect(loaded.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([]);
});

test('the command line calls the api through the typed client alone', () => {
  const callers = files.filter(
    (file) => file.startsWith('src/cli/') && /\bfetch\(|from '(?:undici|node:http)'/.test(codeOf(file)),
  );
  expect(callers).toEqual([]);
});

test('pure files import pure files', () => {
  const foreign = imports.filter(
    ({ from, to, isOfTypes }) => isPure(from) && (to === null || !(isPure(to) || (isOfTypes && isOwnConfig(from, to)))),
  );
  expect(foreign.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([]);
});

test('the typed client imports nothing but itself', () => {
  const foreign = imports.filter(({ from, to }) => from.startsWith('src/client/') && !to?.startsWith('src/client/'));
  expect(foreign.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([]);
});

test('the dashboard calls the api through the typed client alone, and the service imports nothing of it', () => {
  const webFiles = globSync('web/src/**/*.{ts,tsx}', { cwd: ROOT });
  const webImports = webFiles.flatMap(importsOf);
  expect(webImports.some(({ to }) => to?.startsWith('src/client/') === true)).toBe(true);
  const foreign = webImports.filter(({ specifier, to }) => {
    if (to === null) return specifier.startsWith('node:');
    return !to.startsWith('web/src/') && !to.startsWith('src/client/');
  });
  expect(foreign.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([]);
  // It gives its `fetch` to the client there.
  const callers = webFiles.filter((file) => /\bfetch\(|\bXMLHttpRequest\b|\bEventSource\(/.test(codeOf(file)));
  expect(callers).toEqual(['web/src/api.ts']);
  expect(imports.filter(({ to }) => to?.startsWith('web/') === true)).toEqual([]);
});

test('pure files wait for nothing', () => {
  const waiting = files.filter((file) => isPure(file) && /\bawait\b|\basync\b|\bPromise\b/.test(codeOf(file)));
  expect(waiting).toEqual([]);
});

test('packages with a room of their own are imported there only', () => {
  const strays = imports.filter(({ from, specifier }) => {
    const rooms = PACKAGE_ROOMS[packageOf(specifier)];
    return rooms !== undefined && !rooms.some((room) => from.startsWith(room));
  });
  expect(strays.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([]);
});

test('the packages of other providers are loaded by the first call, not with the service', () => {
  const loaded = files.flatMap((file) => callsOf(file, /^import (?!type )[^;]*?from '@ai-sdk\/[^']+'/gm));
  expect(loaded.map(({ file, call }) => `${file}: ${call}`)).toEqual([]);
});

test('the api reads from the store, and writes through use cases', () => {
  const written = imports.filter(({ from, specifier, to, isOfTypes }) => {
    if (!isFrontDoor(from) || to === null || !isStore(to) || isOfTypes || isView(to)) return false;
    return valuesOf(from, specifier).some((name) => API_READS[to]?.includes(name) !== true);
  });
  expect(written.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([]);
});

test('only publish rings doorbells and wakes waiters', () => {
  const callers = files.filter((file) => !file.startsWith('jobs/') && /\.(?:ring|committed)\(/.test(codeOf(file)));
  expect(callers).toEqual(['src/kernel/queue/rings.ts']);
  // The entry point makes both; jobs/index.ts is their catalogue.
  const holders = imports.filter(({ from }) => /\bDoorbell\b/.test(codeOf(from))).map(({ from }) => from);
  expect([...new Set(holders)].filter((file) => !file.startsWith('jobs/'))).toEqual(['src/kernel/queue/rings.ts']);
});

test('the entry point builds the use cases of a process, and with them its one memory of sessions', () => {
  const makers = ['createService', 'createPublish', 'createInbox', 'createEnsureSession', 'createAccept'];
  const callers = makers.map((name) =>
    files.filter((file) => new RegExp(`(?<!function )\\b${name}\\(`).test(codeOf(file))),
  );
  expect(callers).toEqual([
    ['workers/start-service.ts'],
    ['src/kernel/use-cases/service.ts'],
    ['src/kernel/use-cases/service.ts'],
    ['src/kernel/inbox/inbox.ts'],
    ['src/kernel/inbox/inbox.ts'],
  ]);
});

test('what follows from a write is published where the write is called', () => {
  const committed =
    /^export (?:(?:async )?function (\w+)\([^{]*?\): Promise|const (\w+) = literalQuery\(\{$(?:(?!^\}\);$).)*?)<?\bCommitted</gms;
  const calls = imports.flatMap(({ from, specifier, to }) => {
    const room = to === null ? undefined : WRITING_ROOMS.find((one) => one.test(to));
    if (to === null || room === undefined || room.test(from)) return [];
    const writes = Array.from(codeOf(to).matchAll(committed), ([, name, query]) => name ?? query ?? '');
    const names = valuesOf(from, specifier).filter((name) => writes.includes(name));
    return names.flatMap((name) => callsOf(from, new RegExp(`(?<!#)\\b${name}\\(`, 'g')));
  });
  const inTurn = Array.from(
    codeOf('src/kernel/turn/context.ts').matchAll(/^ {2}(\w+): .*, Committed</gm),
    ([, name]) => name,
  );
  expect(inTurn).toEqual(['openTurn', 'commitStep', 'beginCompaction', 'writeCompaction']);
  // The writes of objects, with the names of the objects.
  const methods = new RegExp(
    `\\b(?:service\\.)?inbox\\.accept\\(|\\bcontext\\.store\\.(?:${inTurn.join('|')})\\(`,
    'g',
  );
  calls.push(...files.flatMap((file) => callsOf(file, methods)));
  expect(calls.length).toBeGreaterThan(20);
  const isDirect =
    /publish\(\s*await (?:retryPassingFaults\(\(\) => |transaction\(database\.hot, \(tx\) => |(?:turn\.)?journal\.store\(write, \(rows\) =>\s*)?$/;
  expect(calls.filter(({ before }) => !isDirect.test(before)).map(({ file, call }) => `${file}: ${call}`)).toEqual([]);
});

test('a turn that is open moves only in its journal, after the database has confirmed', () => {
  const turnFiles = files.filter((file) => /^src\/kernel\/turn\/(?!journal\/)/.test(file));
  const records = ['opened-turn', 'position'].flatMap((name) => [
    ...codeOf(`src/kernel/turn/${name}.ts`).matchAll(
      /^export interface (?:OpenedTurn|Position|ContextTokens|Attempt) \{$(.*?)^\}$/gms,
    ),
  ]);
  expect(records).toHaveLength(4);
  const fields = records.flatMap(([, body = '']) => body.match(/^ {2}\w.*:.*$/gm) ?? []);
  expect(fields.filter((field) => !field.startsWith('  readonly '))).toEqual([]);
  const movers = turnFiles.filter((file) => /\badvance\(/.test(codeOf(file)));
  expect(movers).toEqual(['src/kernel/turn/opened-turn.ts', 'src/kernel/turn/position.ts']);
  const assigning = turnFiles.filter((file) =>
    /\bturn\.[\w.]+ (?:[-+]?=|\?\?=) |\bturn\.[\w.]+\.push\(/.test(codeOf(file)),
  );
  expect(assigning).toEqual([]);
});

test('a text that leaves the process or is stored is cut between characters, by one function', () => {
  // Cuts at a bound: a constant or a parameter that counts characters, or a large number. A digest
  // is cut anywhere.
  const cut =
    /(?<!'(?:hex|base64url)'\))\.(?:slice|substring|substr)\([^()]*(?:\b\w*[cC]hars(?:Max|Kept|Shown)?\b(?!=)|\w*CHARS\w*|\b\d{3,})[^()]*\)(?!\.length)/g;
  const rooms = files.filter((file) => !file.startsWith('scripted-') && !file.startsWith('src/client/'));
  const found = rooms.flatMap((file) => callsOf(file, cut).map(({ call }) => `${file}: ${call}`));
  expect(found).toEqual(RAW_CUTS);
});

test('there is no default export and no export-everything outside the catalogue', () => {
  const barrels = files.filter((file) => /^export (default|\*)/m.test(codeOf(file)));
  expect(barrels).toEqual([]);
});

test('the environment is read in the configuration only', () => {
  const readers = files.filter(
    (file) => !file.startsWith('src/config') && !file.startsWith('src/cli/') && /process\.env\b/.test(codeOf(file)),
  );
  expect(readers).toEqual([]);
});

test('files are opened only where this list says what may be opened', () => {
  const opening = imports.filter(
    ({ specifier, isOfTypes }) => /^node:fs(?:\/promises)?$/.test(specifier) && !isOfTypes,
  );
  const strays = opening.filter(({ from }) => !Object.keys(MAY_OPEN_FILES).some((room) => from.startsWith(room)));
  expect([...new Set(strays.map(({ from }) => from))]).toEqual([]);
  const unused = Object.keys(MAY_OPEN_FILES).filter((room) => !opening.some(({ from }) => from.startsWith(room)));
  expect(unused).toEqual([]);
});

test("BullMQ's own classes are used: none of ours extends one, and nothing replaces one of their methods", () => {
  const named = new Set(
    imports
      .filter(({ specifier }) => packageOf(specifier) === 'bullmq')
      .flatMap(({ from }) => namesFrom(from, 'bullmq')),
  );
  expect(named).toContain('Worker');
  const heirs = files.filter((file) =>
    [...codeOf(file).matchAll(/\bextends\s+(\w+)/g)].some(([, base = '']) => named.has(base)),
  );
  expect(heirs).toEqual([]);
  const replacers = files.filter(
    (file) =>
      file.startsWith('workers/queue/') && /^\s*(?:backend|worker|queue|connection)\.\w+ = /m.test(codeOf(file)),
  );
  expect(replacers).toEqual([]);
});

test("no statement names BullMQ's tables, and one names its channel", () => {
  expect(
    serviceFiles.filter((file) =>
      /\bbullmq\.\w|\bbullmq_(?!jobs\b)|(?:from|into|update|table)\s+\$\{SCHEMA\}/i.test(codeOf(file)),
    ),
  ).toEqual([]);
});

test('views only read', () => {
  const views = files.filter(isView);
  expect(views.length).toBeGreaterThan(10);
  const writes =
    /\b(?:insert\s+into|update\s+holdfast|delete\s+from|merge\s+into|for\s+(?:no\s+key\s+)?update|pg_notify)\b|\.(?:insert|update|delete|transaction)\(/i;
  expect(views.filter((file) => writes.test(codeOf(file)))).toEqual([]);
});

test('an input is inserted in five places, and each but the common one says why', () => {
  const inserting = serviceFiles.filter((file) => /insert\s+into\s+holdfast\.inbox\b/i.test(codeOf(file)));
  expect(inserting).toEqual(INSERT_INPUTS);
  const silent = inserting.filter(
    (file) => !/^(?:\/\/.*\n)*\/\/.*`putInputs`/.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  expect(silent).toEqual([PUT_INPUTS]);
});

test('each table has one owner, and what else writes it is listed', () => {
  const owned = pairsOf(TABLE_OWNERS);
  const owners = new Map(owned.map(([owner, table]) => [table, owner]));
  const schema = [...globSync('migrations/*.sql', { cwd: ROOT }), 'src/database/migrate.ts'].map(codeOf).join('\n');
  const changes = schema.matchAll(/\b(create|drop)\s+(?:unlogged )?table\s+(?:if (?:not )?exists )?holdfast\.(\w+)/gi);
  const tables = new Set<string>();
  for (const [, change, table = ''] of changes) {
    if (change?.toLowerCase() === 'create') tables.add(table);
    else tables.delete(table);
  }
  expect(owned.map(([, table]) => table).toSorted()).toEqual([...tables].toSorted());

  const rows = new Map(
    serviceFiles
      .filter((file) => placeOf(file).startsWith('src/rows/'))
      .flatMap((file) => callsOf(file, /\bconst (\w+) = holdfast\.table\('(\w+)'/g))
      .map(({ groups: [name = '', table = ''] }) => [name, table]),
  );
  const strays = serviceFiles.flatMap((file) => {
    const inTexts = callsOf(file, /\b(?:insert\s+into|update|delete\s+from)\s+holdfast\.(\w+)/gi);
    const inCalls = callsOf(file, /\.(?:insert|update|delete)\(\s*(\w+)\s*\)/g);
    const written = [
      ...inTexts.map(({ groups: [table = ''] }) => table),
      ...inCalls.flatMap(({ groups: [name = ''] }) => rows.get(name) ?? []),
    ];
    const foreign = [...new Set(written)].filter((table) => !file.startsWith(owners.get(table) ?? '-'));
    return WRITE_EVERYWHERE.some((room) => file.startsWith(room)) ? [] : foreign.map((table) => `${file}: ${table}`);
  });
  const listed = pairsOf(ALSO_WRITE).map(([file, table]) => `${file}: ${table}`);
  expect(strays.toSorted()).toEqual(listed.toSorted());
});

test('every folder that a service imports from is in the image', () => {
  const inImage = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  const folders = new Set(imports.flatMap(({ to }) => (to === null ? [] : [to.split('/')[0] ?? ''])));
  expect([...folders].filter((folder) => !inImage.includes(`!${folder}`))).toEqual([]);
});

function importsOf(from: string): Import[] {
  const code = codeOf(from);
  const ofTypes = new Set([...code.matchAll(/^import type [^;]*?from '([^']+)'/gm)].map((match) => match[1] ?? ''));
  const specifiers = [...code.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
  return specifiers.map((specifier) => ({
    from,
    specifier,
    to: specifier.startsWith('.') ? fileOf(from, specifier) : null,
    isOfTypes: ofTypes.has(specifier),
  }));
}

/** What a file imports from a package by name. */
function namesFrom(file: string, specifier: string): string[] {
  const lists = codeOf(file).matchAll(/import (?:type )?\{([^}]*)\} from '([^']+)'/g);
  return [...lists].flatMap(([, list = '', from]) =>
    from === specifier ? list.split(',').map((name) => name.replace(/^\s*type\s/, '').trim()) : [],
  );
}

/** Where a file calls something, with the parts of the pattern, and its code before that. */
function callsOf(file: string, call: RegExp): { file: string; call: string; groups: string[]; before: string }[] {
  const code = codeOf(file);
  return Array.from(code.matchAll(call), (found) => {
    return { file, call: found[0], groups: found.slice(1), before: code.slice(0, found.index) };
  });
}

/** The keys of a list with each of the words that stand with it. */
function pairsOf(list: Record<string, string>): [string, string][] {
  return Object.entries(list).flatMap(([key, words]) => words.split(' ').map((word): [string, string] => [key, word]));
}

/** The values that a file imports from another by name. */
function valuesOf(from: string, specifier: string): string[] {
  const names =
    new RegExp(`^import \\{([^}]*)\\} from '${RegExp.escape(specifier)}'`, 'm').exec(codeOf(from))?.[1] ?? '';
  const values = names
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '));
  return values.map((name) => name.split(' as ')[0] ?? name);
}

function fileOf(from: string, specifier: string): string {
  return relative(ROOT, join(ROOT, dirname(from), specifier));
}

function mayImport(fromFile: string, toFile: string): boolean {
  const [from, to] = [placeOf(fromFile), placeOf(toFile)];
  // The words of a feature's rules are also those of what the API takes, of the configuration and
  // of the tables.
  if (isPure(to)) return !to.startsWith('src/features/') || /^src\/(?:features|contract|config|rows|cli)\//.test(from);
  if (isPure(from)) return false;
  const room = Object.keys(MAY_IMPORT)
    .filter((name) => from.startsWith(name))
    .toSorted((a, b) => b.length - a.length)[0];
  if (room === undefined) return false;
  return to.startsWith(room) || (MAY_IMPORT[room] ?? []).some((allowed) => to.startsWith(allowed));
}

/**
 * The schemas of a feature declare its words once; its rules know them as types, of which nothing
 * is left at run time.
 */
function isOwnConfig(from: string, to: string): boolean {
  const folder = from.split('/').slice(0, 3).join('/');
  return (
    isPure(from) &&
    to.startsWith(`${folder}/`) &&
    /^(?:config|contract(?:-\w+)?)\.ts$/.test(to.slice(folder.length + 1))
  );
}

function mayImportTypes(from: string, to: string): boolean {
  if (isOwnConfig(from, to)) return true;
  if (DOOR_TYPES.includes(`${from} -> ${to}`)) return true;
  return Object.entries(TYPE_FILES).some(
    ([types, rooms]) => placeOf(to).startsWith(types) && rooms.some((room) => from.startsWith(room)),
  );
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

/**
 * The names in the code of a file as words between hyphens: identifiers, short strings, and values
 * and tables of SQL.
 */
function namesIn(file: string): string[] {
  const code = codeOf(file)
    .replace(/^import [^;]*;$/gm, '')
    .replace(/\btry \{/g, '{');
  const withoutTexts = code.replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, ' ');
  const names = [
    ...(withoutTexts.match(/\b[A-Za-z]\w*/g) ?? []),
    ...(code.match(/(?<=')\w[\w-]*(?=')|(?<=\bholdfast\.)\w+/g) ?? []),
  ];
  return names.map((name) => name.replace(/(?<=[a-z0-9])(?=[A-Z])|_/g, '-').toLowerCase());
}

function singularOf(name: string): string {
  return name.replace(/ies$/, 'y').replace(/(?<=ch)es$|s$/, '');
}

/** The source without its comments. */
function codeOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '');
}
