// The memory tools on real files and a real database: a search finds the current text on disk, with
// its lines, and nothing outside MEMORY.md and memory/ is read (G30).
import { mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/database/database.ts';
import { indexMemory, searchMemory } from '../../../src/features/memory/store.ts';
import { memoryGetTool, createMemorySearchTool } from '../../../src/features/memory/tools.ts';
import type { ToolOutcome } from '../../../src/tools/tool.ts';
import { changeMemoryFiles, countMemoryChunks, countMemoryFiles } from '../../rows/memory.ts';
import { ago } from '../../rows/table.ts';
import { withTestDatabase, type TestDatabase } from '../../servers/postgres.ts';
import { aToolCall } from '../../tools/tool-call.ts';
import { contentOf, createWorkspace, type Workspace } from '../../tools/workspace.ts';

let server: TestDatabase;
let database: Database;
let workspace: Workspace;
let agents = 0;
let agentId = '';

beforeAll(async () => {
  server = await withTestDatabase();
  database = openDatabase({ url: server.url, role: 'test' });
});
afterAll(async () => {
  await database.close();
  await server.drop();
});
beforeEach(async () => {
  workspace = await createWorkspace();
  agentId = `agent-${(agents += 1)}`;
});
afterEach(() => workspace.remove());

const search = createMemorySearchTool({
  search: (each) => searchMemory(database, each),
  add: (each) => indexMemory(database, each),
});

async function write(path: string, lines: string[]): Promise<void> {
  await mkdir(join(workspace.dir, 'memory'), { recursive: true });
  await writeFile(join(workspace.dir, path), `${lines.join('\n')}\n`);
}

async function find(query: string, more: object = {}): Promise<string> {
  const outcome = await search.run({ query, ...more }, aToolCall({ workspaceDir: workspace.dir, agentId }));
  expect(outcome.isError, contentOf(outcome)).toBe(false);
  return contentOf(outcome);
}

function get(input: object): Promise<ToolOutcome> {
  return memoryGetTool.run(input, aToolCall({ workspaceDir: workspace.dir }));
}

describe('memory_search', () => {
  test('finds passages with path, lines, score and headings, best first', async () => {
    await write('MEMORY.md', ['# People', '## Anna', 'Anna likes tea.', '', '# Work', 'The deploy key is with Bob.']);
    await write('memory/2026-01-31.md', ['Deployed the tea service.']);
    const found = await find('deploying tea');
    expect(found.split('\n\n')[0]).toBe('memory/2026-01-31.md#L1 (score 1.00)\nDeployed the tea service.');
    expect(found).toContain('MEMORY.md#L2-L3 (score ');
    expect(found).toContain(' under People\n## Anna\nAnna likes tea.');
    expect(found).toContain('MEMORY.md#L5-L6');
  });

  test('finds text written since the last search, and no longer deleted text', async () => {
    await write('MEMORY.md', ['The colour is red.']);
    expect(await find('colour')).toContain('red');
    await write('MEMORY.md', ['The colour is blue.']);
    const found = await find('colour');
    expect(found).toContain('blue');
    expect(found).not.toContain('red');
    await rm(join(workspace.dir, 'MEMORY.md'));
    await write('memory/a.md', ['x']);
    expect(await find('colour')).toBe('Nothing about "colour" in 1 file of memory.');
  });

  test('indexes an unchanged file only once', async () => {
    await write('MEMORY.md', ['one']);
    await utimes(join(workspace.dir, 'MEMORY.md'), 1_000_000, 1_000_000);
    await find('one');
    await find('one');
    expect(await countMemoryChunks(database.views, { agentId })).toBe(1);
  });

  test('deletes contents that left the disk long ago', async () => {
    await write('MEMORY.md', ['old']);
    await find('old');
    await changeMemoryFiles(database.views, { agentId }, { indexedAt: ago('2 hours') });
    await write('MEMORY.md', ['new']);
    await find('new');
    expect(await countMemoryFiles(database.views, { agentId })).toBe(1);
    expect(await countMemoryChunks(database.views, { agentId })).toBe(1);
  });

  test('keeps the memories of agents apart', async () => {
    await write('MEMORY.md', ['shared word']);
    await find('shared');
    agentId = `${agentId}-other`;
    await rm(join(workspace.dir, 'MEMORY.md'));
    expect(await find('shared')).toContain('There is no memory yet');
  });

  test('finds words regardless of case, accents and scripts without blanks', async () => {
    await write('MEMORY.md', ['Das CAFÉ heißt Größenwahn.', '', '# 计划', '我们决定明天去东京。']);
    expect(await find('cafe grossenwahn größenwahn')).toContain('#L1');
    expect(await find('东京')).toContain('#L3-L4');
  });

  test('accepts any text as a query', async () => {
    await write('MEMORY.md', ["it's a 'quoted' \\ back|slash & more"]);
    for (const query of ["it's", "' | '", '\\', '&', '!!!', '((', ':*', "quoted'", 'a b <-> c', '\0x']) {
      await find(query);
    }
    expect(await find("'quoted'")).toContain('#L1');
  });

  test('finds at most the requested number, and nothing below the score', async () => {
    await write(
      'memory/a.md',
      Array.from({ length: 30 }, (_, index) => `# ${index}\nword ${index}`),
    );
    expect((await find('word', { maxResults: 3 })).split('\n\n')).toHaveLength(3);
    await write('memory/b.md', ['word unicorn']);
    expect(await find('word unicorn', { minScore: 0.9 })).toMatch(/^memory\/b\.md#L1 \(score 1\.00\)\nword unicorn$/);
  });

  test('finds Korean words with and without particles', async () => {
    await write('memory/a.md', ['김민수는 금요일에 회의를 했다.', '', '# 물', '물을 마신다.']);
    await write('memory/b.md', ['고양이가 정원에서부터 집까지 왔다.']);
    for (const query of ['회의', '회의는', '회의에서', '김민수', '김민수의', '금요일까지', '물']) {
      expect(await find(query), query).toContain('memory/a.md#');
      expect(await find(query), query).not.toContain('memory/b.md#');
    }
    for (const query of ['고양이', '고양이는', '정원', '정원을', '집']) {
      expect(await find(query), query).toContain('memory/b.md#');
      expect(await find(query), query).not.toContain('memory/a.md#');
    }
  });

  test('reads UTF-16 with a byte order mark, and names a file in another encoding', async () => {
    await mkdir(join(workspace.dir, 'memory'));
    await writeFile(join(workspace.dir, 'MEMORY.md'), '\ufeffAnna likes tea.', 'utf16le');
    await writeFile(join(workspace.dir, 'memory/latin.md'), Buffer.from('Tea in Gr\xfcnberg', 'latin1'));
    expect(await find('tea')).toMatch(
      /^MEMORY\.md#L1 .*\nAnna likes tea\.\n\n\[Not searched: memory\/latin\.md is not text in UTF-8 .*; convert it to UTF-8\.\]$/,
    );
    expect(contentOf(await get({ path: 'MEMORY.md' }))).toContain('\nAnna likes tea.');
    expect(await get({ path: 'memory/latin.md' })).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^memory_get: path: memory\/latin\.md is not text in UTF-8 .*iconv/),
    });
  });

  test('follows no link and reads no pipe (G30)', async () => {
    await writeFile(join(workspace.outsideDir, 'x.md'), 'outside secret');
    await mkdir(join(workspace.dir, 'memory'));
    await symlink(join(workspace.outsideDir, 'x.md'), join(workspace.dir, 'MEMORY.md'));
    await symlink(join(workspace.outsideDir, 'x.md'), join(workspace.dir, 'memory', 'link.md'));
    execFileSync('mkfifo', [join(workspace.dir, 'memory', 'pipe.md')]);
    await write('memory/own.md', ['own']);
    expect(await find('secret')).toBe('Nothing about "secret" in 1 file of memory.');
    await rm(join(workspace.dir, 'memory'), { recursive: true });
    await symlink(workspace.outsideDir, join(workspace.dir, 'memory'));
    expect(await find('secret')).toContain('There is no memory yet');
  });

  test.each([
    [{}, 'memory_search: query: '],
    [{ query: '  ' }, 'memory_search: query: '],
    [{ query: 'x', maxResults: 0 }, 'memory_search: maxResults: '],
    [{ query: 'x', corpus: 'all' }, '"corpus"'],
  ])('refuses %j and names the field', async (input, text) => {
    const outcome = await search.run(input, aToolCall({ workspaceDir: workspace.dir }));
    expect(outcome.isError).toBe(true);
    expect(outcome.content).toContain(text);
  });
});

describe('memory_get', () => {
  test('returns lines with their numbers and says where to continue', async () => {
    await write('memory/a.md', ['one', 'two', 'three', 'four']);
    expect(await get({ path: 'memory/a.md', from: 2, lines: 2 })).toEqual({
      content: '[memory/a.md, lines 2-3 of 4; continue with from: 4.]\ntwo\nthree',
      isError: false,
    });
    expect(contentOf(await get({ path: './memory/a.md' }))).toBe(
      '[memory/a.md, lines 1-4 of 4.]\none\ntwo\nthree\nfour',
    );
  });

  test('bounds its result (G28)', async () => {
    await write(
      'MEMORY.md',
      Array.from({ length: 3000 }, () => 'x'.repeat(100)),
    );
    const text = contentOf(await get({ path: 'MEMORY.md', lines: 2000 }));
    expect(text.length).toBeLessThan(50_200);
    expect(text).toMatch(/^\[MEMORY\.md, lines 1-495 of 3000; continue with from: 496\.\]/);
    await write('MEMORY.md', ['y'.repeat(3_000_000)]);
    const long = contentOf(await get({ path: 'MEMORY.md' }));
    expect(long.length).toBeLessThan(50_200);
    expect(long).toContain('lines 1-1 of more than 1. The last of them is cut.');
  });

  test.each([
    '../secret.md',
    '/etc/passwd',
    'AGENTS.md',
    'memory/../AGENTS.md',
    'memory/a/b.md',
    'memory/',
    'memory/x.txt',
  ])('refuses %s (G30)', async (path) => {
    const outcome = await get({ path });
    expect(outcome).toEqual({
      content: `memory_get: path: ${JSON.stringify(path)} is not a memory file; allowed: "MEMORY.md" or "memory/<name>.md"`,
      isError: true,
    });
  });

  test('reports a missing file', async () => {
    await write('memory/a.md', ['one']);
    await symlink(join(workspace.outsideDir, 'secret.txt'), join(workspace.dir, 'memory', 'link.md'));
    expect(contentOf(await get({ path: 'memory/b.md' }))).toContain('the file memory/b.md does not exist');
    expect(contentOf(await get({ path: 'memory/link.md' }))).toContain('the file memory/link.md does not exist');
    expect(contentOf(await get({ path: 'memory/a.md', from: 2 }))).toBe(
      'memory_get: from: memory/a.md has 1 lines, and 2 is after its end',
    );
  });
});
