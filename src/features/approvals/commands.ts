// `holdfast approvals`: tool calls that wait for a decision.
import type { ApprovalView } from '../../contract/approvals.ts';
import { pause } from '../../clock.ts';
import { EXIT } from '../../cli/cli-error.ts';
import { command, lists, prints, type Words } from '../../cli/command.ts';
import type { Terminal } from '../../cli/terminal.ts';
import { APPROVAL_STATUSES } from './rules.ts';

const POLL_MS = 1_000;

const ID = ['<id>', 'the id of the request'] as const;
const NOTE = ['[note]', 'why; the model reads it when the call was denied'] as const;

export const words: Words = {
  approvals: {
    list: command({
      summary: 'list requests, newest first',
      takes: { status: ['--status <status>', 'only those with this status', APPROVAL_STATUSES] },
      run: lists(
        'listApprovals',
        (terminal) => [
          { title: 'STATUS', value: (row) => row.status },
          { title: 'WHAT', value: (row) => row.title, isProse: true },
          { title: 'SESSION', value: (row) => row.sessionTitle, isProse: true },
          { title: 'REQUESTED', value: (row) => terminal.time(row.requestedAt) },
          { title: 'EXPIRES', value: (row) => terminal.time(row.expiresAt), dropOrder: 1 },
          { title: 'ID', value: (row) => row.id },
        ],
        { none: 'no approvals; rules are in tools.approvals of the configuration' },
      ),
    }),
    show: command({
      summary: 'show what would run, whole',
      takes: { id: ID },
      run: prints('getApproval', show),
    }),
    approve: command({
      summary: 'let exactly what was shown run, once',
      takes: { id: ID, note: NOTE },
      run: prints('approveApproval', (row, terminal) => terminal.print(`${row.id} ${row.status}`)),
    }),
    deny: command({
      summary: 'deny a call; the model reads who did and why',
      takes: { id: ID, note: NOTE },
      run: prints('denyApproval', (row, terminal) => terminal.print(`${row.id} ${row.status}`)),
    }),
    watch: command({
      summary: 'print requests as they come, until Ctrl C',
      takes: {},
      async run(_input, api, terminal) {
        const seen = new Set<string>();
        for (;;) {
          const { items } = await api.listApprovals({ status: 'open' });
          for (const row of items.toReversed()) {
            if (seen.has(row.id)) continue;
            seen.add(row.id);
            show(row, terminal);
          }
          await pause(POLL_MS);
          if (seen.size > 100_000) return EXIT.ok;
        }
      },
    }),
  },
};

function show(row: ApprovalView, terminal: Terminal): void {
  if (terminal.isJson) return terminal.json(row);
  terminal.print(row.shown);
  terminal.note(`${row.id} ${row.status} for ${row.rootSessionKey}, because of: ${row.reasons.join(', ')}`);
  if (row.status !== 'open') return;
  terminal.note(`decide with: holdfast approvals approve ${row.id}, or: holdfast approvals deny ${row.id} "why"`);
}
