// The file tools on a real file system: their effects, and that they read or write nothing outside
// the workspace.
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { editTool, createReadTool, writeTool } from '../../src/tools/file-tools.ts';
import { grepTool } from '../../src/tools/grep-tool.ts';
import { longestFileCall } from '../../src/files/file-slots.ts';
import { runTool } from '../../src/tools/run-tool.ts';
import type { Tool, ToolOutcome } from '../../src/tools/tool.ts';
import { aToolCall } from './tool-call.ts';
import { createWorkspace, type Workspace } from './workspace.ts';
import { SLOWNESS_MAX } from '../servers/busy-machine.ts';

const readTool = createReadTool([]);

const MARKED_TEXT = '\ufeffgrün 😀\r\nrot';
const MARKED_FILES = {
  'utf-8.txt': Buffer.from(MARKED_TEXT),
  'utf-16le.txt': Buffer.from(MARKED_TEXT, 'utf16le'),
  'utf-16be.txt': Buffer.from(MARKED_TEXT, 'utf16le').swap16(),
};

let workspace: Workspace;

beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(() => workspace.remove());

function run(tool: Tool, input: unknown): Promise<ToolOutcome> {
  return tool.run(input, aToolCall({ workspaceDir: workspace.dir }));
}

async function file(path: string, content: string): Promise<void> {
  await writeFile(join(workspace.dir, path), content);
}

describe('the path of a file', () => {
  test('can be called `path`, as other tools call it', async () => {
    expect((await run(writeTool, { path: 'a.txt', content: 'one' })).isError).toBe(false);
    const edited = await run(editTool, { path: 'a.txt', old_string: 'one', new_string: 'two' });
    expect(edited.isError).toBe(false);
    expect(await run(readTool, { path: 'a.txt' })).toEqual({ content: 'two', isError: false });
    expect(await run(readTool, { path: 'a.txt', file_path: 'a.txt' })).toEqual({ content: 'two', isError: false });
  });

  test('is refused when the two names differ, or neither is there', async () => {
    await file('a.txt', 'one');
    expect(await run(readTool, { path: 'a.txt', file_path: 'b.txt' })).toEqual({
      content: 'read: file_path and path differ; give file_path alone',
      isError: true,
    });
    expect((await run(readTool, {})).content).toContain('file_path');
    expect((await run(grepTool, { pattern: 'x', path: '../..' })).isError).toBe(true);
  });
});

describe('a folder outside the workspace that is configured as readable', () => {
  test('is read by absolute paths, and nothing around it', async () => {
    const other = await createWorkspace();
    await writeFile(join(other.dir, 'outside.md'), 'secret');
    await mkdir(join(other.dir, 'docs'));
    await writeFile(join(other.dir, 'docs', 'prompts.md'), '# Prompts');
    await symlink(join(other.dir, 'outside.md'), join(other.dir, 'docs', 'link.md'));
    const reader = createReadTool([join(other.dir, 'docs')]);
    const read = (path: string): Promise<ToolOutcome> => run(reader, { file_path: path });
    expect(await read(join(other.dir, 'docs/prompts.md'))).toEqual({ content: '# Prompts', isError: false });
    for (const path of ['outside.md', 'docs/../outside.md', 'docs/link.md']) {
      expect((await read(join(other.dir, path))).isError).toBe(true);
    }
    const write = await run(writeTool, { file_path: join(other.dir, 'docs/new.md'), content: 'x' });
    expect(write.isError).toBe(true);
    await other.remove();
  });
});

describe('read', () => {
  test('a file is returned unchanged', async () => {
    await file('a.txt', 'one\ntwo\n');
    expect(await run(readTool, { file_path: 'a.txt' })).toEqual({ content: 'one\ntwo\n', isError: false });
  });

  test('a view range selects lines, and -1 reads to the end', async () => {
    await file('a.txt', 'one\ntwo\nthree');
    expect((await run(readTool, { file_path: 'a.txt', view_range: [2, 2] })).content).toBe('two');
    expect((await run(readTool, { file_path: 'a.txt', view_range: [2, -1] })).content).toBe('two\nthree');
  });

  test('a file that begins with a byte order mark is read in its encoding, without the mark', async () => {
    for (const [name, bytes] of Object.entries(MARKED_FILES)) {
      await writeFile(join(workspace.dir, name), bytes);
      expect(await run(readTool, { file_path: name }), name).toEqual({ content: 'grün 😀\r\nrot', isError: false });
      expect((await run(readTool, { file_path: name, view_range: [2, 2] })).content, name).toBe('rot');
    }
  });

  test('a NUL stays, and so does every character at the seams of the pieces that a large file is read in', async () => {
    const text = `${'aä€😀\u0000'.repeat(30_000)}\nlast`;
    await file('a.txt', text);
    expect((await run(readTool, { file_path: 'a.txt', view_range: [2, 2] })).content).toBe('last');
    await file('b.txt', text.slice(0, 99_996));
    expect((await run(readTool, { file_path: 'b.txt' })).content).toBe(text.slice(0, 99_996));
  });

  test('a missing file is an error result that names it', async () => {
    const outcome = await run(readTool, { file_path: 'none.txt' });
    expect(outcome).toEqual({ content: 'read: none.txt: no such file or directory', isError: true });
  });

  test('a file over 256 KiB is refused with the way to read it, and its lines can be read (G28)', async () => {
    await file('big.txt', `${'x'.repeat(99)}\n`.repeat(10_000));
    const whole = await run(readTool, { file_path: 'big.txt' });
    expect(whole.isError).toBe(true);
    expect(whole.content).toContain('view_range');
    expect((await run(readTool, { file_path: 'big.txt', view_range: [9_999, 9_999] })).content).toBe('x'.repeat(99));
  });

  test.each([
    { tool: readTool, more: {} },
    { tool: readTool, more: { view_range: [2, 3] } },
    { tool: writeTool, more: { content: 'text' } },
  ])(
    'a file that is too large to be read to its end is refused immediately: $tool.spec.name $more (G25)',
    async ({ tool, more }) => {
      await file('sparse', '');
      await truncate(join(workspace.dir, 'sparse'), 2 ** 40);
      const outcome = await run(tool, { file_path: 'sparse', ...more });
      expect(outcome.isError).toBe(true);
      expect(outcome.content).toContain('1099511627776 bytes, more than the 67108864 that can be');
      expect(longestFileCall()).toBeNull();
    },
  );

  test('a named pipe is refused instead of waited for (G41)', async () => {
    execFileSync('mkfifo', [join(workspace.dir, 'pipe')]);
    expect((await run(readTool, { file_path: 'pipe' })).content).toBe('read: pipe is not a regular file');
  });
});

describe('a file that is not text', () => {
  const foreign = {
    'windows-1252.txt': Buffer.from('Gr\xfc\xdfe aus K\xf6ln', 'latin1'),
    'shift-jis.txt': Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x20, 0x6f, 0x6e, 0x65]),
    'logo.png': Buffer.from('\x89PNG\r\n\x1a\n one', 'latin1'),
    'half.txt': Buffer.from([0xff, 0xfe, 0x61]),
    'cut.txt': Buffer.from('one €').subarray(0, -1),
  };

  test.each(Object.entries(foreign))(
    'is refused by name with what to do, and stays as it is: %s',
    async (name, bytes) => {
      await writeFile(join(workspace.dir, name), bytes);
      const inputs: [Tool, object][] = [
        [readTool, {}],
        [readTool, { view_range: [1, 1] }],
        [editTool, { old_string: 'one', new_string: 'two' }],
        [writeTool, { content: 'two' }],
      ];
      for (const [tool, more] of inputs) {
        const outcome = await run(tool, { file_path: name, ...more });
        expect(outcome.isError).toBe(true);
        expect(outcome.content).toMatch(
          new RegExp(
            `^(read|edit|write): ${name} is not text in UTF-8 .*, so it was not (read|changed|replaced); .*iconv`,
          ),
        );
      }
      expect(await readFile(join(workspace.dir, name))).toEqual(bytes);
    },
  );

  test('is found by a range of lines that ends before its first foreign byte', async () => {
    const bytes = Buffer.concat([Buffer.from('line\n'.repeat(60_000)), Buffer.from([0xff])]);
    await writeFile(join(workspace.dir, 'big.txt'), bytes);
    expect((await run(readTool, { file_path: 'big.txt', view_range: [1, 2] })).isError).toBe(true);
  });
});

describe('write', () => {
  test('a path that ends in a slash names a folder and is refused', async () => {
    for (const path of ['notes/', 'a/b/', './', 'notes/.', '..\u002f']) {
      const outcome = await run(writeTool, { file_path: path, content: 'text' });
      expect(outcome.isError, path).toBe(true);
      expect(outcome.content).toContain(
        `write: file_path: ${JSON.stringify(path)} names a folder; give the name of a file`,
      );
    }
    await expect(stat(join(workspace.dir, 'notes'))).rejects.toThrow('ENOENT');
  });

  test('a file is created with its directories', async () => {
    expect((await run(writeTool, { file_path: 'a/b/c.txt', content: 'text' })).isError).toBe(false);
    expect(await readFile(join(workspace.dir, 'a/b/c.txt'), 'utf8')).toBe('text');
  });

  test('writing the same twice leaves the same file', async () => {
    await run(writeTool, { file_path: 'a.txt', content: 'text' });
    await run(writeTool, { file_path: 'a.txt', content: 'text' });
    expect(await readFile(join(workspace.dir, 'a.txt'), 'utf8')).toBe('text');
  });

  test('an aborted call writes nothing and rejects with the reason', async () => {
    const reason = new Error('stop');
    const call = aToolCall({ workspaceDir: workspace.dir, signal: AbortSignal.abort(reason) });
    await expect(writeTool.run({ file_path: 'a.txt', content: 'text' }, call)).rejects.toBe(reason);
    await expect(stat(join(workspace.dir, 'a.txt'))).rejects.toThrow('ENOENT');
  });
});

describe('edit', () => {
  test('that changes nothing is an error', async () => {
    await run(writeTool, { file_path: 'same.txt', content: 'one' });
    expect(await run(editTool, { file_path: 'same.txt', old_string: 'one', new_string: 'one' })).toMatchObject({
      isError: true,
      content: expect.stringContaining('old_string and new_string are the same'),
    });
  });

  test('one occurrence is replaced, with patterns in the new text taken literally', async () => {
    await file('a.txt', 'one two');
    expect((await run(editTool, { file_path: 'a.txt', old_string: 'two', new_string: '$& 2' })).isError).toBe(false);
    expect(await readFile(join(workspace.dir, 'a.txt'), 'utf8')).toBe('one $& 2');
  });

  test('an ambiguous text is refused and the file stays', async () => {
    await file('a.txt', 'x x');
    const outcome = await run(editTool, { file_path: 'a.txt', old_string: 'x', new_string: 'y' });
    expect(outcome).toEqual({ content: 'edit: old_string appears 2 times in a.txt (must be unique)', isError: true });
    expect(await readFile(join(workspace.dir, 'a.txt'), 'utf8')).toBe('x x');
  });

  test('replace_all replaces every occurrence', async () => {
    await file('a.txt', 'x x');
    await run(editTool, { file_path: 'a.txt', old_string: 'x', new_string: 'y', replace_all: true });
    expect(await readFile(join(workspace.dir, 'a.txt'), 'utf8')).toBe('y y');
  });

  test('an edit changes the bytes of the match and no other, also after a byte order mark', async () => {
    for (const [name, bytes] of Object.entries(MARKED_FILES)) {
      await writeFile(join(workspace.dir, name), bytes);
      const outcome = await run(editTool, { file_path: name, old_string: 'rot', new_string: 'gelb €' });
      expect(outcome.isError, name).toBe(false);
      const encoding = /utf-16(?<order>[lb]e)/.exec(name)?.groups?.['order'];
      const [before, after] = ['rot', 'gelb €'].map((text) =>
        encoding === undefined
          ? Buffer.from(text)
          : encoding === 'le'
            ? Buffer.from(text, 'utf16le')
            : Buffer.from(text, 'utf16le').swap16(),
      ) as [Buffer, Buffer];
      const kept = bytes.subarray(0, bytes.length - before.length);
      expect(await readFile(join(workspace.dir, name)), name).toEqual(Buffer.concat([kept, after]));
    }
  });

  test('a line break of old_string matches both kinds, and the replacement takes those of the place', async () => {
    const edit = async (content: string, from: string, to: string, more = {}): Promise<string> => {
      await file('a.txt', content);
      const outcome = await run(editTool, { file_path: 'a.txt', old_string: from, new_string: to, ...more });
      expect(outcome, content).toMatchObject({ isError: false });
      return await readFile(join(workspace.dir, 'a.txt'), 'utf8');
    };
    expect(await edit('one\r\ntwo\r\n', 'one\ntwo', '1\n1b\n2')).toBe('1\r\n1b\r\n2\r\n');
    expect(await edit('one\r\ntwo\r\n', 'two', '2\n3')).toBe('one\r\n2\r\n3\r\n');
    expect(await edit('one\r\ntwo', 'two', '2\n3')).toBe('one\r\n2\r\n3');
    expect(await edit('one\r\ntwo\r\n', 'one\r\ntwo', '1\n2')).toBe('1\r\n2\r\n');
    expect(await edit('one\ntwo\n', 'one\ntwo', '1\n2')).toBe('1\n2\n');
    expect(await edit('one\ntwo\nthree\r\n', 'two', '2\n2b')).toBe('one\n2\n2b\nthree\r\n');
    expect(await edit('a\nb\na\r\nb\r\n', 'a\nb', 'c\nd', { replace_all: true })).toBe('c\nd\nc\r\nd\r\n');
    expect(await edit('one', 'one', '1\r\n2')).toBe('1\r\n2');
    expect(await edit('a.b*\r\n(c', 'b*\n(c', '$1\n$&')).toBe('a.$1\r\n$&');
  });

  test('that would change line ends alone is refused', async () => {
    await file('a.txt', 'one\r\ntwo\r\n');
    const outcome = await run(editTool, { file_path: 'a.txt', old_string: 'one\r\n', new_string: 'one\n' });
    expect(outcome).toMatchObject({ isError: true, content: expect.stringContaining('keeps the line ends') });
  });

  test('half of a surrogate pair is not a character, and is found nowhere', async () => {
    await file('a.txt', '😀');
    const outcome = await run(editTool, { file_path: 'a.txt', old_string: '\ud83d', new_string: 'x' });
    expect(outcome).toEqual({ content: 'edit: old_string not found in a.txt', isError: true });
    expect(await readFile(join(workspace.dir, 'a.txt'), 'utf8')).toBe('😀');
  });

  test('replacing a letter by a long text is refused before it fills the memory (G28)', async () => {
    await file('a.txt', 'x'.repeat(200_000));
    const input = { file_path: 'a.txt', old_string: 'x', new_string: 'y'.repeat(10_000), replace_all: true };
    const outcome = await run(editTool, input);
    expect(outcome.isError).toBe(true);
    expect(outcome.content).toContain('new_string');
  });
});

describe('grep', () => {
  test('matching lines are returned with path and number', async () => {
    await file('a.txt', 'one\ntwo\n');
    const outcome = await run(grepTool, { pattern: 't.o' });
    expect(outcome.content).toContain(`${join(workspace.dir, 'a.txt')}:2:two`);
  });

  test('a pattern that is no regular expression is an error result', async () => {
    await file('a.txt', 'one');
    expect((await run(grepTool, { pattern: '(' })).isError).toBe(true);
    // That one is too large shows when it is first matched.
    const outcome = await run(grepTool, { pattern: '(?:a??){9999999}b' });
    expect(outcome).toEqual({
      isError: true,
      content: expect.stringMatching(/^grep: pattern: is too large to be matched; /),
    });
  });

  test('a pattern whose compilation would end the process is refused (G25)', async () => {
    const pattern = `${'('.repeat(3_300)}a${')?'.repeat(3_300)}`;
    expect(await run(grepTool, { pattern })).toEqual({
      isError: true,
      content: 'grep: pattern: has 9901 characters, and at most 2000 can be matched; give a shorter one',
    });
  });

  test('many matches are cut (G28)', async () => {
    await file('a.txt', `${'x'.repeat(1_000)}\n`.repeat(1_000));
    const { content } = await run(grepTool, { pattern: 'x' });
    expect(content.length).toBeLessThan(110_000);
    expect(content).toContain('truncated');
  });

  test('a pattern that backtracks endlessly ends at its deadline (G25)', async () => {
    await file('a.txt', `${'a'.repeat(1_900)}\n`.repeat(2_000));
    const startMs = performance.now();
    const call = aToolCall({ workspaceDir: workspace.dir });
    const outcome = await runTool(grepTool, { pattern: '(a|a)*(a|a)*c' }, call, { timeoutMs: 300 });
    expect(performance.now() - startMs).toBeLessThan(1_300 * SLOWNESS_MAX);
    expect(outcome.content).toMatch(/^grep timed out after 0.3 s/);
  });
});

describe('confinement (G30)', () => {
  const inputs = (path: string): [string, Tool, unknown][] => [
    ['read', readTool, { file_path: path }],
    ['write', writeTool, { file_path: path, content: 'overwritten' }],
    ['edit', editTool, { file_path: path, old_string: 'secret', new_string: 'overwritten' }],
    ['grep', grepTool, { pattern: 'secret', path }],
  ];

  async function expectRefused(path: string): Promise<void> {
    for (const [name, tool, input] of inputs(path)) {
      const outcome = await run(tool, input);
      expect(outcome.isError, name).toBe(true);
      expect(outcome.content, name).toMatch(/outside|symbolic links/);
      expect(outcome.content, name).not.toContain('the secret');
    }
    expect(await readFile(join(workspace.outsideDir, 'secret.txt'), 'utf8')).toBe('the secret');
  }

  test('a path that climbs out is refused', () => expectRefused('../outside/secret.txt'));

  test('a path that climbs out of a directory that does not exist is refused', () =>
    expectRefused('none/../../outside/secret.txt'));

  test('an absolute path outside is refused', () => expectRefused(join(workspace.outsideDir, 'secret.txt')));

  test('a directory whose name begins with that of the workspace is outside', async () => {
    await mkdir(`${workspace.dir}-2`);
    await writeFile(`${workspace.dir}-2/secret.txt`, 'the secret');
    await expectRefused('../workspace-2/secret.txt');
  });

  test('a symlink to a file outside is refused', async () => {
    await symlink(join(workspace.outsideDir, 'secret.txt'), join(workspace.dir, 'link.txt'));
    await expectRefused('link.txt');
  });

  test('a path through a symlinked directory is refused', async () => {
    await symlink(workspace.outsideDir, join(workspace.dir, 'link'));
    await expectRefused('link/secret.txt');
  });

  test('a chain of symlinks that ends outside is refused', async () => {
    await symlink(workspace.outsideDir, join(workspace.dir, 'second'));
    await symlink('second', join(workspace.dir, 'first'));
    await expectRefused('first/secret.txt');
  });

  test('a symlink loop is refused', async () => {
    await symlink('b', join(workspace.dir, 'a'));
    await symlink('a', join(workspace.dir, 'b'));
    await expectRefused('a');
  });

  test('writing through a dangling symlink creates nothing outside', async () => {
    await symlink(join(workspace.outsideDir, 'new.txt'), join(workspace.dir, 'link.txt'));
    expect((await run(writeTool, { file_path: 'link.txt', content: 'x' })).isError).toBe(true);
    await expect(stat(join(workspace.outsideDir, 'new.txt'))).rejects.toThrow('ENOENT');
  });

  test('searching everything does not follow a symlink out', async () => {
    await symlink(workspace.outsideDir, join(workspace.dir, 'link'));
    expect((await run(grepTool, { pattern: 'secret' })).content).toBe('no matches');
  });

  test('an absolute path inside is accepted', async () => {
    await file('a.txt', 'text');
    expect((await run(readTool, { file_path: join(workspace.dir, 'a.txt') })).content).toBe('text');
  });

  test('a symlink inside that stays inside is followed', async () => {
    await file('a.txt', 'text');
    await symlink('a.txt', join(workspace.dir, 'link.txt'));
    expect((await run(readTool, { file_path: 'link.txt' })).content).toBe('text');
  });
});

describe('bad input is an error result that names the field', () => {
  test.each<[string, Tool, unknown, string]>([
    ['a missing field', readTool, {}, 'read: file_path: '],
    ['a wrong type', writeTool, { file_path: 'a', content: 3 }, 'write: content: '],
    ['a range that is turned round', readTool, { file_path: 'a', view_range: [10, 2] }, 'read: view_range: must be'],
    ['a range from line 0', readTool, { file_path: 'a', view_range: [0, 2] }, 'read: view_range: must be'],
    ['a range from line -1', readTool, { file_path: 'a', view_range: [-1, 2] }, 'read: view_range: must be'],
    ['a range to line 0', readTool, { file_path: 'a', view_range: [1, 0] }, 'read: view_range: must be'],
    ['a wrong type within a list', readTool, { file_path: 'a', view_range: [1, 'x'] }, 'read: view_range.1: '],
    ['an empty text', editTool, { file_path: 'a', old_string: '', new_string: '' }, 'edit: old_string: '],
    ['an unknown field', grepTool, { pattern: 'a', glob: 'b' }, '"glob"'],
    ['no object', readTool, 'a.txt', 'read: is "a.txt"; allowed: an object'],
    ['nothing', readTool, undefined, 'read: is missing; allowed: an object'],
  ])('%s', async (_title, tool, input, text) => {
    const outcome = await run(tool, input);
    expect(outcome.isError).toBe(true);
    expect(outcome.content).toContain(text);
  });
});
