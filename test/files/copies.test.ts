// Copies of files: bounded by what is read, whatever the file says of its size.
import { mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { copyFile, FileTooLargeError, hashFile } from '../../src/files/copies.ts';

const { signal } = new AbortController();

test.skipIf(process.platform !== 'linux')(
  'a file that has more bytes than it says is not read beyond the bound',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-copies-'));
    // The kernel says that it is empty, as of a file that is written after it was looked at.
    const file = await open('/proc/self/status');
    onTestFinished(async () => {
      await file.close();
      await rm(folder, { recursive: true });
    });
    expect((await file.stat()).size).toBe(0);
    await expect(copyFile(file, { folder, name: 'copy', bytesMax: 10, signal })).rejects.toThrow(FileTooLargeError);
    await expect(hashFile(file, { bytesMax: 10, signal })).rejects.toThrow(FileTooLargeError);
    expect(await readdir(folder)).toEqual([]);
    await copyFile(file, { folder, name: 'copy', bytesMax: 100_000, signal });
    expect(await readFile(join(folder, 'copy'), 'utf8')).toContain('Name:');
  },
);

test('the hash is that of the bytes that were copied', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-copies-'));
  const file = await open(import.meta.filename);
  onTestFinished(async () => {
    await file.close();
    await rm(folder, { recursive: true });
  });
  const copied = await copyFile(file, { folder, name: 'copy', bytesMax: 1_000_000, signal });
  const copy = await open(join(folder, 'copy'));
  expect(await hashFile(copy, { bytesMax: 1_000_000, signal })).toMatchObject(copied);
  await copy.close();
});
