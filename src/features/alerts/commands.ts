// `holdfast alerts`: webhooks and chats for what needs attention.
import type { AlertDestinationView } from './contract.ts';
import type { ApiClient } from '../../cli/api-client.ts';
import { CliError, EXIT, notFound } from '../../cli/cli-error.ts';
import { command, lists, prints, type Words } from '../../cli/command.ts';
import { createDurationParser } from '../../cli/options.ts';
import type { Terminal } from '../../cli/terminal.ts';
import { isUuid } from '../../core/ids.ts';
import { ALERT_SEVERITIES } from './rules.ts';

const NAMED = { named: ['<destination>', 'its name or id'] } as const;

export const words: Words = {
  alerts: {
    list: command({
      summary: 'list the destinations of alerts, with how the last attempt of each ended',
      run: lists(
        'listAlertDestinations',
        (terminal) => [
          { title: 'NAME', value: (row) => row.name },
          {
            title: 'STATE',
            value: (row) => describeState(row, terminal),
            style: (row) => (row.failingSince === null ? 'green' : 'red'),
          },
          { title: 'SENDS', value: describeFilter, dropOrder: 3 },
          { title: 'TO', value: (row) => row.url, dropOrder: 2 },
          { title: 'LAST', value: (row) => (row.triedAt === null ? 'never' : terminal.time(row.triedAt)) },
          { title: 'LAST ERROR', value: (row) => row.lastError ?? '', dropOrder: 1, isProse: true },
          { title: 'ID', value: (row) => row.id, dropOrder: 4 },
        ],
        { none: 'no alert destinations; add one with: holdfast alerts add <name> <url>' },
      ),
    }),
    add: command({
      summary: 'add a destination and print the secret that signs what it is sent; it is not shown again',
      takes: {
        name: ['<name>', 'its name; unique'],
        url: ['<url>', 'where alerts are sent: a URL, or a chat of a channel as channel:telegram/main/42'],
        severity: [
          '--severity <severity>',
          'the least that is sent; by default warning, which is all',
          ALERT_SEVERITIES,
        ],
        kinds: ['--kind <kind...>', 'only these kinds of problems, such as no_worker'],
        repeatSeconds: [
          '--repeat <duration>',
          'when a problem that lasts is sent again; by default 4h',
          (text: string) => Math.round(createDurationParser('--repeat')(text) / 1000),
        ],
      },
      async run({ kinds, ...settings }, api, terminal) {
        // The service checks the kinds, and names those that exist.
        const input = { ...settings, ...(kinds === undefined ? {} : { kinds: kinds as never }) };
        return add(input, api, terminal);
      },
    }),
    remove: command({
      summary: 'remove a destination, with what waits to be sent there',
      takes: NAMED,
      async run({ named }, api, terminal) {
        return remove(named)({ id: await findId(api, named) }, api, terminal);
      },
    }),
    test: command({
      summary: 'send a test alert to a destination, and print how that ended',
      takes: NAMED,
      async run({ named }, api, terminal) {
        return test(named)({ id: await findId(api, named) }, api, terminal);
      },
    }),
  },
};

const add = prints('createAlertDestination', ({ name, secret }, terminal) => {
  if (secret !== null) {
    terminal.print(secret);
    terminal.note('keep the secret, because it is not shown again');
  }
  terminal.note(`try the destination with: holdfast alerts test ${name}`);
});

const remove = (named: string) => prints('deleteAlertDestination', () => `the alert destination ${named} is removed`);

const test = (named: string) =>
  prints('testAlertDestination', ({ isAcknowledged, status, error }) => {
    if (isAcknowledged) return `${named} has acknowledged the alert${status === null ? '' : ` (HTTP ${status})`}`;
    throw new CliError({
      code: 'alert_not_acknowledged',
      exitCode: EXIT.failed,
      message: `${named} has not acknowledged the alert: ${error}`,
      fix: 'Correct the receiver, or the URL of the destination: PATCH /v1/alert-destinations/{id}',
    });
  });

function describeState(
  { failingSince, triedAt, isSending, restsUntil }: AlertDestinationView,
  terminal: Terminal,
): string {
  if (restsUntil !== null) return `failing, rests until ${terminal.time(restsUntil)}`;
  if (failingSince !== null) return isSending ? 'failing, is retried' : 'failing';
  return triedAt === null ? 'not used yet' : 'ok';
}

function describeFilter({ severity, kinds }: AlertDestinationView): string {
  return `${severity === 'error' ? 'errors' : 'all'}${kinds === null ? '' : ` of ${kinds.join(', ')}`}`;
}

/** The id of the destination of this name. */
async function findId(api: ApiClient, named: string): Promise<string> {
  if (isUuid(named)) return named;
  const { items } = await api.call('listAlertDestinations', {});
  const found = items.find(({ name }) => name === named);
  if (found !== undefined) return found.id;
  throw notFound(`no alert destination is named ${JSON.stringify(named)}`, '"holdfast alerts list" shows them');
}
