// The workspace files that a new session gets.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentOf } from '../../src/config.ts';
import { readSessionContext } from '../../src/kernel/turn/open/session-context.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url);
  const made = rig;
  onEnd(() => made.close());
});

test('each new session gets all earlier edits, however soon after each other they were made', async () => {
  const { context, stop } = rig.worker();
  const agent = agentOf(context.config, 'main');
  mkdirSync(agent.workspaceDir, { recursive: true });
  const begin = async (): Promise<string> => {
    const { workspace } = await readSessionContext(context, {
      agent,
      mode: 'full',
      view: {},
      message: null,
      isPoll: false,
      changeFiles: async (files) => files,
    });
    return workspace.value.files.map(({ text }) => text).join('\n');
  };
  for (let edit = 1; edit <= 5; edit += 1) {
    // Another read is already in flight when the edit is made.
    const before = begin();
    writeFileSync(join(agent.workspaceDir, 'AGENTS.md'), `This is edit ${edit}.`);
    const crowd = await Promise.all([begin(), begin(), begin()]);
    for (const seen of crowd) expect(seen).toContain(`This is edit ${edit}.`);
    await before;
  }
  stop();
});
