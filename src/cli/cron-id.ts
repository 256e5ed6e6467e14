// Crons on the command line: an id or its end, or a name that one cron has.
import type { ApiClient } from './api-client.ts';
import { CliError, EXIT } from './cli-error.ts';
import { isIdEnd, isUuid } from '../core/ids.ts';

const PAGE_ITEMS = 200;

/** The id of the cron. Throws `CliError` when no cron, or more than one, has the name. */
export async function cronIdOf(api: ApiClient, named: string): Promise<string> {
  if (isUuid(named)) return named;
  const found = (await Array.fromAsync(api.each('listCrons', { limit: PAGE_ITEMS }))).filter(
    ({ id, name }) => name === named || (isIdEnd(named) && id.endsWith(named.toLowerCase())),
  );
  const [first, ...others] = found;
  if (first === undefined) {
    throw new CliError({
      code: 'not_found',
      exitCode: EXIT.notFound,
      message: `no cron is named ${JSON.stringify(named)}`,
      fix: '"holdfast cron list" shows names and ids',
    });
  }
  if (others.length === 0) return first.id;
  throw new CliError({
    code: 'ambiguous',
    exitCode: EXIT.conflict,
    message: `${found.length} crons are named ${JSON.stringify(named)}:${found.map(({ id }) => `\n  ${id}`).join('')}`,
    fix: 'use the id instead',
  });
}
