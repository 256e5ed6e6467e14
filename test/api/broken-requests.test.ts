import { expect, onTestFinished, test } from 'vitest';
import { DOOR } from '../../scripts/all-routes.ts';
import { createApi } from '../../src/api/create-api.ts';
import { Problem } from '../../src/api/problem.ts';
import { ADMIN_KEY } from './api-rig.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

test('a request whose body arrives creates no problem', async () => {
  let created = 0;
  class CountedError extends Error {
    constructor(...args: ConstructorParameters<typeof Error>) {
      super(...args);
      created += 1;
    }
  }
  const app = createApi(holder.rig.context, DOOR);
  await app.ready();
  Object.setPrototypeOf(Problem, CountedError);
  onTestFinished(() => void Object.setPrototypeOf(Problem, Error));
  const post = (payload: object) =>
    app.inject({
      method: 'POST',
      url: '/v1/sessions/arriving/messages',
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
      payload,
    });
  expect((await post({ text: 'x' })).statusCode).toBe(202);
  expect(created).toBe(0);
  expect((await post({})).statusCode).toBe(400);
  expect(created).toBe(1);
  await app.close();
});
