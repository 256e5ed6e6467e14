// Requests that try a turn or an agent.
import { addEntries } from '../../rows/entries.ts';
import { count, insertTurn, sessionIdOf, type KeyedScenario } from './keyed-ground.ts';

export const KEYED_TRIES: KeyedScenario[] = [
  {
    name: 'a try of a turn',
    route: '/v1/turns/{id}/try',
    async prepare(ground, session) {
      const sessionId = await sessionIdOf(ground, session);
      const turnId = await insertTurn(ground, sessionId, 'failed');
      await addEntries(ground, {
        sessionId,
        seq: 1,
        turnId,
        kind: 'prompt',
        role: 'user',
        content: [{ type: 'text', text: 'one' }],
      });
      return {
        path: `/v1/turns/${turnId}/try`,
        body: { text: `try ${session}` },
        status: 202,
        effects: () => count(ground, `holdfast.inbox where body ->> 'text' = $1`, [`try ${session}`]),
      };
    },
  },
  {
    name: 'a try of an agent',
    route: '/v1/agents/{agent}/try',
    prepare: async (ground, session) => ({
      path: '/v1/agents/main/try',
      body: { text: `ask ${session}` },
      status: 202,
      effects: () => count(ground, `holdfast.inbox where body ->> 'text' = $1`, [`ask ${session}`]),
    }),
  },
];
