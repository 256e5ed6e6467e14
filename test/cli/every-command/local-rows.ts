// Commands that need no service: they read the files, the configuration and the database of this
// machine.
import type { CommandRow } from './command-row.ts';

export const LOCAL_ROWS: readonly CommandRow[] = [
  {
    line: 'version',
    shows: [/^holdfast \d+\.\d+\.\d+$/m, /^node \d+/m],
    json: { version: /^\d+\.\d+\.\d+$/, node: /^\d+/ },
    needsNoService: 'prints what is installed',
  },
  {
    line: 'config show --sources',
    shows: [/channels\.webhook\.maxAttempts +1 /, /limits\.eventStreams +77 /],
    json: { settings: [{ path: 'limits.eventStreams', value: 77 }] },
    needsNoService: 'reads the configuration of this machine',
  },
  {
    line: 'config validate',
    shows: ['holdfast.json: ok'],
    json: { valid: true, file: /holdfast\.json$/ },
    needsNoService: 'reads the configuration of this machine',
  },
  {
    line: 'doctor',
    shows: [/ok +node: /, /ok +data-dir: /],
    json: {
      ok: true,
      checks: [
        { code: 'node', status: 'ok' },
        { code: 'data-dir', status: 'ok' },
      ],
    },
    needsNoService: 'reports a service that is down as a check',
  },
  {
    line: 'logs --turn {turn}',
    shows: ['Turn ended', '{turn}'],
    json: [{ turnId: '{turn}', msg: 'Turn ended' }],
    isLines: true,
    needsNoService: 'reads the log files of this machine',
  },
  {
    line: 'prices reprice --from 1h --dry-run',
    shows: [/calls now would cost \$/],
    json: { changed: 0 },
    needsNoService: 'changes the database itself',
  },
  {
    line: 'migrate --plan',
    shows: [],
    notes: ['nothing to apply: the database is up to date'],
    json: { pending: [] },
    needsNoService: 'reads the database itself',
  },
];
