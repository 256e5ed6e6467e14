// The process of the MCP server `browser`: `@playwright/mcp` with a Chromium of its own, in a
// folder of its own that is removed afterwards. Pages reach the network by a proxy in this process,
// which applies the rules of `web_fetch`: no address that is not public, but for the hosts of a
// list.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { BrowserLaunch } from '../../config/browser-preset.ts';
import { processEnvironment } from '../../config/process-environment.ts';
import { HostProxy } from '../../tools/sandbox/host-proxy.ts';

/** The version that is tested. */
const PACKAGE = '@playwright/mcp@0.0.83';

const [, , text = '{}'] = process.argv;
const { executablePath, allowPrivate } = JSON.parse(text) as BrowserLaunch;
const cli = findServer();
const folder = mkdtempSync(join(tmpdir(), 'holdfast-browser-'));
const proxy = new HostProxy(['*'], allowPrivate);
const config = join(folder, 'config.json');
const outputDir = join(folder, 'files');
mkdirSync(outputDir);
writeFileSync(
  config,
  JSON.stringify({
    outputDir,
    codegen: 'none',
    // Tools that a page defines.
    webmcp: false,
    // After an action it would be written into a file that the agent cannot read; browser_snapshot
    // returns one.
    snapshot: { mode: 'none' },
    browser: {
      browserName: 'chromium',
      isolated: true,
      launchOptions: {
        headless: true,
        ...(executablePath === undefined ? { channel: 'chrome' } : { executablePath }),
        // Chromium refuses to run as root in its sandbox.
        chromiumSandbox: process.getuid?.() !== 0,
        proxy: { server: `http://127.0.0.1:${await proxy.openPort()}`, bypass: '<-loopback>' },
        // WebRTC would send packets past the proxy.
        args: [
          '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
          '--webrtc-ip-handling-policy=disable_non_proxied_udp',
        ],
      },
    },
  }),
);
// The server ends with its input; then the folder is removed.
process.on('SIGTERM', () => undefined);
const child = spawn(process.execPath, [cli, '--config', config], {
  cwd: outputDir,
  env: { ...processEnvironment(), TMPDIR: folder },
  stdio: 'inherit',
});
const [code] = (await once(child, 'exit')) as [number | null];
rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
process.exit(code ?? 1);

/** Beside Holdfast, or where the worker was started. */
function findServer(): string {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return join(dirname(createRequire(from).resolve('@playwright/mcp/package.json')), 'cli.js');
    } catch {
      continue;
    }
  }
  process.stderr.write(
    `the package of the browser is not installed; install it beside Holdfast: npm install ${PACKAGE}\n`,
  );
  process.exit(1);
}
