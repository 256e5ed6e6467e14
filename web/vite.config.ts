// How the dashboard is built: one page, hashed assets, nothing inline, so that the page needs no exception in its Content-Security-Policy.
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const SERVICE = process.env['HOLDFAST_URL'] ?? 'http://127.0.0.1:7420';

const ENTITIES = fileURLToPath(import.meta.resolve('decode-named-character-reference'));

const anyOf = (...names: string[]): string => `(?:${names.join('|')})`;

const LISTED = anyOf(
  'list',
  'data-table',
  'short-key',
  'chosen-columns',
  'bulk-bar',
  'copy-row',
  'row-menu',
  'context-bar',
);
/** Parts and formats of few screens. */
const RARE = anyOf('palette', 'time-chart', 'delivery-details', 'fire-strip', 'cron-state', 'use-quiet');
const RARE_FORMATS = anyOf(
  'chart',
  'spans',
  'folded-axis',
  'family',
  'spend',
  'schedule',
  'prompt-text',
  'audit-text',
  'merge-entries',
  'search-hit',
  'turn-tree',
  'fingerprint',
);

/** What every screen has. Everything else is loaded on first use. */
const SHARED = new RegExp(
  anyOf(
    `node_modules/${anyOf('@tanstack(?!/(?:react-)?virtual)', 'react', 'react-dom', 'scheduler', 'use-sync-external-store', 'seroval', 'seroval-plugins', 'isbot', 'eventsource-parser', 'lucide-react')}/`,
    'rolldown/runtime',
    'src/client',
    `web/src/parts/(?!${LISTED}|${RARE})`,
    `web/src/format/(?!${RARE_FORMATS})`,
    'web/src/live/(?!event-log)',
    `web/src/screens/${anyOf('filters', 'pauses')}`,
    String.raw`web/src/[a-z]+\.tsx?$`,
  ),
);

/** What every list has. */
const LISTS = new RegExp(anyOf('@tanstack/(?:react-)?virtual', `web/src/parts/${LISTED}`));

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  // The form of this package for browsers sets `innerHTML`, which the Content-Security-Policy refuses: one `&amp;` would then turn off the
  // markdown of a whole text. Its other form has a table.
  resolve: {
    alias: [{ find: /^decode-named-character-reference$/, replacement: ENTITIES }],
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // One file for what most screens need, one for what lists need, and one for each screen: few requests, and a change of a screen keeps
        // the large one cached.
        codeSplitting: {
          groups: [
            { name: 'shared', test: SHARED },
            { name: 'lists', test: LISTS },
          ],
        },
      },
    },
  },
  // `npm run dev:web`: pages from here, the API from a service that runs.
  server: {
    host: '127.0.0.1',
    proxy: Object.fromEntries(
      ['/v1', '/readyz', '/healthz', '/openapi.json'].map((path) => [path, { target: SERVICE, changeOrigin: false }]),
    ),
  },
});
