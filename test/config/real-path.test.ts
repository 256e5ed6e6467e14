// Real paths of what exists and of what does not, and the links on the way.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { linksOnTheWay, realPathOf } from '../../src/config/places.ts';

test('the part of a path that does not exist is kept, without a slash at its end', () => {
  expect(realPathOf('/there-is-no-such-folder/sub/')).toBe('/there-is-no-such-folder/sub');
  expect(realPathOf(join(tmpdir(), 'there-is-no-such-folder'))).toBe(
    join(realpathSync(tmpdir()), 'there-is-no-such-folder'),
  );
});

test('every link that the kernel follows is found, also one that another leads to', () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-links-')));
  onTestFinished(() => rmSync(base, { recursive: true }));
  mkdirSync(join(base, 'real/sub'), { recursive: true });
  symlinkSync('real', join(base, 'second'));
  symlinkSync('./second/', join(base, 'first'));
  expect(linksOnTheWay(join(base, 'first/sub'))).toEqual(
    ['first', 'second'].map((name) => ({ path: join(base, name), target: join(base, 'real') })),
  );
  expect(linksOnTheWay(join(base, 'absent'))).toEqual([]);
});
