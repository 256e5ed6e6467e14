// Short ids on the command line: the dashboard shows the last digits of an id, and people type what
// they see.
import type { HoldfastClient } from '../client/create-client.ts';
import { conflict, notFound } from './cli-error.ts';

type IdKind = Awaited<ReturnType<HoldfastClient['findIds']>>['items'][number]['kind'];

/** What `{id}` is in the paths that begin with it. */
const KINDS: Readonly<Record<string, IdKind>> = {
  turns: 'turn',
  messages: 'message',
  deliveries: 'delivery',
  batches: 'batch',
  crons: 'cron',
  subagents: 'run',
  'bulk-actions': 'bulkAction',
};

/**
 * The kind of the things whose id a path such as `GET /v1/turns/{id}/events` names; undefined: they
 * have no short ids.
 */
export function kindOfPlace(place: string): IdKind | undefined {
  return KINDS[/ \/v1\/([\w-]+)\/\{(?:id|runId)\}/.exec(place)?.[1] ?? ''];
}

/**
 * The id that ends with a text. Throws `CliError` when none of the newest does, or more than one.
 */
export async function idOfEnd(client: Pick<HoldfastClient, 'findIds'>, end: string, kind: IdKind): Promise<string> {
  const { items, lookedAt } = await client.findIds({ endsWith: end, kinds: [kind] });
  const [first, ...others] = items;
  const noun = { deadLetter: 'dead letter', bulkAction: 'bulk action' }[kind as string] ?? kind;
  if (first === undefined) {
    throw notFound(`no ${noun} among the ${lookedAt} newest has an id that ends with ${end}`, 'pass the whole id');
  }
  if (others.length === 0) return first.id;
  throw conflict(
    `${items.length} ids end with ${end}:${items.map(({ id }) => `\n  ${id}`).join('')}`,
    'pass more digits, or the whole id',
    'ambiguous',
  );
}
