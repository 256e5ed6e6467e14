// `holdfast pairing`: people who ask to write to an agent.
import { PAIRING_STATUSES, type PairingView } from '../../contract/pairings.ts';
import { isUuid } from '../../core/ids.ts';
import type { ApiClient } from '../../cli/api-client.ts';
import { notFound } from '../../cli/cli-error.ts';
import { command, lists, type Words } from '../../cli/command.ts';
import type { Terminal } from '../../cli/terminal.ts';

const PAIRING = ['<pairing>', 'the code that the person was sent, or the id of the request'] as const;

export const words: Words = {
  pairing: {
    list: command({
      summary: 'list people who have asked to write, newest first',
      takes: { status: ['--status <status>', 'only those with this status', PAIRING_STATUSES] },
      run: lists(
        'listPairings',
        (terminal) => [
          { title: 'STATUS', value: (row) => row.status },
          { title: 'CODE', value: (row) => row.code },
          { title: 'ACCOUNT', value: (row) => `${row.channel}/${row.accountId}` },
          { title: 'SENDER', value: (row) => row.senderId },
          { title: 'CALLED', value: (row) => row.senderName ?? '', dropOrder: 2 },
          { title: 'REQUESTED', value: (row) => terminal.time(row.requestedAt), dropOrder: 1 },
          { title: 'ID', value: (row) => row.id, dropOrder: 3 },
        ],
        { none: 'no requests; a person who writes in a direct chat with dm: "pairing" makes one' },
      ),
    }),
    approve: command({
      summary: 'let a person write to the agent',
      takes: { pairing: PAIRING },
      async run({ pairing }, api, terminal) {
        report(await api.call('approvePairing', { id: await findId(api, pairing) }), terminal);
      },
    }),
    deny: command({
      summary: 'do not let a person write; the person is not notified',
      takes: { pairing: PAIRING },
      async run({ pairing }, api, terminal) {
        report(await api.call('denyPairing', { id: await findId(api, pairing) }), terminal);
      },
    }),
    delete: command({
      summary: 'delete a request, whatever was decided; the person may not write any more, and can ask again',
      takes: { pairing: PAIRING },
      async run({ pairing }, api, terminal) {
        const answer = await api.call('deletePairing', { id: await findId(api, pairing) });
        if (terminal.isJson) terminal.json(answer);
        else terminal.print('deleted');
      },
    }),
  },
};

/** At most three requests of an account are open, so one page has them for a while. */
async function findId(api: ApiClient, named: string): Promise<string> {
  if (isUuid(named)) return named;
  const { items } = await api.call('listPairings', { limit: 200 });
  const code = named.toUpperCase();
  const found =
    items.find((row) => row.code === code && row.status === 'open') ?? items.find((row) => row.code === code);
  if (found === undefined)
    throw notFound(
      `no request has the code ${code}`,
      '"holdfast pairing list" shows the codes; a code is valid for an hour',
    );
  return found.id;
}

function report(row: PairingView, terminal: Terminal): void {
  if (terminal.isJson) return terminal.json(row);
  const may = row.status === 'approved' ? 'may write' : 'may not write';
  terminal.print(`${row.senderId} ${may} to ${row.channel}/${row.accountId}`);
}
