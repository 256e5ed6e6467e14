// Who runs the commands of agents, seen from outside: a service on a database of its own, commands
// that look around, and the lines that a person reads. Another user can only be given commands by
// root, so most of it is for root; CI runs as root.
import type { ChildProcess } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { workspacesFolderOf } from '../../src/config/places.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { runCli, type CliResult } from './run-cli.ts';

const START_MS_MAX = 120_000;
const isRoot = process.getuid?.() === 0;

interface Started {
  cwd: string;
  /** The output of its start. */
  lines: string[];
  /** Runs a command as an agent does and returns its output. */
  exec(command: string, before?: string): Promise<string>;
  end(): Promise<CliResult>;
}

/** What file permissions alone do: without a sandbox. */
interface Folder {
  /** Of the folder that the service runs in. */
  mode: number;
  /** The settings `tools.exec`. */
  exec?: object;
  /** A folder outside the data directory; absent: the workspace is inside. */
  workspace?: string;
  /** True: the data directory has a workspace of an earlier start. */
  isOld?: boolean;
  /** False: it does not exist before the start. */
  isMade?: boolean;
  /** True: the database is the service's own, in its data directory. */
  hasOwnDatabase?: boolean;
}

/** A folder with a configuration, and no service yet. */
async function openFolder({ mode, exec = {}, workspace, isMade = true, isOld = false }: Folder): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), 'holdfast-user-'));
  await chmod(cwd, mode);
  onTestFinished(() => removeFolder(cwd));
  if (workspace !== undefined && isMade) await mkdir(join(cwd, workspace));
  if (isOld) await mkdir(join(cwd, '.holdfast/workspace'), { recursive: true });
  await writeFile(
    join(cwd, 'holdfast.json'),
    JSON.stringify({
      tools: { exec: { sandbox: 'off', ...exec } },
      ...(workspace && { workspace: { path: join(cwd, workspace) } }),
    }),
  );
  return cwd;
}

/** Removes the workspaces that a start has placed outside, too. */
async function removeFolder(cwd: string): Promise<void> {
  for (const path of [workspacesFolderOf(join(cwd, '.holdfast')), cwd])
    await rm(path, { recursive: true, force: true });
}

/** A service in a fresh folder. */
async function startIn(folder: Folder): Promise<Started> {
  const cwd = await openFolder(folder);
  return startAt(cwd, folder.hasOwnDatabase === true ? null : await sharedDatabase());
}

/** A service in a folder; without the address of a database on its own. */
async function startAt(cwd: string, databaseUrl: string | null): Promise<Started> {
  const { promise: spawned, resolve } = Promise.withResolvers<ChildProcess>();
  const env = {
    HOLDFAST_PORT: '0',
    CANARY_TOKEN: 'canary-of-the-environment',
    ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
  };
  const ended = runCli(['start'], { cwd, env, onSpawn: resolve });
  const child = await spawned;
  const end = (): Promise<CliResult> => {
    child.kill('SIGTERM');
    return ended;
  };
  onTestFinished(async () => void (await end()));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    lines.push(line);
    if (line.startsWith('api key ')) break;
  }
  if (!lines.some((line) => line.startsWith('api key '))) throw new Error((await ended).stderr);
  return {
    cwd,
    lines,
    async exec(command, before = '') {
      const text = `${before} [[tool: exec ${JSON.stringify({ command: `(${command}) > out 2>&1; true` })}]] [[reply: ok]]`;
      const sent = await runCli(['send', 'main', text, '--wait', '60'], { cwd });
      if (sent.code !== 0) throw new Error(sent.stderr);
      return await readFile(join(workspacesFolderOf(join(cwd, '.holdfast')), 'workspace/out'), 'utf8');
    },
    end,
  };
}

/** A database of the tests' server, so that no server has to be created and started. */
async function sharedDatabase(): Promise<string> {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  return database.url;
}

const commandsLine = (lines: string[]): string | undefined => lines.find((line) => line.startsWith('commands '));
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe.runIf(isRoot)('as root, in a folder that every user can enter', () => {
  test(
    'commands run as a user without rights, which can access the workspace and no secret (G31)',
    { timeout: START_MS_MAX },
    async () => {
      const service = await startIn({ mode: 0o755, hasOwnDatabase: true });
      expect(commandsLine(service.lines)).toMatch(/^commands +run as \S.* and cannot read the secrets of the service$/);
      const data = join(service.cwd, '.holdfast');
      const secrets = `../api-key ../secrets/webhook-secret ../postgres/holdfast-password /proc/$PPID/environ`;
      const written = '[[tool: write {"file_path": "notes/a.txt", "content": "from the tool"}]]';
      const output = await service.exec(
        `id -u; cat ${secrets}; ls ..; echo more >> notes/a.txt && cat ${data}/workspace/notes/a.txt; echo home $HOME`,
        written,
      );
      const [uid, ...rest] = output.split('\n');
      expect(Number(uid)).toBeGreaterThan(0);
      expect(rest.filter((line) => line.includes('Permission denied'))).toHaveLength(5);
      expect(output).not.toContain('canary');
      expect(rest.slice(-3)).toEqual(['from the toolmore', `home ${data}/workspace`, '']);
      expect([await modeOf(data), await modeOf(join(data, 'workspace'))]).toEqual([0o710, 0o700]);
      const report = await runCli(['doctor', '--json'], { cwd: service.cwd });
      expect(JSON.parse(report.stdout).checks).toContainEqual(
        expect.objectContaining({ code: 'commands', status: 'ok' }),
      );
    },
  );
});

describe.runIf(isRoot)('as root, below a folder that only root may pass', () => {
  test(
    'commands run as a user without rights in a workspace outside, also after the folder was moved and opened (G31)',
    { timeout: START_MS_MAX },
    async () => {
      const database = await sharedDatabase();
      const cwd = await openFolder({ mode: 0o700 });
      const before = JSON.parse((await runCli(['doctor', '--json'], { cwd })).stdout);
      expect(before.checks).toContainEqual(expect.objectContaining({ code: 'commands', status: 'skipped' }));
      const service = await startAt(cwd, database);
      const workspace = join(workspacesFolderOf(join(cwd, '.holdfast')), 'workspace');
      expect(workspace).toMatch(/^\/var\/lib\/holdfast-workspaces\/[^/]+\/workspace$/);
      const says = `cannot read the secrets of the service; their workspace is ${workspace}, because "nobody" has no access to ${cwd}`;
      expect(commandsLine(service.lines)).toContain(says);
      const written = '[[tool: write {"file_path": "notes/a.txt", "content": "from the tool"}]]';
      const script = `id -u; pwd; cat ${workspace}/notes/a.txt; echo; cat ${cwd}/.holdfast/api-key; ls ..`;
      const [uid, ...rest] = (await service.exec(script, written)).split('\n');
      expect(Number(uid)).toBeGreaterThan(0);
      expect(rest.slice(0, 2)).toEqual([workspace, 'from the tool']);
      expect(rest.filter((line) => line.includes('Permission denied'))).toHaveLength(2);
      expect([await modeOf(workspace), await modeOf(join(workspace, '..'))]).toEqual([0o700, 0o711]);
      expect(await modeOf(join(cwd, '.holdfast'))).toBe(0o700);
      expect((await runCli(['doctor'], { cwd })).stdout).toContain(says);
      await service.end();

      const moved = await openFolder({ mode: 0o755 });
      await rename(join(cwd, '.holdfast'), join(moved, '.holdfast'));
      const second = await startAt(moved, database);
      expect((await second.exec('id -u; pwd; cat notes/a.txt')).split('\n')).toEqual([uid, workspace, 'from the tool']);
    },
  );

  test(
    'a backup has the workspace, and a restore places it for a user without rights again',
    { timeout: START_MS_MAX },
    async () => {
      const service = await startIn({ mode: 0o700, hasOwnDatabase: true });
      await service.exec('echo "to be kept" > kept.txt');
      const file = join(service.cwd, 'a.backup');
      expect(await runCli(['backup', file], { cwd: service.cwd })).toMatchObject({ code: 0 });
      await service.end();
      const cwd = await openFolder({ mode: 0o700 });
      expect(await runCli(['restore', file], { cwd })).toMatchObject({ code: 0 });
      const restored = await startAt(cwd, null);
      const [uid, ...rest] = (await restored.exec('id -u; cat kept.txt')).split('\n');
      expect(Number(uid)).toBeGreaterThan(0);
      expect(rest).toEqual(['to be kept', '']);
      expect(commandsLine(restored.lines)).not.toContain(workspacesFolderOf(join(service.cwd, '.holdfast')));
    },
  );

  test(
    'a workspace in the data directory stays: commands run as root, which the start lines and the doctor say, and the folders are private',
    { timeout: START_MS_MAX },
    async () => {
      const service = await startIn({ mode: 0o700, isOld: true });
      const says = `run as the user of the service and can read its secrets, because "nobody" has no access to ${service.cwd}`;
      expect(commandsLine(service.lines)).toContain(says);
      expect(await service.exec('id -u')).toBe('0\n');
      const data = join(service.cwd, '.holdfast');
      expect([await modeOf(data), await modeOf(join(data, 'workspace'))]).toEqual([0o700, 0o700]);
      const { stdout } = await runCli(['doctor'], { cwd: service.cwd });
      expect(stdout).toContain(says);
    },
  );

  test(
    'tools.exec.user runs commands all the same in such a workspace, by relative paths',
    { timeout: START_MS_MAX },
    async () => {
      const service = await startIn({ mode: 0o700, exec: { user: 'nobody' }, isOld: true });
      expect(commandsLine(service.lines)).toMatch(/run as nobody and cannot read the secrets.*only relative paths/);
      expect(await service.exec('id -un; cat ../api-key')).toMatch(/^nobody\ncat: .*Permission denied\n$/);
      expect(await modeOf(join(service.cwd, '.holdfast'))).toBe(0o700);
      const children = await service.exec('sleep 300 & echo $!; pgrep -u nobody sleep >/dev/null; exit');
      expect(Number(children.trim())).toBeGreaterThan(0);
    },
  );
});

test.runIf(isRoot)(
  'a workspace of root outside the data directory is not given to another user unasked',
  { timeout: START_MS_MAX },
  async () => {
    const service = await startIn({ mode: 0o755, workspace: 'elsewhere' });
    const folder = join(service.cwd, 'elsewhere');
    expect(commandsLine(service.lines)).toContain(`because ${folder} belongs to root`);
    expect((await stat(folder)).uid).toBe(0);
  },
);

test.runIf(isRoot)(
  'a workspace below folders that do not exist yet is made, and commands run there',
  { timeout: START_MS_MAX },
  async () => {
    const service = await startIn({ mode: 0o755, workspace: 'new/elsewhere', isMade: false });
    expect(commandsLine(service.lines)).toMatch(/run as nobody and cannot read the secrets of the service$/);
    expect((await stat(join(service.cwd, 'new/elsewhere'))).uid).toBeGreaterThan(0);
  },
);

test.runIf(isRoot)(
  'tools.exec.user that is no user of this machine stops the start with exit 78',
  { timeout: START_MS_MAX },
  async () => {
    await expect(startIn({ mode: 0o700, exec: { user: 'no-such-user' } })).rejects.toThrow(
      'tools.exec.user is "no-such-user"; allowed: the name or the numeric id of a user of this machine',
    );
  },
);

test.skipIf(isRoot)(
  'an ordinary user runs commands itself, which the start lines say',
  { timeout: START_MS_MAX },
  async () => {
    const service = await startIn({ mode: 0o755 });
    expect(commandsLine(service.lines)).toMatch(/run as the user of the service and can read its secrets$/);
    expect(await modeOf(join(service.cwd, '.holdfast'))).toBe(0o700);
  },
);
