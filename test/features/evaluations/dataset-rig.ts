// Data sets over the API of a rig: made, given items, and read.
import { expect } from 'vitest';
import type { ApiRig } from '../../api/api-rig.ts';
import { newId } from '../../../src/ids.ts';

export function datasetRig(rig: ApiRig) {
  const pathOf = (dataset: string): string => `/v1/datasets/${dataset}`;

  const items = async (dataset: string, query = '') =>
    (await rig.get(`${pathOf(dataset)}/items?limit=200${query}`)).body.items;

  return {
    /** A new data set; returns its name. */
    async make(more: object = {}): Promise<string> {
      const name = `set-of-${newId<string>().slice(-12)}`;
      expect(await rig.post('/v1/datasets', { name, ...more })).toMatchObject({ status: 201 });
      return name;
    },
    show: async (dataset: string) => (await rig.get(pathOf(dataset))).body,
    add: (dataset: string, body: object, headers: Record<string, string> = {}) =>
      rig.post(`${pathOf(dataset)}/items`, body, headers),
    addLines: (dataset: string, lines: string, headers: Record<string, string> = {}) =>
      rig.ask('POST', `${pathOf(dataset)}/items`, {
        payload: lines,
        headers: { 'content-type': 'application/x-ndjson', ...headers },
      }),
    items,
    /** The only item of a new data set with this turn. */
    async copyOf(turnId: string) {
      const name = await this.make();
      expect(await this.add(name, { turns: [turnId] })).toMatchObject({ status: 200, body: { version: 1, added: 1 } });
      return { name, item: (await items(name))[0] };
    },
  };
}
