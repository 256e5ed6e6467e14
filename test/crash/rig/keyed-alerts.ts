// Requests to alert destinations.
import { count, nameOf, type KeyedScenario } from './keyed-ground.ts';

const PATH = '/v1/alert-destinations';
/** Nothing listens there. */
const URL_AWAY = 'http://127.0.0.1:9/';

export const KEYED_ALERTS: KeyedScenario[] = [
  {
    name: 'an alert destination',
    route: PATH,
    secret: 'secret',
    prepare: async (ground, session) => ({
      path: PATH,
      body: { name: nameOf(session), url: URL_AWAY },
      status: 201,
      effects: () => count(ground, 'holdfast.alert_destinations where name = $1', [nameOf(session)]),
    }),
  },
  {
    name: 'a test of an alert destination',
    route: `${PATH}/{id}/test`,
    async prepare(ground, session) {
      const made = (await ground.post(PATH, { name: nameOf(session), url: URL_AWAY })).body as { id: string };
      return {
        path: `${PATH}/${made.id}/test`,
        body: {},
        status: 200,
        effects: () => count(ground, 'holdfast.alert_destinations where id = $1 and tried_at is not null', [made.id]),
      };
    },
  },
];
