// The protocol's conformance suite for servers. Most of its scenarios call tools, resources and
// prompts of a server that exists for the suite: they are listed with the reason why Holdfast
// cannot pass them, and the suite fails if one of them passes.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();
const SUITE = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol/conformance/dist/index.js');

const NO_FIXTURE = 'calls a tool that only the server of the suite has';
const NO_SESSION = 'continues a session of the protocol on a second stream; Holdfast has no sessions of the protocol';
const NO_RESOURCES = 'Holdfast offers tools only, no resources';
const NO_PROMPTS = 'Holdfast offers tools only, no prompts';
const EXCEPTIONS: Record<string, string> = {
  'logging-set-level': 'Holdfast sends no log messages to clients',
  'completion-complete': 'there are no prompts and resources whose arguments could be completed',
  'tools-call-simple-text': NO_FIXTURE,
  'tools-call-image': NO_FIXTURE,
  'tools-call-audio': NO_FIXTURE,
  'tools-call-embedded-resource': NO_FIXTURE,
  'tools-call-mixed-content': NO_FIXTURE,
  'tools-call-with-logging': NO_FIXTURE,
  'tools-call-error': NO_FIXTURE,
  'tools-call-with-progress': NO_FIXTURE,
  'tools-call-sampling': NO_FIXTURE,
  'tools-call-elicitation': NO_FIXTURE,
  'json-schema-2020-12': NO_FIXTURE,
  'elicitation-sep1034-defaults': NO_FIXTURE,
  'server-sse-polling': NO_SESSION,
  'server-sse-multiple-streams': NO_SESSION,
  'elicitation-sep1330-enums': NO_FIXTURE,
  'resources-list': NO_RESOURCES,
  'resources-read-text': NO_RESOURCES,
  'resources-read-binary': NO_RESOURCES,
  'resources-templates-read': NO_RESOURCES,
  'resources-subscribe': NO_RESOURCES,
  'resources-unsubscribe': NO_RESOURCES,
  'prompts-list': NO_PROMPTS,
  'prompts-get-simple': NO_PROMPTS,
  'prompts-get-with-args': NO_PROMPTS,
  'prompts-get-embedded-resource': NO_PROMPTS,
  'prompts-get-with-image': NO_PROMPTS,
};

/** A proxy that adds the API key, which the suite cannot send; all else it passes on as it is. */
async function startProxy(target: string): Promise<string> {
  const { hostname, port } = new URL(target);
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const options = { hostname, port, method, path, headers: { ...headers, authorization: `Bearer ${ADMIN_KEY}` } };
    const sent = request(options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    sent.on('error', () => outgoing.destroy());
    incoming.pipe(sent);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

test('the conformance suite passes, but for the scenarios that are listed with their reason', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-conformance-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const baseline = join(folder, 'exceptions.yaml');
  const names = Object.keys(EXCEPTIONS).map((name) => `  - ${name}\n`);
  await writeFile(baseline, `server:\n${names.join('')}`);
  const url = `${await startProxy(await holder.rig.listen())}/mcp`;
  const args = [SUITE, 'server', '--url', url, '--suite', 'all', '--expected-failures', baseline];
  // It exits 1 for a failure that is not listed, and for a listed one that passes.
  const { stdout, code = 0 }: { stdout: string; code?: number } = await promisify(execFile)(process.execPath, args, {
    cwd: folder,
    maxBuffer: 16_777_216,
  }).catch((error: unknown) => error as { stdout: string; code: number });
  expect(code, stdout).toBe(0);
  const passed = [...stdout.matchAll(/^✓ ([\w-]+): [1-9]\d* passed, 0 failed/gm)].map(([, name]) => name);
  expect(passed).toEqual(['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']);
});
