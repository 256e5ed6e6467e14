// Every screen in both themes and at each width, with rows that have hostile text.
import { expect, test } from 'vitest';
import { isLongForm } from '../servers/test-form.ts';
import { useDashboard } from './dashboard-rig.ts';
import { faultsOn } from './looks.ts';
import { SEEDED_CHANNELS, seedChannels, seedScreens, type SeededIds } from './seed-screens.ts';

const dashboard = useDashboard({ file: { channels: SEEDED_CHANNELS } });
/** By the first test that runs. */
let seeded: Promise<SeededIds> | undefined;

/** Their ids are those of the seeded rows. */
const PATHS = [
  '/',
  '/waiting',
  '/turns',
  '/turns/{turnId}',
  '/turns/{turnId}?tab=prompt',
  '/turns/{turnId}?tab=request',
  '/compare?a={turnId}&b={turnId}',
  '/sessions',
  '/sessions/agent:main:told',
  '/sessions/agent:main:told/family',
  '/agents',
  '/agents/main',
  '/approvals',
  '/channels?status=any',
  '/crons',
  '/crons/{cronId}',
  '/heartbeats',
  '/processes',
  '/batches',
  '/batches/{batchId}',
  '/evaluations',
  '/evaluations?tab=datasets',
  '/evaluations/{evaluationId}',
  '/evaluations/{evaluationId}?open=6',
  '/costs',
  '/turns/{turnId}?tab=deliveries',
  '/turns/{turnId}?tab=announcement',
  '/deliveries',
  '/deliveries?open={deliveryId}',
  '/dead-letters',
  '/events',
  ...['keys', 'alerts', 'changes', 'configuration', 'mcp', 'versions', 'prices'].map((tab) => `/settings?tab=${tab}`),
];

// The short form checks every sixth.
test.each(PATHS.filter((_, at) => isLongForm() || at % 6 === 0))(
  '%s has no violation that axe finds and no sideways scrolling, in each theme and at each width',
  async (path) => {
    const { page, rig, signIn, open, settle } = dashboard;
    const ids = await (seeded ??= seedChannels(rig).then(() => seedScreens(rig)));
    await signIn();
    await open(path.replaceAll(/\{(\w+)\}/g, (_, name) => ids[name as keyof SeededIds]));
    await settle();
    expect(await faultsOn(page)).toEqual([]);
  },
);
