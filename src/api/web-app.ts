// The dashboard as files: `web/dist`, as `npm run build:web` makes it. The files are read once;
// there are about twenty, and they do not change while the service runs. Without a build, the pages
// say so.
import { globSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export const WEB_DIST = join(import.meta.dirname, '../../web/dist');

/**
 * The first parts of the paths of screens. The page itself says when there is no such screen below
 * them.
 */
export const SCREENS = [
  'sign-in',
  'waiting',
  'turns',
  'compare',
  'sessions',
  'crons',
  'agents',
  'approvals',
  'channels',
  'heartbeats',
  'processes',
  'batches',
  'evaluations',
  'costs',
  'deliveries',
  'dead-letters',
  'events',
  'search',
  'settings',
] as const;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** In the order in which they are preferred. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

/**
 * The content policy of a page: it can load its own files and request its own service, nothing
 * else.
 */
const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    // The canvas of a session, whose own answer says that it has no rights.
    "frame-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types holdfast dompurify',
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const;

interface WebFile {
  type: string;
  plain: Buffer;
  encoded: ReadonlyMap<string, Buffer>;
}

/** The files of a build by their paths (`/index.html`, `/assets/...`); empty: there is no build. */
function readFiles(dist: string): ReadonlyMap<string, WebFile> {
  const paths = globSync('{index.html*,assets/*}', { cwd: dist });
  return new Map(
    paths.flatMap((path) => {
      const type = TYPES[extname(path)];
      if (type === undefined) return [];
      const encoded = ENCODINGS.filter(({ suffix }) => paths.includes(path + suffix)).map(
        ({ name, suffix }) => [name, readFileSync(join(dist, path + suffix))] as const,
      );
      return [[`/${path}`, { type, plain: readFileSync(join(dist, path)), encoded: new Map(encoded) }]];
    }),
  );
}

/**
 * Serves the dashboard, without a key: its pages and files say nothing of the service. `dist`:
 * where its build is.
 */
export function serveWebApp(app: FastifyInstance, dist: string = WEB_DIST): void {
  const files = readFiles(dist);
  const index = files.get('/index.html');
  const sendPage = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    reply.headers({ ...PAGE_HEADERS, 'cache-control': 'no-cache' });
    if (index !== undefined) return sendFile(request, reply, index);
    return reply.type('text/html; charset=utf-8').send(renderHome());
  };
  const config = { isPublic: true, cors: false } as const;
  const method = ['GET', 'HEAD'];
  app.route({ method, url: '/', config, handler: sendPage });
  for (const screen of SCREENS) {
    app.route({ method, url: `/${screen}`, config, handler: sendPage });
    app.route({ method, url: `/${screen}/*`, config, handler: sendPage });
  }
  for (const [path, file] of files) {
    if (path === '/index.html') continue;
    app.route({
      method,
      url: path,
      config,
      handler(request, reply) {
        reply.headers({ 'cache-control': 'public, max-age=31536000, immutable' });
        reply.header('cross-origin-resource-policy', 'same-origin');
        return sendFile(request, reply, file);
      },
    });
  }
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { type, plain, encoded }: WebFile): FastifyReply {
  const accepted = String(request.headers['accept-encoding'] ?? '').toLowerCase();
  const chosen = ENCODINGS.find(({ name }) => encoded.has(name) && accepts(accepted, name));
  reply.header('content-type', type);
  if (encoded.size > 0) reply.header('vary', 'accept-encoding');
  if (chosen === undefined) return reply.send(plain);
  return reply.header('content-encoding', chosen.name).send(encoded.get(chosen.name));
}

/** True when a list of codings has this one, and not with the weight 0. */
function accepts(list: string, coding: string): boolean {
  return list.split(',').some((each) => {
    const [name, weight] = each.split(';').map((part) => part.trim());
    return name === coding && !/^q=0(?:\.0*)?$/.test(weight ?? '');
  });
}

function renderHome(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Holdfast</title>
</head>
<body>
<h1>Holdfast</h1>
<p>A durable worker service for agents. This process answers its HTTP API. Its dashboard was not built: run
<code>npm install &amp;&amp; npm run build:web</code> in its folder, and start it again.</p>
<ul>
<li><a href="/readyz">/readyz</a>: the state of each dependency, and the model in use</li>
<li><a href="/healthz">/healthz</a>: whether this process is alive</li>
<li><code>/openapi.json</code>, <code>/metrics</code> and <code>/v1/…</code>: with <code>Authorization: Bearer &lt;key&gt;</code></li>
</ul>
</body>
</html>
`;
}
