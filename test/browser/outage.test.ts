// What a page shows when the service or its database is away. Method: an API in a process of its
// own, which is killed while a worker of the test writes a reply; and a database server that is
// killed as a power cut would, under a page that is open.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ADMIN_KEY, createApiRig, type ApiRigOptions } from '../api/api-rig.ts';
import { startTestPostgres, withTestDatabase } from '../servers/postgres.ts';
import { startServiceProcess } from '../servers/service-process.ts';
import { useBrowser } from './dashboard-rig.ts';

const browsing = useBrowser();
const STREAM = '/v1/events';
/** So many events of the model's stream have the first words. */
const FIRST_EVENTS = 12;
const WORDS = Array.from({ length: 200 }, (_, n) => `word${n}`).join(' ');

/** Collects each text that the reply has had while it was written. */
const COLLECT = `globalThis.replies = [];
  new MutationObserver(() => {
    const text = document.querySelector('[aria-label="The reply as it is written"] .words')?.textContent;
    if (text !== undefined && text !== globalThis.replies.at(-1)) globalThis.replies.push(text);
  }).observe(document, { subtree: true, childList: true, characterData: true });`;

async function openRig(databaseUrl?: string, options: ApiRigOptions = {}) {
  const database = databaseUrl === undefined ? await withTestDatabase() : null;
  onTestFinished(() => database?.drop());
  const rig = await createApiRig(databaseUrl ?? database?.url ?? '', options);
  onTestFinished(() => rig.close());
  return rig;
}

test('a reply that is written while the API is killed and started again is complete, without a repeat and without loading the page again', async () => {
  // However fast the page is: it shows the beginning before the API is killed, the middle is
  // written meanwhile, and the end when it is back.
  const [isAway, isBack] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const beforeEvent = (event: number): Promise<void> | void => {
    if (event >= FIRST_EVENTS) return event < 2 * FIRST_EVENTS ? isAway.promise : isBack.promise;
  };
  // The answer is held for as long as processes take to start.
  const file = { agents: { defaults: { llm: { idleTimeoutSeconds: 1_200 } } } };
  const rig = await openRig(undefined, { beforeEvent, file });
  onTestFinished(() => {
    isAway.resolve();
    isBack.resolve();
  });
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-outage-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const env = { DATABASE_URL: rig.databaseUrl, HOLDFAST_DATA_DIR: dataDir, HOLDFAST_API_KEY: ADMIN_KEY };
  const killed = await startServiceProcess({ env, roles: 'api' });
  onTestFinished(async () => void (await killed.end('SIGKILL')));
  const { page, signIn, open, requests } = await browsing.openWindow(killed.url);
  await rig.post('/v1/sessions/cut/messages', { text: 'hello' });
  await rig.work('cut');
  await signIn();
  await open('/sessions/agent:main:cut');
  await page.getByText('Live', { exact: true }).waitFor();
  await page.evaluate(COLLECT);

  await rig.post('/v1/sessions/cut/messages', { text: `[[slow: 100]] [[reply: ${WORDS}]]` });
  const turn = rig.work('cut');
  const reply = page.getByRole('article', { name: 'The reply as it is written' });
  await reply.getByText('word1 ').waitFor();
  await killed.end('SIGKILL');
  await page.getByText('The service cannot be reached.').waitFor();
  isAway.resolve();
  requests.length = 0;
  // The page has tried to reconnect twice.
  await expect.poll(() => requests.filter(({ url }) => new URL(url).pathname === STREAM).length).toBeGreaterThan(1);
  const restarted = await startServiceProcess({ env, roles: 'api', port: Number(new URL(killed.url).port) });
  onTestFinished(async () => void (await restarted.end('SIGKILL')));
  await page.getByText('Live', { exact: true }).waitFor();
  isBack.resolve();
  await turn;
  await page.locator('article[data-seq]').getByText(WORDS, { exact: true }).waitFor();
  await reply.waitFor({ state: 'detached' });
  expect(await page.getByRole('article').getByText(WORDS, { exact: true }).count()).toBe(1);
  await page.getByText('The service cannot be reached.').waitFor({ state: 'detached' });
  // `replies` would be lost with the page.
  const replies = await page.evaluate<string[]>('globalThis.replies');
  expect(replies.length).toBeGreaterThan(0);
  expect(replies.filter((text) => !WORDS.startsWith(text.trimEnd()))).toEqual([]);
});

test('while the database is down, a page says so and greys its data with their time, and afterwards shows new data', async () => {
  const server = await startTestPostgres();
  onTestFinished(() => server.stop());
  const rig = await openRig(server.url);
  await rig.post('/v1/sessions/kept/messages', { text: '[[reply: before the outage]]' });
  await rig.work('kept');
  const { page, signIn, open, settle } = await browsing.openWindow(await rig.listen());
  await signIn();
  await open('/sessions/agent:main:kept');
  await page.getByText('Live', { exact: true }).waitFor();
  await settle();

  await server.kill();
  const banner = page.getByRole('status').filter({ hasText: 'The database is away since' });
  await banner.waitFor();
  expect(await banner.locator('time').count()).toBe(2);
  await banner.getByText('Nothing that was accepted is lost').waitFor();
  expect(await page.locator('main.stale').count()).toBe(1);
  await page.getByRole('article').getByText('before the outage', { exact: true }).waitFor();
  // Another screen shows the error, and recovers by itself afterwards.
  const rail = page.getByRole('navigation', { name: 'Screens' });
  await rail.getByRole('link', { name: 'Dead letters' }).click();
  await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
  await rail.getByRole('link', { name: 'Sessions' }).click();

  await server.restart();
  await banner.waitFor({ state: 'detached' });
  expect(await page.locator('main.stale').count()).toBe(0);
  await page.getByRole('link', { name: 'agent:main:kept', exact: true }).click();
  await rig.post('/v1/sessions/kept/messages', { text: '[[reply: after the outage]]' });
  await rig.work('kept');
  await page.getByRole('article').getByText('after the outage', { exact: true }).waitFor();
});

test('a page that is loaded while the database is down, or does not answer, says what is away, and opens when it is back', async () => {
  const server = await startTestPostgres();
  onTestFinished(() => server.stop());
  const rig = await openRig(server.url);
  await rig.post('/v1/sessions/kept/messages', { text: '[[reply: before the outage]]' });
  await rig.work('kept');
  const url = await rig.listen();
  const { page, signIn, open } = await browsing.openWindow(url);
  await signIn();
  await open('/sessions/agent:main:kept');
  const stranger = await browsing.openWindow(url);

  await server.kill();
  await page.reload();
  const note = page.getByRole('status').filter({ hasText: 'The database is away since' });
  await note.waitFor();
  await note.getByText('Nothing that was accepted is lost').waitFor();
  // A link to another screen says the same, and so does the page of a person who has not signed in.
  await page.goto(`${url}/turns`);
  await note.waitFor();
  await stranger.page.goto(url);
  await stranger.page.getByLabel('API key').waitFor();
  await stranger.page.getByText('The database is away since').waitFor();

  await server.restart();
  await page.getByRole('heading', { name: 'Turns' }).waitFor();
  await stranger.page.getByText('The database is away since').waitFor({ state: 'detached' });

  const thaw = server.freeze();
  onTestFinished(thaw);
  await page.reload();
  await page.getByText('The service has not answered yet.').waitFor();
  await note.waitFor();
  thaw();
  await page.getByRole('heading', { name: 'Turns' }).waitFor();
});
