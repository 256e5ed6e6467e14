// Goal: no call of an MCP server runs twice, and none is lost without its result saying so. Method:
// turns of many sessions call tools of two servers at the same time, which are killed before or
// after a call, hang, or cut the connection; the servers note what they have really run.
import { expect, test } from 'vitest';
import { randomOf, seedOfRun } from '../../crash/rig/random-of.ts';
import { isFullForm } from '../../servers/test-form.ts';
import { judgeCalls } from './judge-calls.ts';
import { counting, rigWith } from './mcp-rig.ts';

const CALLS_PER_TURN = 6;
const TURNS = isFullForm() ? 150 : 50;
const AT_ONCE = 25;
const SEED = seedOfRun();
const FAULTS = {
  far: ['none', 'none', 'cut', 'cut', 'hang'],
  own: ['none', 'none', 'none', 'none', 'hang', 'die', 'die-first'],
};

test(`of ${TURNS * CALLS_PER_TURN} calls, none is run twice or lost in silence, whatever becomes of their servers (G11)`, async () => {
  const [far, own] = [await counting(), await counting()];
  const url = `http://127.0.0.1:${await far.listen()}/mcp`;
  const common = { trust: 'hints', timeoutSeconds: 2 };
  const rig = await rigWith({ far: { url, ...common }, own: { ...own.settings, ...common } });
  const random = randomOf(SEED);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;

  async function turn(session: string): Promise<void> {
    const calls = Array.from({ length: CALLS_PER_TURN }, () => {
      const server = pick(['far', 'own'] as const);
      return { tool: `${server}__${pick(['add', 'put'])}`, input: { fault: pick(FAULTS[server]) } };
    });
    await rig.play(calls, session);
  }
  for (let first = 0; first < TURNS; first += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => turn(`session-${first + at}`)));

  const { statuses, faults } = await judgeCalls(rig, [...(await far.runs()), ...(await own.runs())]);
  expect(faults, `seed ${SEED}`).toEqual([]);
  expect(Object.values(statuses).reduce((sum, count) => sum + count, 0)).toBe(TURNS * CALLS_PER_TURN);
  // Each kind of end was seen.
  expect(Object.keys(statuses).toSorted()).toEqual(['done', 'failed', 'unknown']);
});
