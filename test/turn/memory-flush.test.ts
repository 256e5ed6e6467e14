import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentOf, loadConfig } from '../../src/config.ts';
import type { ContentBlock } from '../../src/core/content.ts';
import type { ModelAnswer } from '../../src/core/model-request.ts';
import { appendMemory, mayFlushMemory, toMemoryNote } from '../../src/kernel/turn/compact/memory-flush.ts';

const note = { path: 'memory/2026-01-31.md', text: 'The user drinks tea.' };
const day = { now: new Date('2026-01-31T23:30:00Z'), timeZone: 'UTC' };
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-memory-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function memory(): Promise<string> {
  return readFile(join(dir, note.path), 'utf8');
}

function answerOf(...content: ContentBlock[]): ModelAnswer {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  return { id: 'msg', model: 'm', content, stopReason: 'tool_use', usage };
}

function call(name: string, input: unknown): ContentBlock {
  return { type: 'tool_use', id: `toolu_${name}`, name, input };
}

describe('a note', () => {
  test("is the input of the memory tool, for the day in the user's time zone", () => {
    const answer = answerOf(call('memory_append', { text: 'tea ' }), call('memory_append', { text: 'no milk' }));
    expect(toMemoryNote(answer, day)).toEqual({ path: 'memory/2026-01-31.md', text: 'tea \n\nno milk' });
    expect(toMemoryNote(answer, { ...day, timeZone: 'Asia/Tokyo' })!.path).toBe('memory/2026-02-01.md');
  });

  test('is written for no other tool and no other input (G30)', () => {
    expect(toMemoryNote(answerOf(call('write', { text: 'x' }), call('exec', { command: 'x' })), day)).toBeNull();
    expect(toMemoryNote(answerOf(call('memory_append', { path: '../x' }), call('memory_append', 'x')), day)).toBeNull();
    expect(toMemoryNote(answerOf(call('memory_append', { text: ' \n' })), day)).toBeNull();
  });

  test('chooses its file itself, whatever the input', () => {
    const answer = answerOf(call('memory_append', { text: 'tea', path: '../../etc/passwd' }));
    expect(toMemoryNote(answer, day)!.path).toBe('memory/2026-01-31.md');
  });
});

describe('appending', () => {
  test('creates the file, or appends to it', async () => {
    await appendMemory(dir, note, 'first');
    await appendMemory(dir, { ...note, text: 'And honey.' }, 'second');
    expect(await memory()).toBe(
      '<!-- compaction first -->\nThe user drinks tea.\n\n<!-- compaction second -->\nAnd honey.\n',
    );
  });

  test('happens once per compaction, however often it is tried (G11)', async () => {
    await mkdir(join(dir, 'memory'));
    await writeFile(join(dir, note.path), 'by hand');
    await appendMemory(dir, note, 'first');
    await appendMemory(dir, note, 'first');
    expect(await memory()).toBe('by hand\n\n<!-- compaction first -->\nThe user drinks tea.\n');
  });

  test('does not follow a link out of the workspace', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'holdfast-outside-'));
    await symlink(outside, join(dir, 'memory'));
    await expect(appendMemory(dir, note, 'first')).rejects.toMatchObject({ code: 'memory_place_refused' });
    await rm(join(dir, 'memory'));
    await mkdir(join(dir, 'memory'));
    await writeFile(join(outside, 'file'), 'theirs');
    await symlink(join(outside, 'file'), join(dir, note.path));
    await expect(appendMemory(dir, note, 'first')).rejects.toMatchObject({ code: 'memory_place_refused' });
    expect(await readFile(join(outside, 'file'), 'utf8')).toBe('theirs');
    await rm(outside, { recursive: true });
  });

  test('appends nothing to a file in UTF-16, which would be unreadable afterwards', async () => {
    await mkdir(join(dir, 'memory'));
    const bytes = Buffer.from('\ufeffby hand', 'utf16le');
    await writeFile(join(dir, note.path), bytes);
    await expect(appendMemory(dir, note, 'first')).rejects.toThrow('is in UTF-16');
    expect(await readFile(join(dir, note.path))).toEqual(bytes);
  });

  test('writes only to regular files', async () => {
    await mkdir(join(dir, 'memory'));
    await promisify(execFile)('mkfifo', [join(dir, note.path)]);
    await expect(appendMemory(dir, note, 'first')).rejects.toMatchObject({ code: 'memory_place_refused' });
  });
});

test('an agent flushes unless it is off, its tools are denied, or its workspace is read-only', async () => {
  const mayFlush = async (settings: object): Promise<boolean> => {
    await writeFile(join(dir, 'holdfast.json'), JSON.stringify(settings));
    const config = loadConfig({ env: { HOLDFAST_DATA_DIR: dir }, cwd: dir });
    return mayFlushMemory(config, agentOf(config, 'main'));
  };
  expect(await mayFlush({})).toBe(true);
  expect(await mayFlush({ agents: { defaults: { compaction: { memoryFlush: { enabled: false } } } } })).toBe(false);
  expect(await mayFlush({ tools: { deny: ['memory_*'] } })).toBe(false);
  expect(await mayFlush({ tools: { allow: ['read'] } })).toBe(false);
  expect(await mayFlush({ sandbox: { enabled: true, runtime: 'external', workspaceAccess: 'read-only' } })).toBe(false);
});
