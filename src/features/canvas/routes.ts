// The canvas of a session: as a value, and as the page that the frame of the dashboard shows.
import { z } from 'zod';
import { notFound, requireFound } from '../../api/problem.ts';
import { defineRead, defineRoute, type Route } from '../../api/route.ts';
import { canvas } from '../../contract/canvas.ts';
import { readCanvas } from './views.ts';

const getCanvas = defineRead({
  operationId: 'getCanvas',
  belongs: 'session',
  path: '/v1/sessions/{key}/canvas',
  summary: 'The HTML page that the agent shows beside a session',
  query: z.strictObject({
    html: z.enum(['none']).optional().describe('`none`: without the page itself; absent: with it'),
  }),
  shows: { description: 'The canvas; its fields are null when nothing is shown', schema: canvas },
  async read({ params: { key }, query }, { context }) {
    const isWhole = query.html !== 'none';
    const found = requireFound(await readCanvas(context.views, key, isWhole), `session ${key}`);
    const { html, updatedAt, ...facts } = found;
    return { ...facts, ...(isWhole ? { html } : {}), updatedAt: updatedAt?.toISOString() ?? null };
  },
});

/**
 * The page has an origin of its own without any rights, also when it is opened alone: no scripts,
 * forms or plugins, and nothing that is not in it. That its links and refreshes lead nowhere is for
 * the frame around it to say (`frame-src` of the dashboard, `sandbox` of the frame).
 */
const FRAME_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    'sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    'media-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-dns-prefetch-control': 'off',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Browsers connect to the hosts of some links (`preconnect`) whatever the policy of the page says.
 * `wbr` is nothing with any attributes.
 */
const LINK = /<link(?![\w-])/gi;

const getFrame = defineRoute({
  operationId: 'getCanvasPage',
  belongs: 'session',
  method: 'GET',
  path: '/v1/sessions/{key}/canvas/page',
  summary: 'The same as a page for a frame: no scripts run in it, and it loads nothing',
  answers: { 200: { description: 'The page, without its `link` elements', contentType: 'text/html' } },
  async handle({ params: { key } }, { context }) {
    const found = requireFound(await readCanvas(context.views, key, true), `session ${key}`);
    if (found.html === null) throw notFound(`canvas of the session ${key}: its agent shows nothing`);
    return { status: 200, body: found.html.replaceAll(LINK, '<wbr'), headers: FRAME_HEADERS };
  },
});

export const routes: Route[] = [getCanvas, getFrame];
