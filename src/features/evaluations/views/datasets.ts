// Data sets and their items as the API shows them. Reads only.
import { isUuid } from '../../../core/ids.ts';
import { listOf } from '../../../database/list-of.ts';
import type { ViewDatabase } from '../../../database/page.ts';
import { dollarsSql } from '../../../kernel/sessions/cost-sql.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import type { DatasetItemView, DatasetView } from '../contract-datasets.ts';

export const datasets = listOf<{ name?: string | undefined }, DatasetView>({
  name: 'list-datasets',
  purpose: 'Read data sets with the counts of their items, newest first.',
  text: `select d.id, d.name, d.description, d.agent_id as "agentId", d.version, d.held_back_percent as "heldBackPercent", (
    select json_build_object('items', count(*), 'ready', count(*) filter (where i.state = 'ready'),
      'copying', count(*) filter (where i.state = 'copying'), 'excluded', count(*) filter (where i.state = 'excluded'),
      'erased', count(*) filter (where i.state = 'erased'), 'heldBack', count(*) filter (where i.state = 'ready' and i.split = 'heldBack'))
    from holdfast.dataset_items i where i.dataset_id = d.id
  ) as counts, d.created_by as "createdBy", ${isoSql('d.created_at')} as "createdAt", ${isoSql('d.updated_at')} as "updatedAt"
from holdfast.datasets d`,
  filters: { name: 'd.name = $name' },
  order: 'd.id desc',
});

/** The data set of this id or name; null: there is none. */
export async function findDataset(db: ViewDatabase, named: string): Promise<DatasetView | null> {
  if (isUuid(named)) return datasets.find(db, named);
  return (await datasets.list(db, { name: named }, { limit: 1, after: null })).items[0] ?? null;
}

/** The most characters of a text that a list shows. */
const SHOWN_CHARS = 2_000;

interface ItemFilter {
  datasetId: string;
  state?: string | undefined;
  split?: string | undefined;
}

export const datasetItems = listOf<ItemFilter, DatasetItemView>({
  name: 'list-dataset-items',
  purpose: 'Read the items of a data set, in the order of their numbers.',
  text: `select i.n, i.version, i.state, i.excluded, i.split, i.turn_id as "turnId", i.session_key as "sessionKey", i.agent_id as "agentId",
  left(i.input, ${SHOWN_CHARS}) as input, i.expected, left(i.reply, ${SHOWN_CHARS}) as reply, i.model, i.call_count as calls, i.tags, i.metadata,
  ${dollarsSql('i.cost_micros')} as "costUsd"
from holdfast.dataset_items i`,
  where: 'i.dataset_id = $datasetId',
  filters: { state: 'i.state = $state', split: 'i.split = $split' },
  order: 'i.n asc',
  key: 'n',
});
