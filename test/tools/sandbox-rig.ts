// A service as a command of an agent sees it: its data directory with a key, a database socket, a
// loopback API, another workspace, and its exec tool with the sandbox of its configuration. As
// root, commands run as `nobody`, as they do in a service.
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, processEnvironment } from '../../src/config.ts';
import { createExecTool } from '../../src/tools/exec-tool.ts';
import { planAllCommands } from '../../src/tools/command-user.ts';
import { Sandbox } from '../../src/tools/sandbox/sandbox.ts';
import { aToolCall } from './tool-call.ts';
import { contentOf } from './workspace.ts';

export type SandboxRig = Awaited<ReturnType<typeof openSandboxRig>>;

export async function openSandboxRig(
  file: object = {},
  env: Record<string, string | undefined> = processEnvironment(),
  /** Is called with the folder of the configuration before anything is made in it. */
  prepare: (base: string) => void = () => undefined,
) {
  const base = mkdtempSync(join(tmpdir(), 'holdfast-sandbox-'));
  chmodSync(base, 0o711);
  prepare(base);
  const dataDir = join(base, 'data');
  const settings = { agents: { list: [{ id: 'main' }, { id: 'other', workspace: join(base, 'other') }] }, ...file };
  writeFileSync(join(base, 'holdfast.json'), JSON.stringify(settings));
  const config = loadConfig({ env: { HOLDFAST_DATA_DIR: dataDir }, cwd: base });
  const workspaceDir = config.workspace.path;
  for (const folder of [dataDir, workspaceDir, join(base, 'other')])
    mkdirSync(folder, { mode: 0o755, recursive: true });
  if (process.getuid?.() === 0)
    for (const folder of [workspaceDir, join(base, 'other')]) chownSync(folder, 65_534, 65_534);
  // Open to all users: only the sandbox keeps commands from them.
  writeFileSync(join(dataDir, 'api-key'), 'KEY-IN-FILE', { mode: 0o644 });
  writeFileSync(join(base, 'other', 'diary'), 'OTHERS-DIARY', { mode: 0o644 });
  const [database, api] = await Promise.all([listen(join(dataDir, 'database.sock')), listen(0)]);
  chmodSync(join(dataDir, 'database.sock'), 0o777);
  const sandbox = new Sandbox(config);
  const [plan] = planAllCommands(config);
  if (plan === undefined) throw new Error('there is no workspace');
  const tool = (box?: Sandbox) =>
    createExecTool({ timeoutSeconds: 60, environment: env, planOf: () => plan, ...(box && { sandbox: box }) });
  const [inside, outside] = [tool(sandbox), tool()];
  return {
    base,
    dataDir,
    config,
    workspaceDir,
    sandbox,
    plan,
    user: plan.user,
    port: (api.address() as AddressInfo).port,
    /** What a command prints, and how it ended. */
    async run(
      command: string,
      {
        timeoutSeconds = 60,
        isOutside = false,
        signal = new AbortController().signal,
        workdir,
      }: { timeoutSeconds?: number; isOutside?: boolean; signal?: AbortSignal; workdir?: string } = {},
    ): Promise<string> {
      const exec = isOutside ? outside : inside;
      return contentOf(
        await exec.run({ command, timeoutSeconds, ...(workdir && { workdir }) }, aToolCall({ workspaceDir, signal })),
      );
    },
    async close() {
      await sandbox.stop();
      for (const server of [database, api]) server.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

async function listen(at: string | number): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => undefined).end('SERVED\n'));
  if (typeof at === 'string') server.listen(at);
  else server.listen(at, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
