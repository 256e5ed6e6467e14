// `holdfast keys`: API keys that are made while the service runs.
import type { ApiKeyView } from '../../contract/keys.ts';
import { given } from '../../core/json.ts';
import { KEY_ROLES, type KeyRole } from '../../core/key-role.ts';
import { isUuid } from '../../core/ids.ts';
import type { ApiClient } from '../../cli/api-client.ts';
import { notFound } from '../../cli/cli-error.ts';
import { command, prints, type Words } from '../../cli/command.ts';
import { printTable } from '../../cli/print.ts';
import { commaSeparated, wholeNumber } from '../../cli/options.ts';
import { futureTime } from '../../cli/time-option.ts';

const PAGE_ITEMS = 200;
const LIMIT_MAX = 1_000_000;

export const words: Words = {
  keys: {
    create: command({
      summary: 'create an API key and print it; it is not shown again',
      takes: {
        name: ['<name>', 'whose key it is; unique'],
        role: [
          '--role <role>',
          'viewer reads, operator also changes what runs, admin also manages keys',
          KEY_ROLES,
          'viewer',
        ],
        expiresAt: [
          '--expires <time>',
          'when the key expires: a duration such as 30d, or a time; by default never',
          futureTime,
        ],
        agents: ['--agents <ids>', 'only sessions of these agents, and what they started', commaSeparated],
        sessions: [
          '--sessions <prefixes>',
          'only sessions whose keys begin so, and what they started, such as agent:main:shop:*',
          commaSeparated,
        ],
        requestsPerMinute: [
          '--requests-per-minute <count>',
          'how many requests it may send per minute; by default as many as it likes',
          wholeNumber(1, LIMIT_MAX),
        ],
        messagesInFlight: [
          '--messages-in-flight <count>',
          'how many of its messages may wait or be answered at the same time; by default as many as it likes',
          wholeNumber(1, LIMIT_MAX),
        ],
        replaces: [
          '--replaces <key>',
          'the name or id of an earlier key, whose conversations and stored answers it continues',
        ],
      },
      run: ({ requestsPerMinute, messagesInFlight, ...input }, api, terminal) =>
        create({ ...input, limits: given({ requestsPerMinute, messagesInFlight }) }, api, terminal),
    }),
    list: command({
      summary: 'list API keys, including revoked ones',
      async run(_input, api, terminal) {
        const items = await readKeys(api);
        printTable<ApiKeyView>(
          { items, nextCursor: null },
          [
            { title: 'NAME', value: (row) => row.name },
            { title: 'ROLE', value: (row) => row.role },
            { title: 'STATE', value: describeState },
            { title: 'SEES', value: describePart, dropOrder: 5 },
            { title: 'LAST USED', value: (row) => (row.lastUsedAt === null ? 'never' : terminal.time(row.lastUsedAt)) },
            { title: 'EXPIRES', value: (row) => row.expiresAt?.slice(0, 16) ?? 'never', dropOrder: 3 },
            { title: 'LIMITS', value: ({ limits }) => describeLimits(limits), dropOrder: 6 },
            { title: 'CREATED BY', value: (row) => row.createdBy, dropOrder: 2 },
            { title: 'REPLACES', value: (row) => row.replaces ?? '', dropOrder: 4 },
            { title: 'ID', value: (row) => row.id, dropOrder: 1 },
          ],
          terminal,
        );
        if (items.length === 0) terminal.note('no keys; make one with: holdfast keys create <name> --role viewer');
      },
    }),
    revoke: command({
      summary: 'revoke a key, and sign out the browsers that use it',
      takes: { named: ['<key>', 'its name or id'] },
      async run({ named }, api, terminal) {
        const id = isUuid(named) ? named : await findKeyId(api, named);
        return revoke({ id }, api, terminal);
      },
    }),
  },
};

interface NewKey {
  name: string;
  role: KeyRole;
  limits: object;
  expiresAt?: string | undefined;
  agents?: string[] | undefined;
  sessions?: string[] | undefined;
  replaces?: string | undefined;
}

const create = prints('createKey', ({ key, ...made }, terminal, { name, role, replaces }: NewKey) => {
  terminal.print(key ?? '');
  terminal.note(`the key ${name} has the role ${role}; keep it, because it is not shown again`);
  terminal.note(`it sees ${describePart(made)}`);
  const limits = describeLimits(made.limits);
  if (limits !== '') terminal.note(`its limits: ${limits}`);
  if (replaces !== undefined) terminal.note(`it continues the conversations of the key ${replaces}`);
});

function describeLimits({ requestsPerMinute, messagesInFlight }: ApiKeyView['limits']): string {
  return [
    ...(requestsPerMinute === null ? [] : [`${requestsPerMinute}/min`]),
    ...(messagesInFlight === null ? [] : [`${messagesInFlight} in flight`]),
  ].join(', ');
}

const revoke = prints('revokeKey', ({ name }, terminal) => {
  terminal.print(`the key ${name} is revoked`);
  terminal.note('browsers that signed in with it are signed out, and its tokens end');
});

/** What the key sees: `all`, or its agents and the beginnings of its sessions. */
function describePart({ agents, sessions }: Pick<ApiKeyView, 'agents' | 'sessions'>): string {
  const of = agents === null ? null : `agents ${agents.join(', ')}`;
  if (sessions === null) return of ?? 'everything';
  return of === null ? sessions.join(', ') : `${sessions.join(', ')}, of ${of}`;
}

function describeState({ revokedAt, expiresAt }: ApiKeyView): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'valid';
}

/** The id of the key of this name that is not revoked. */
async function findKeyId(api: ApiClient, name: string): Promise<string> {
  const found = (await readKeys(api)).find((key) => key.name === name && key.revokedAt === null);
  if (found !== undefined) return found.id;
  throw notFound(
    `no valid key is named ${JSON.stringify(name)}`,
    '"holdfast keys list" shows them; keys of the configuration are removed there',
  );
}

function readKeys(api: ApiClient): Promise<ApiKeyView[]> {
  return Array.fromAsync(api.each('listKeys', { limit: PAGE_ITEMS }));
}
