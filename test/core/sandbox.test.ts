// The policy of a sandbox as arguments: what is shown, what is covered, and in which order, since a
// later mount lies over an earlier one.
import { describe, expect, test } from 'vitest';
import { bubblewrapArguments } from '../../src/tools/sandbox/rules/bubblewrap.ts';
import { containerArguments } from '../../src/tools/sandbox/rules/container.ts';
import {
  isHostAllowed,
  listMounts,
  sandboxEnvironment,
  type SandboxPolicy,
} from '../../src/tools/sandbox/rules/policy.ts';

const policy: SandboxPolicy = {
  workspaceDir: '/srv/data/workspace',
  isReadOnly: false,
  writable: [],
  readable: ['/opt/tools'],
  hidden: [
    { path: '/srv/data', isFolder: true },
    { path: '/opt/tools/other', isFolder: true },
    { path: '/etc/ssl/holdfast.json', isFolder: false },
    { path: '/srv/data/workspace/nested', isFolder: true },
    { path: '/srv/data/workspace/token', isFolder: false },
  ],
  links: [],
  proxySocket: null,
  limits: { cpuSeconds: 60, memoryBytes: 1000, processes: 64, fileBytes: 2000, tmpBytes: 3000 },
  image: 'tools:1',
};
const command = { argv: ['bash', '-c', 'true'], workdir: '/srv/data/workspace/sub' };

/** Where these words follow each other; -1: nowhere. */
function placeOf(words: readonly string[], ...wanted: string[]): number {
  return words.findIndex((_, at) => wanted.every((word, n) => words[at + n] === word));
}

describe('the arguments of bubblewrap', () => {
  const words = bubblewrapArguments(policy, command);

  test('leave every namespace and all capabilities outside', () => {
    expect(words.slice(0, 6)).toEqual([
      '--unshare-all',
      '--unshare-user',
      '--disable-userns',
      '--as-pid-1',
      '--cap-drop',
      'ALL',
    ]);
  });

  test('cover what is hidden below what is shown, and nothing else', () => {
    const workspace = placeOf(words, '--bind', policy.workspaceDir, policy.workspaceDir);
    expect(placeOf(words, '--tmpfs', '/opt/tools/other')).toBeGreaterThan(
      placeOf(words, '--ro-bind-try', '/opt/tools'),
    );
    expect(placeOf(words, '--ro-bind', '/dev/null', '/etc/ssl/holdfast.json')).toBeGreaterThan(0);
    expect(placeOf(words, '--tmpfs', '/srv/data/workspace/nested')).toBeGreaterThan(workspace);
    expect(placeOf(words, '--ro-bind', '/dev/null', '/srv/data/workspace/token')).toBeGreaterThan(workspace);
    // Nothing of it is shown but the workspace, so there is nothing to cover.
    expect(placeOf(words, '--tmpfs', '/srv/data')).toBe(-1);
    expect(placeOf(words, '--remount-ro', '/')).toBeGreaterThan(workspace);
  });

  test('end with the limits and the command', () => {
    const limits = ['--cpu=60', '--data=1000', '--nproc=64', '--fsize=2000', '--core=0'];
    expect(words.slice(placeOf(words, 'sh', 'prlimit') + 1)).toEqual(['prlimit', ...limits, '--', ...command.argv]);
    expect(placeOf(words, '--chdir', command.workdir, '--')).toBeGreaterThan(0);
  });

  test('bind the workspace read-only, and the socket of the proxy, when the policy says so', () => {
    const more = bubblewrapArguments({ ...policy, isReadOnly: true, proxySocket: '/run/p' }, command);
    expect(placeOf(more, '--ro-bind-try', policy.workspaceDir)).toBeGreaterThan(0);
    expect(placeOf(more, '--ro-bind', '/run/p')).toBeGreaterThan(placeOf(more, '--tmpfs', '/tmp'));
    expect(more.some((word) => word.includes('socat'))).toBe(true);
  });
});

test('the mounts of a policy are one for each path, and each lies over those that it is in', () => {
  const given = {
    ...policy,
    readable: ['/srv/notes', '/srv/notes/shared', '/home/agent/project/file', '/etc/keys/one'],
    writable: ['/home/agent', '/srv/notes'],
    workspaceDir: '/home/agent/.holdfast/mcp/tools',
    hidden: [
      { path: '/etc/keys/one', isFolder: false },
      { path: '/home/agent/.holdfast', isFolder: true },
      { path: '/srv/notes/key', isFolder: false },
    ],
  };
  expect(listMounts(given)).toEqual([
    ['/srv/notes', 'write'],
    ['/home/agent', 'write'],
    ['/etc/keys/one', 'empty-file'],
    ['/srv/notes/key', 'empty-file'],
    ['/home/agent/.holdfast', 'empty-folder'],
    ['/home/agent/.holdfast/mcp/tools', 'write'],
  ]);
});

describe('links by which a policy names what can be reached', () => {
  const linked: SandboxPolicy = {
    ...policy,
    links: [
      { path: '/work', target: policy.workspaceDir },
      { path: '/home/agent/tools', target: '/opt/tools' },
      { path: '/home/agent/notes', target: '/opt/tools/notes' },
      // A folder that is shown has it.
      { path: '/opt/tools/latest', target: '/opt/tools/version-1' },
      // Other mounts are there, or below.
      { path: '/tmp', target: '/mnt/tmp' },
      { path: '/srv', target: '/mnt/srv' },
      { path: '/lib', target: '/usr/lib' },
    ],
  };

  test('are made by bubblewrap, unless a folder has them or other mounts are in their way', () => {
    const words = bubblewrapArguments(linked, command);
    const made = words.flatMap((word, at) => (word === '--symlink' ? [words.slice(at + 1, at + 3).join(' ')] : []));
    expect(made).toEqual([
      '../tmp /var/tmp',
      '/srv/data/workspace /work',
      '/opt/tools /home/agent/tools',
      '/opt/tools/notes /home/agent/notes',
    ]);
    expect(placeOf(words, '--symlink', '/opt/tools')).toBeGreaterThan(placeOf(words, '--tmpfs', '/opt/tools/other'));
  });

  test('are mounts of a container, which would show what is covered: then there are none', () => {
    const user = { uid: 5, gid: 6 };
    const words = containerArguments('/usr/bin/docker', linked, { ...command, user, environment: {} });
    expect(words.filter((word) => /target=\/(?:home|work)/.test(word))).toEqual([
      '--mount=type=bind,source=/opt/tools/notes,target=/home/agent/notes,readonly',
    ]);
  });
});

test('the arguments of a container name its image, its limits, its user and no value of a variable', () => {
  const words = containerArguments('/usr/bin/docker', policy, {
    ...command,
    user: { uid: 5, gid: 6 },
    environment: { LANG: 'C', KEY: 'v', HOME: policy.workspaceDir },
  });
  const [inside, ...rest] = words.splice(words.indexOf('tools:1') + 1);
  expect([inside, rest[0], ...rest.slice(2)]).toEqual(['/bin/sh', '-c', 'sh', 'bash', '-c', 'true']);
  expect(words.join(' ')).toBe(
    'run --rm --interactive --init --network=none --read-only --cap-drop=ALL --security-opt=no-new-privileges --user=5:6 ' +
      '--tmpfs=/tmp:rw,size=3000,mode=1777 --tmpfs=/run:ro,size=4096 ' +
      '--mount=type=bind,source=/opt/tools,target=/opt/tools,readonly --tmpfs=/opt/tools/other:ro,size=4096 ' +
      '--mount=type=bind,source=/srv/data/workspace,target=/srv/data/workspace ' +
      '--mount=type=bind,source=/dev/null,target=/srv/data/workspace/token,readonly ' +
      '--tmpfs=/srv/data/workspace/nested:ro,size=4096 ' +
      '--ulimit=cpu=60 --ulimit=fsize=2000 --memory=1000 --pids-limit=64 --env LANG --env KEY ' +
      '--env HOME=/srv/data/workspace --workdir=/srv/data/workspace/sub tools:1',
  );
  const ofPodman = containerArguments('/usr/bin/podman', policy, {
    ...command,
    user: { uid: 5, gid: 6 },
    environment: {},
  });
  expect(ofPodman).toContain('--tmpfs=/opt/tools/other:ro,size=4096,notmpcopyup');
  const withComma = { ...policy, workspaceDir: '/srv/a,readonly' };
  expect(() =>
    containerArguments('/usr/bin/docker', withComma, { ...command, user: { uid: 5, gid: 6 }, environment: {} }),
  ).toThrow('has a comma');
});

test('a command in a sandbox sees a few variables of the service, and its workspace as its home', () => {
  const environment = {
    PATH: '/bin',
    LC_ALL: 'C',
    HOME: '/root',
    FOO: 'x',
    HOLDFAST_IDEMPOTENCY_KEY: 'k',
    LD_PRELOAD: '/x',
  };
  expect(sandboxEnvironment(environment, policy)).toEqual({
    PATH: '/bin',
    LC_ALL: 'C',
    HOLDFAST_IDEMPOTENCY_KEY: 'k',
    HOME: policy.workspaceDir,
  });
  expect(sandboxEnvironment(environment, { ...policy, proxySocket: '/run/p' })['https_proxy']).toBe(
    'http://127.0.0.1:3128',
  );
});

test.each([
  ['pypi.org', 443, ['pypi.org'], true],
  ['PyPI.org.', 443, ['pypi.org'], true],
  ['files.pypi.org', 443, ['pypi.org'], false],
  ['files.pypi.org', 443, ['*.pypi.org'], true],
  ['pypi.org', 443, ['*.pypi.org'], false],
  ['evilpypi.org', 443, ['*.pypi.org', 'pypi.org'], false],
  ['wiki.lan', 8080, ['wiki.lan:8080'], true],
  ['wiki.lan', 80, ['wiki.lan:8080'], false],
  ['any.example', 22, ['*'], true],
  ['any.example', 22, [], false],
])('%s:%i is allowed by %j: %s', (host, port, allowed, isAllowed) => {
  expect(isHostAllowed({ host, port }, allowed)).toBe(isAllowed);
});
