// Data sets are made, given items and deleted.
import { agentOf } from '../../config.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { newId } from '../../ids.ts';
import type { OpenModel, Service } from '../../kernel/use-cases/service.ts';
import { copyItems } from './copy-items.ts';
import {
  addItems,
  createDataset,
  removeDataset,
  type Addition,
  type NewDataset,
  type NewDatasetItem,
} from './store/datasets.ts';

/** Items that are copied before an addition is answered; the schedulers copy the others. */
const COPIED_AT_ONCE = 200;

/** The id of a new data set; null: another one has the name. Throws `UnknownAgentError`. */
export async function makeDataset(
  { config, database }: Service,
  dataset: Omit<NewDataset, 'id'>,
  idempotency: KeyedRequest | null,
): Promise<string | null> {
  agentOf(config, dataset.agentId);
  const id = newId<string>();
  return (await createDataset(database, { ...dataset, id }, idempotency)) ? id : null;
}

/**
 * Adds items as one version, and copies the first of their turns; null: there is no such data set.
 * Rejects with a taken key (`isKeyTaken`).
 */
export async function extendDataset(
  service: Service,
  addition: { id: string; items: readonly NewDatasetItem[]; idempotency: KeyedRequest | null },
  openModel: OpenModel,
): Promise<Addition | null> {
  const { database } = service;
  const { id: datasetId } = addition;
  const added = await addItems(database, addition);
  try {
    if (added !== null) await copyItems(service, { datasetId, limit: COPIED_AT_ONCE, openModel });
  } catch (error) {
    // The items are stored.
    database.outages.report(error, 'Turns could not be copied into a data set; the schedulers do it', { datasetId });
  }
  return added;
}

/** `open`: an evaluation of it has not ended. */
export function deleteDataset({ database }: Service, id: string): Promise<'done' | 'unknown' | 'open'> {
  return removeDataset(database, id);
}
