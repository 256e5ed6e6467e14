// The preset of `tools.browser`: an MCP server that is the browser of a session.
import { extname, join } from 'node:path';
import { mcpServerSchema, type McpServerSettings } from './schema-tools.ts';
import type { FileSettings } from './schema.ts';

export const BROWSER_SERVER = 'browser';

const LAUNCHER = join(import.meta.dirname, `../features/mcp/launch-browser${extname(import.meta.url)}`);
/** They only read the page that is open. Everything else may have effects, also a navigation. */
const READING = [
  'browser_snapshot',
  'browser_find',
  'browser_take_screenshot',
  'browser_console_messages',
  'browser_network_request',
  'browser_network_requests',
];
/** It runs code outside of the page, in the process of the server. */
const DENIED = ['browser_run_code_unsafe'];

/** What the launcher is given. */
export interface BrowserLaunch {
  executablePath?: string | undefined;
  allowPrivate: readonly string[];
}

export function browserServer({ browser, fetch }: FileSettings['tools']): McpServerSettings {
  const launch: BrowserLaunch = { executablePath: browser.executablePath, allowPrivate: fetch.allowPrivate };
  const tools = Object.fromEntries(READING.map((name) => [name, { readOnly: true }]));
  const settings = mcpServerSchema.parse({
    command: process.execPath,
    args: [LAUNCHER, JSON.stringify(launch)],
    tools: { ...tools, deny: DENIED },
    timeoutSeconds: 90,
    // The launcher applies the rules of the network itself, and Chromium has a sandbox of its own.
    sandbox: 'off',
  });
  return { ...settings, perSession: true };
}
