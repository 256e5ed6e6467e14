// Run as a process of its own: uses each way to a file of a workspace for a while, and meanwhile
// another process exchanges a folder, or a file, for a link that leads outside. Prints for each way
// how often it was used and what came from outside. Arguments: an empty folder to work in,
// milliseconds for each file tool (a quarter for each other way), the name of a way for this way
// alone. As root, the workspace belongs to another user, and what is outside to root.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { lchownSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readConfined } from '../../src/images/read-confined.ts';
import { loadSkills } from '../../src/kernel/turn/open/load-skills.ts';
import { createWorkspaceCache, loadWorkspaceFiles } from '../../src/kernel/turn/open/load-workspace.ts';
import { appendMemory } from '../../src/kernel/turn/compact/memory-flush.ts';
import { listMemory, readMemoryFile } from '../../src/features/memory/memory-files.ts';
import { planFile, writeFile } from '../../src/features/media-models/write-file.ts';
import { editTool, createReadTool, writeTool } from '../../src/tools/file-tools.ts';
import { createExecTool } from '../../src/tools/exec-tool.ts';
import { globTool } from '../../src/tools/glob-tool.ts';
import { grepTool } from '../../src/tools/grep-tool.ts';
import { createMessageTool } from '../../src/tools/message-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { runOnFile } from '../../src/tools/workspace-files.ts';
import { aToolCall } from '../tools/tool-call.ts';

export interface Attempts {
  way: string;
  calls: number;
  /** How many of them found the file that is inside. */
  found: number;
  /** What was read outside, or is outside afterwards. */
  leaks: string[];
}

const SECRET = 'only outside';
const NOBODY = 65_534;
const HEAD = (description: string): string => `---\nname: one\ndescription: ${description}\n---\n`;

interface Way {
  /** What is exchanged, relative to the workspace. */
  swapped: string;
  /** A file inside; the one with the same name outside has the secret. */
  file: string;
  use: (workspaceDir: string, call: number) => Promise<unknown>;
}

const tool = (
  run: (workspaceDir: string, call: number) => Promise<unknown>,
  file = 'd/config.json',
  swapped = 'd',
): Way => ({
  swapped,
  file,
  use: run,
});

const call = (workspaceDir: string) => aToolCall({ workspaceDir });
const readTool = createReadTool([]);
const exec = createExecTool({ timeoutSeconds: 10, environment: process.env });

const ways: Record<string, Way> = {
  read: tool((dir) => readTool.run({ file_path: 'd/config.json' }, call(dir))),
  'read of a file that becomes a link': tool(
    (dir) => readTool.run({ file_path: 'f.json' }, call(dir)),
    'f.json',
    'f.json',
  ),
  write: tool((dir, at) => writeTool.run({ file_path: `d/new/${at % 5}.txt`, content: 'x' }, call(dir))),
  'write of what is there': tool((dir) => writeTool.run({ file_path: 'd/config.json', content: 'inside' }, call(dir))),
  edit: tool((dir) => editTool.run({ file_path: 'd/config.json', old_string: 's', new_string: 'S' }, call(dir))),
  grep: tool((dir) => grepTool.run({ pattern: 'only|inside' }, call(dir))),
  'grep of a folder': tool((dir) => grepTool.run({ pattern: 'only|inside', path: 'd' }, call(dir))),
  glob: tool((dir) => globTool.run({ pattern: '**/*' }, call(dir))),
  canvas: tool((dir) =>
    runOnFile({ tool: 'canvas', name: 'd/config.json', call: call(dir) }, ({ file }) => file.readFile('utf8')),
  ),
  exec: tool((dir) => exec.run({ command: 'cat config.json; ls', workdir: 'd' }, call(dir))),
  message: tool((dir) => sendFile(dir, 'd/config.json')),
  'message with a file that becomes a link': tool((dir) => sendFile(dir, 'f.json'), 'f.json', 'f.json'),
  'message that a person is asked about': tool(async (dir) => {
    const asked = await messageTool(dir, () => undefined).show?.({ action: 'send', media: 'd/config.json' }, call(dir));
    const sha256 = createHash('sha256').update(SECRET).digest('hex');
    return JSON.stringify(asked).includes(sha256) ? SECRET : 'inside';
  }),
  'image, medium': tool(async (dir) => {
    const found = await readConfined('d/config.json', { workspaceDir: dir, roots: [dir], bytesMax: 1000 });
    return found.kind === 'read' ? found.bytes.toString() : found.kind;
  }),
  'file that a model made': tool(async (dir, at) => {
    const name = `d/made-${at % 5}.png`;
    await planFile(call(dir), name);
    return writeFile(call(dir), name, new Uint8Array(3));
  }),
  'memory that is listed and read': tool(
    async (dir) => [await listMemory(dir, call(dir).signal), await readMemoryFile(dir, 'memory/config.md')],
    'memory/config.md',
    'memory',
  ),
  'memory that is written': tool(
    (dir, at) => appendMemory(dir, { path: 'memory/config.md', text: 'note' }, String(at % 50)),
    'memory/config.md',
    'memory',
  ),
  skills: tool((dir) => loadSkills(dir), 'skills/one/SKILL.md', 'skills/one'),
  'bootstrap files': tool((dir) =>
    loadWorkspaceFiles(dir, ['d/config.json'], { freshForMs: 0 }, createWorkspaceCache()),
  ),
};

/**
 * The tool `message` in a chat that takes files; `onPost` gets where the copy is that would be
 * sent.
 */
function messageTool(workspaceDir: string, onPost: (copy: string) => void): Tool {
  const outgoing = join(dirname(workspaceDir), 'outgoing');
  return createMessageTool({
    channels: { known: [], open: [], url: 'http://127.0.0.1:9/' },
    featuresOf: () => ({ media: true, reactions: false }),
    fileBytesMaxOn: () => 1_000,
    mediaRoots: [],
    outgoing,
    chat: async () => ({ message: { text: '', channel: 'telegram', chatId: '1' }, messageIds: [], isConfined: false }),
    async post({ id }) {
      onPost(join(outgoing, id));
      return { kind: 'posted', id };
    },
  });
}

/** What would be sent. */
async function sendFile(workspaceDir: string, file: string): Promise<string | undefined> {
  let copy: string | undefined;
  const send = messageTool(workspaceDir, (path) => (copy = path));
  const { content } = await send.run({ action: 'send', media: file }, call(workspaceDir));
  if (copy === undefined) return JSON.stringify(content);
  const sent = readFileSync(copy, 'utf8');
  rmSync(copy);
  return sent;
}

/**
 * Exchanges two names for ever, in one step each time: renameat2 with RENAME_EXCHANGE, which Node
 * does not offer.
 */
const EXCHANGE =
  'my $n = (uname)[4] =~ /x86/ ? 316 : 276; syscall($n, -100, $ARGV[0], -100, $ARGV[1], 2) while getppid() > 1';

/** They are what a model is offered everywhere: each is tried longest. */
const FILE_TOOLS = new Set(['read', 'write', 'edit', 'grep', 'glob']);

await main(process.argv.slice(2));

async function main([base = '', ms = '', only]: string[]): Promise<void> {
  const results: Attempts[] = [];
  for (const [way, { swapped, file, use }] of Object.entries(ways)) {
    if (only !== undefined && only !== way) continue;
    const root = join(base, String(results.length));
    const [workspaceDir, outside] = [join(root, 'workspace'), join(root, 'outside')];
    const shown = file.slice(swapped.length + 1) || 'config.json';
    put(join(workspaceDir, file), file.endsWith('SKILL.md') ? HEAD('inside') : 'inside');
    put(join(outside, shown), file.endsWith('SKILL.md') ? HEAD(SECRET) : SECRET);
    put(join(outside, 'only-outside.md'), SECRET);
    const link = join(workspaceDir, 'link');
    symlinkSync(swapped === file ? join(outside, shown) : outside, link);
    if (process.getuid?.() === 0) giveAll(workspaceDir, NOBODY);
    results.push(
      await attempt(way, {
        use,
        workspaceDir,
        outside,
        shown,
        path: join(workspaceDir, swapped),
        link,
        ms: FILE_TOOLS.has(way) ? Number(ms) : Math.max(200, Number(ms) / 4),
      }),
    );
  }
  process.stdout.write(JSON.stringify(results));
}

interface Attempt {
  use: Way['use'];
  workspaceDir: string;
  outside: string;
  shown: string;
  path: string;
  link: string;
  ms: number;
}

async function attempt(way: string, { use, workspaceDir, outside, shown, path, link, ms }: Attempt): Promise<Attempts> {
  const before = snapshot(outside);
  const swapper = spawn('perl', ['-MPOSIX=uname', '-e', EXCHANGE, path, link], { stdio: 'ignore' });
  await once(swapper, 'spawn');
  const leaks = new Set<string>();
  let [calls, found] = [0, 0];
  for (const end = performance.now() + ms; performance.now() < end; calls += 1) {
    const answer = JSON.stringify(await use(workspaceDir, calls).catch((error: Error) => error.message)) ?? '';
    if (answer.toLowerCase().includes('inside')) found += 1;
    if (answer.includes(SECRET) || answer.includes('only-outside')) leaks.add(answer.slice(0, 300));
  }
  swapper.kill();
  await once(swapper, 'exit');
  const after = snapshot(outside);
  if (after !== before) leaks.add(`outside: ${after}, was ${before}; ${shown}`);
  return { way, calls, found, leaks: [...leaks] };
}

function giveAll(folder: string, user: number): void {
  for (const name of ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })])
    lchownSync(join(folder, name), user, user);
}

function put(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function snapshot(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  return JSON.stringify(names.map((name) => [name, readOrNull(join(folder, name))]));
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
