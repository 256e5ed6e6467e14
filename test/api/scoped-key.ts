// Keys with a scope, and answers to them: what is outside answers as what never was (G44).
import { expect } from 'vitest';
import { newId } from '../../src/ids.ts';
import type { ApiRig, JsonAnswer } from './api-rig.ts';

export type ScopedKey = Awaited<ReturnType<typeof makeScopedKey>>;

/** A key for these parts, and requests with it. */
export async function makeScopedKey(rig: ApiRig, scope: { agents?: string[]; sessions?: string[] }, role = 'operator') {
  const made = await rig.post('/v1/keys', { name: `part-${newId<string>()}`, role, ...scope });
  expect(made).toMatchObject({ status: 201, body: { agents: null, sessions: null, ...scope } });
  const headers = { authorization: `Bearer ${made.body.key}` };
  const ask = (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object | string,
    more: object = {},
  ) => rig.ask(method, url, { ...(payload === undefined ? {} : { payload }), headers: { ...headers, ...more } });
  return {
    ask,
    get: (url: string) => ask('GET', url),
    post: (url: string, body: object | string = {}, more: object = {}) => ask('POST', url, body, more),
  };
}

/** Expects 404 and the same body for what another has and for what never was, but for their names. */
export function expectSame([foreign, ofForeign]: [JsonAnswer, string], [unknown, ofUnknown]: [JsonAnswer, string]) {
  const withoutName = ({ status, body }: JsonAnswer, name: string): string => {
    const { requestId: _id, ...problem } = body;
    return JSON.stringify([status, problem]).replaceAll(name, '-');
  };
  expect(foreign.status).toBe(404);
  expect(withoutName(foreign, ofForeign)).toBe(withoutName(unknown, ofUnknown));
}
