// MCP servers and the sandbox of commands in the dashboard: a real server over stdio, one that is
// away, and what processes report.
import { expect, onTestFinished, test } from 'vitest';
import { openMcp } from '../../src/features/mcp/rounds.ts';
import { noteMcpServers, storeMcpTools } from '../../src/features/mcp/store/servers.ts';
import { newId } from '../../src/ids.ts';
import { countingServer } from '../features/mcp/mcp-rig.ts';
import { addWorkers } from '../rows/workers.ts';
import { ahead } from '../rows/table.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';

const server = await countingServer();

const tools = { deny: ['env'], put: { idempotent: true, approval: 'once' }, peek: { readOnly: true } };
const dashboard = useDashboard({
  file: { mcp: { servers: { notes: { ...server.settings, tools }, away: { url: 'http://127.0.0.1:9/mcp' } } } },
});

test('servers are shown with their tools, what counts for each and how it has changed, and are probed', async () => {
  const { page, rig, signIn, open } = dashboard;
  onTestFinished(() => server.remove());
  const { database } = rig.turns;
  await noteMcpServers(database, ['notes']);
  const definition = {
    description: 'add a thing',
    inputSchema: { type: 'object' as const },
    annotations: {},
    needsTask: false,
  };
  const info = { name: 'counting', version: '0.9.0', protocol: null };
  await storeMcpTools(database, {
    name: 'notes',
    sha256: 'old',
    info,
    tools: [{ name: 'add', definition, sha256: 'old' }],
  });
  const { service, logger } = rig.context;
  const part = await openMcp({ service: { ...service, config: rig.turns.config }, logger });
  onTestFinished(async () => void (await part.stop?.()));

  await signIn();
  await open('/settings?tab=mcp');
  const notes = page.getByRole('region', { name: 'notes' });
  await notes.getByText('connected', { exact: true }).waitFor();
  await page.getByRole('region', { name: 'away' }).getByText('lost', { exact: true }).waitFor();
  await page
    .getByRole('region', { name: 'away' })
    .getByText(/fetch failed|ECONNREFUSED/)
    .waitFor();
  await notes.getByText('3 tools, 1 left out, 1 changed').click();
  const toolOf = (name: string) =>
    notes
      .getByRole('list', { name: 'Tools of notes' })
      .getByRole('listitem')
      .filter({ hasText: `notes__${name}` });
  await toolOf('put').getByText('idempotent', { exact: true }).waitFor();
  await toolOf('put').getByText('approval: once', { exact: true }).waitFor();
  await toolOf('peek').getByText('read-only', { exact: true }).waitFor();
  await toolOf('add').getByText('never sent twice', { exact: true }).waitFor();
  await toolOf('env').getByText('the configuration of its server does not allow it').waitFor();
  await toolOf('add')
    .getByText(/^It has changed/)
    .click();
  await toolOf('add').getByText('- add a thing').waitFor();
  await toolOf('add').getByText('+ add a note').waitFor();
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await violationsOn(page)).toEqual([]);

  await notes.getByRole('button', { name: 'Probe notes' }).click();
  const answered = notes.getByText('It has answered, with 3 tools.');
  await expect
    .poll(async () => {
      for (const { round } of part.rounds ?? []) await round(new AbortController().signal);
      return answered.isVisible();
    })
    .toBe(true);
  await notes.getByText('mcp.servers.notes.sandbox is "off"').waitFor();
});

test('each process says whether its commands run in a sandbox, and why not', async () => {
  const { page, rig, signIn, open } = dashboard;
  const sandbox = { runtime: 'bubblewrap', status: 'off', reason: 'bwrap is not on the PATH', checkedAt: null };
  await addWorkers(rig, { id: newId<string>(), name: 'bare', seenAt: ahead('1 hour'), sandbox });
  await addWorkers(rig, {
    id: newId<string>(),
    name: 'safe',
    seenAt: ahead('1 hour'),
    sandbox: { ...sandbox, status: 'on', reason: null },
  });
  const lack = 'there is no network, because socat is not on the PATH';
  await addWorkers(rig, {
    id: newId<string>(),
    name: 'offline',
    seenAt: ahead('1 hour'),
    sandbox: { ...sandbox, status: 'reduced', reason: lack },
  });
  await signIn();
  await open('/processes');
  await page.getByRole('article', { name: 'offline' }).getByText(`lack something (bubblewrap): ${lack}`).waitFor();
  const bare = page.getByRole('article', { name: 'bare' });
  await bare.getByText('run outside a sandbox: bwrap is not on the PATH').waitFor();
  await page.getByRole('article', { name: 'safe' }).getByText('run in a sandbox (bubblewrap)').waitFor();
});
