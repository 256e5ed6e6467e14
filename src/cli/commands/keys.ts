// `holdfast keys`: API keys that are made while the service runs.
import type { ApiKeyView as ApiKeyAnswer } from '../../contract/keys.ts';
import { isUuid } from '../../core/ids.ts';
import { connectApi, fromOptions, type ApiClient, type ClientFlags } from '../api-client.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import type { NewKeyOptions } from '../key-commands.ts';
import { printTable } from '../print.ts';
import type { Terminal } from '../terminal.ts';
import { futureTime } from '../time-option.ts';

const PAGE_ITEMS = 200;

/** Makes a key and prints it. */
export async function runKeysCreate(
  name: string,
  { role, expires }: NewKeyOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).createKey({
    body: fromOptions({ name, role, expiresAt: expires === undefined ? undefined : futureTime(expires) }),
  });
  if (terminal.isJson) {
    terminal.json(body);
    return EXIT.ok;
  }
  terminal.print(body.key ?? '');
  terminal.note(`the key ${name} has the role ${role}; keep it, because it is not shown again`);
  return EXIT.ok;
}

/** Lists keys, newest first. */
export async function runKeysList(flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const list = { items: await readKeys(connectApi(flags)), nextCursor: null };
  printTable<ApiKeyAnswer>(
    list,
    [
      { title: 'NAME', value: (row) => row.name },
      { title: 'ROLE', value: (row) => row.role },
      { title: 'STATE', value: stateOf },
      { title: 'LAST USED', value: (row) => (row.lastUsedAt === null ? 'never' : terminal.time(row.lastUsedAt)) },
      { title: 'EXPIRES', value: (row) => row.expiresAt?.slice(0, 16) ?? 'never', dropOrder: 3 },
      { title: 'CREATED BY', value: (row) => row.createdBy, dropOrder: 2 },
      { title: 'ID', value: (row) => row.id, dropOrder: 1 },
    ],
    terminal,
  );
  if (list.items.length === 0) terminal.note('no keys; make one with: holdfast keys create <name> --role viewer');
  return EXIT.ok;
}

function stateOf({ revokedAt, expiresAt }: ApiKeyAnswer): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'valid';
}

/** Revokes a key. */
export async function runKeysRevoke(named: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const api = connectApi(flags);
  const id = isUuid(named) ? named : await idOf(api, named);
  const body = await api.revokeKey({ id });
  if (terminal.isJson) terminal.json(body);
  else {
    terminal.print(`the key ${body.name} is revoked`);
    terminal.note('browsers that signed in with it are signed out');
  }
  return EXIT.ok;
}

/** The id of the key of this name that is not revoked. */
async function idOf(api: ApiClient, name: string): Promise<string> {
  const found = (await readKeys(api)).find((key) => key.name === name && key.revokedAt === null);
  if (found !== undefined) return found.id;
  throw new CliError({
    code: 'not_found',
    exitCode: EXIT.notFound,
    message: `no valid key is named ${JSON.stringify(name)}`,
    fix: '"holdfast keys list" shows them; keys of the configuration are removed there',
  });
}

function readKeys(api: ApiClient): Promise<ApiKeyAnswer[]> {
  return Array.fromAsync(api.each('listKeys', { limit: PAGE_ITEMS }));
}
