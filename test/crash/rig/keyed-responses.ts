// Requests in OpenAI's form, as scenarios of keyed-scenarios.ts. No worker runs, so they run in the
// background, and cancelled ones are still waiting.
import { count, type Ground, type KeyedScenario } from './keyed-ground.ts';

const MESSAGES = `holdfast.inbox where body ->> 'text' = $1`;

const begin = (base: string): KeyedScenario => ({
  name: `a response below ${base}`,
  route: `${base}/responses`,
  prepare: async (ground, session) => ({
    path: `${base}/responses`,
    body: { model: 'holdfast', input: `${base} ${session}`, background: true },
    status: 200,
    effects: () => count(ground, MESSAGES, [`${base} ${session}`]),
  }),
});

const cancel = (base: string): KeyedScenario => ({
  name: `the end of a response below ${base}`,
  route: `${base}/responses/{responseId}/cancel`,
  async prepare(ground: Ground, session: string) {
    const input = `${base} cancel ${session}`;
    const { body } = await ground.post(`${base}/responses`, { model: 'holdfast', input, background: true });
    return {
      path: `${base}/responses/${body['id']}/cancel`,
      body: {},
      status: 200,
      effects: () => count(ground, `${MESSAGES} and status = 'cancelled'`, [input]),
    };
  },
});

export const KEYED_RESPONSES: KeyedScenario[] = ['/v1', '/openai/v1'].flatMap((base) => [begin(base), cancel(base)]);
