// How the dashboard is built: one page, hashed assets, nothing inline, so that the page needs no exception in its Content-Security-Policy.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const SERVICE = process.env['HOLDFAST_URL'] ?? 'http://127.0.0.1:7420';

/** What every screen has. Everything else is loaded on first use. */
const SHARED =
  /node_modules\/(?:@tanstack|react|react-dom|scheduler|use-sync-external-store|seroval|seroval-plugins|isbot|eventsource-parser)\/|src\/client|web\/src\/(?:parts\/(?!palette|time-chart|delivery-details|fire-strip|cron-state|context-bar)|format\/(?!chart|spans|folded-axis|family|spend|schedule|prompt-text|audit-text|merge-entries)|live|screens\/(?:filters|pauses|batch-figures)|[a-z]+\.tsx?$)/;

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // One file for what most screens need, and one for each screen: few requests, and a change of a screen keeps the large one cached.
        codeSplitting: { groups: [{ name: 'shared', test: SHARED }] },
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
