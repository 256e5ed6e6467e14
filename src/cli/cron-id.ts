// Crons on the command line: an id, or a name that one cron has.
import type { CronAnswer, ListAnswer } from '../api/answer-types.ts';
import { pathWithQuery, type ApiClient } from './api-client.ts';
import { CliError, EXIT } from './cli-error.ts';
import { isUuid } from '../core/ids.ts';

const PAGE_ITEMS = 200;

/** The id of the cron. Throws `CliError` when no cron, or more than one, has the name. */
export async function cronIdOf(api: ApiClient, named: string): Promise<string> {
  if (isUuid(named)) return named;
  const found = (await readCrons(api)).filter(({ name }) => name === named);
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
    fix: 'name one by its id',
  });
}

async function readCrons(api: ApiClient): Promise<CronAnswer[]> {
  const crons: CronAnswer[] = [];
  let cursor: string | undefined;
  do {
    const path = pathWithQuery('/v1/crons', { limit: PAGE_ITEMS, cursor });
    const { body } = await api.request<ListAnswer<CronAnswer>>('GET', path);
    crons.push(...body.items);
    cursor = body.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return crons;
}
