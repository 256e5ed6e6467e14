// What a command in a sandbox must not be able to do, tried on the real kernel through the exec
// tool (G30). A canary prints WON when it has done it; the same canaries outside the sandbox show
// that they would.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeUnless, readCommandLines, RUNTIMES } from './machine-sandbox.ts';
import { openSandboxRig, type SandboxRig } from './sandbox-rig.ts';

const MIB = 1_048_576;
const LIMITS = { cpuSeconds: 1, memoryBytes: 256 * MIB, processes: 64, fileBytes: 16 * MIB, tmpBytes: 8 * MIB };

interface Canary {
  title: string;
  command: (rig: SandboxRig) => string;
  /** Succeeds outside, which is harmless; absent: is not tried there. */
  isControlled?: true;
}

const CANARIES: Canary[] = [
  // What it can read.
  { title: 'a key in the environment', command: () => 'env | grep -q PLAIN-SECRET && echo WON', isControlled: true },
  {
    title: 'a key in a file of the data directory',
    command: ({ dataDir }) => `grep -q KEY-IN-FILE ${dataDir}/api-key && echo WON`,
    isControlled: true,
  },
  {
    title: 'the data directory',
    command: ({ dataDir }) => `ls ${dataDir} | grep -vq '^workspace$' && echo WON`,
    isControlled: true,
  },
  { title: 'the configuration', command: ({ base }) => `[ -e ${base}/holdfast.json ] && echo WON`, isControlled: true },
  {
    title: 'another workspace',
    command: ({ base }) => `cat ${base}/other/* | grep -q DIARY && echo WON`,
    isControlled: true,
  },
  { title: '/tmp of the machine', command: ({ base }) => `[ -e ${base}/other ] && echo WON`, isControlled: true },
  { title: 'password hashes', command: () => '[ -e /etc/shadow ] && echo WON', isControlled: true },
  { title: 'homes', command: () => '[ -e /root ] && echo WON; [ -e /home ] && echo WON', isControlled: true },
  {
    title: 'the environment of the service by /proc',
    command: () => `[ -e /proc/${process.pid}/environ ] && echo WON`,
    isControlled: true,
  },
  {
    title: 'the environment of its parent by /proc',
    command: () => `cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -q PLAIN-SECRET && echo WON`,
    isControlled: true,
  },
  {
    title: 'its parent by a link of /proc',
    command: ({ dataDir }) => `cat /proc/1/root${dataDir}/api-key | grep -q KEY && echo WON`,
  },
  {
    title: 'a key by a symbolic link',
    command: ({ dataDir }) => `ln -s ${dataDir}/api-key key; grep -q KEY-IN-FILE key && echo WON`,
    isControlled: true,
  },
  {
    title: 'a key by a link that is exchanged',
    command: ({ dataDir }) =>
      `echo x > safe; (for i in $(seq 100); do ln -sf safe race; ln -sf ${dataDir}/api-key race; done) & for i in $(seq 100); do read -r line < race && [ "$line" = KEY-IN-FILE ] && echo WON; done; wait`,
  },
  {
    title: 'devices',
    command: () => 'ls /dev/mem /dev/kmsg /dev/sd* /dev/vd* /dev/nvme* 2>/dev/null | grep -q . && echo WON',
  },
  // What it can change.
  { title: 'programs', command: () => '(: > /usr/bin/canary) && echo WON; (: > /bin/canary) && echo WON' },
  { title: 'accounts', command: () => '(echo x >> /etc/passwd) && echo WON; (: > /etc/canary) && echo WON' },
  {
    title: 'settings of the kernel',
    command: () => '(echo canary > /proc/sys/kernel/hostname) && echo WON; hostname canary && echo WON',
  },
  {
    title: 'mounts',
    command: () =>
      'mount -t tmpfs none /mnt && echo WON; mount -o remount,rw / && echo WON; mount --bind /tmp /usr && echo WON; umount /proc && echo WON',
  },
  { title: 'its user namespace', command: () => 'unshare -U true && echo WON; unshare -Urm true && echo WON' },
  {
    title: 'the namespaces of others',
    command: () => `nsenter -t ${process.ppid} -m true && echo WON; nsenter -t ${process.pid} -a true && echo WON`,
  },
  { title: 'its root', command: () => 'chroot / true && echo WON' },
  { title: 'device files', command: () => 'mknod disk b 8 0 && echo WON' },
  {
    title: 'its user',
    command: () =>
      `perl -e '$u = $>; $> = $u + 1; print "WON\\n" if $> != $u; $< = 0; $> = 0; print "WON\\n" if $> == 0 && $u != 0'`,
  },
  {
    title: 'capabilities',
    command: () => `grep -E '^Cap(Eff|Prm|Bnd)' /proc/self/status | grep -vq '0000000000000000$' && echo WON`,
  },
  // Whom it can reach.
  { title: 'the service by signals', command: () => `kill -0 ${process.pid} && echo WON` },
  {
    title: 'the service by ptrace',
    command: () => `perl -e 'print "WON\\n" if syscall(101, 16, ${process.pid}, 0, 0) == 0'`,
  },
  {
    title: 'the socket of the database',
    command: ({ dataDir }) =>
      `perl -MIO::Socket::UNIX -e 'print "WON\\n" if IO::Socket::UNIX->new("${dataDir}/database.sock")'`,
    isControlled: true,
  },
  {
    title: 'the API on loopback',
    command: ({ port }) => `(exec 3<>/dev/tcp/127.0.0.1/${port}) && echo WON`,
    isControlled: true,
  },
  { title: 'the metadata address', command: () => '(exec 3<>/dev/tcp/169.254.169.254/80) && echo WON' },
  { title: 'an address of the internet', command: () => '(exec 3<>/dev/tcp/1.1.1.1/443) && echo WON' },
  { title: 'names', command: () => 'getent hosts example.com && echo WON; getent hosts dns.google && echo WON' },
  { title: 'raw sockets', command: () => `perl -MSocket -e 'print "WON\\n" if socket(my $s, PF_INET, SOCK_RAW, 1)'` },
  { title: 'other interfaces', command: () => `grep -c : /proc/net/dev | grep -vq '^1$' && echo WON` },
  // What it can use up.
  { title: 'a disk by a sparse file', command: () => '(truncate -s 1T big) && echo WON' },
  { title: 'a disk by a long file', command: () => '(head -c 32M /dev/zero > long) && echo WON' },
  { title: 'memory by /tmp', command: () => '(head -c 12M /dev/zero > /tmp/full) && echo WON' },
  {
    title: 'memory by folders of the system',
    command: () => '(: > /canary) && echo WON; (: > /dev/canary) && echo WON; (: > /run/canary) && echo WON',
  },
  { title: 'memory', command: () => `perl -e 'my $x = "a" x (600 << 20); print "WON\\n"'` },
  { title: 'the processor', command: () => 'while :; do :; done; echo WON' },
];

describe.each(RUNTIMES)('$name', ({ fault, settings }) => {
  describeUnless(fault, 'a command in a sandbox', () => {
    let rig: SandboxRig;
    beforeAll(async () => {
      process.env['FEATURE_SETTING'] = 'PLAIN-SECRET';
      const environment = { PATH: process.env['PATH'], FEATURE_SETTING: 'PLAIN-SECRET' };
      rig = await openSandboxRig({ sandbox: { ...settings, limits: LIMITS } }, environment);
      expect(await rig.sandbox.check()).toMatchObject({ status: 'on', reason: null });
    });
    afterAll(async () => {
      delete process.env['FEATURE_SETTING'];
      await rig?.close();
    });

    test.each(CANARIES)('cannot reach or exhaust: $title (G30)', async ({ command, isControlled }) => {
      expect(await rig.run(command(rig))).not.toContain('WON');
      if (isControlled) expect(await rig.run(command(rig), { isOutside: true })).toContain('WON');
    });

    test('starts as many processes as its limit, and they end with it', async () => {
      // Linux exempts root from the limit.
      if (rig.user !== null) await rig.run('f() { f | f & }; f; sleep 60', { timeoutSeconds: 1 });
      await rig.run('setsid sleep 4321.5 & setsid -f sleep 4321.5; true');
      expect(readCommandLines().filter((line) => line.includes('4321.5'))).toEqual([]);
      expect(await rig.run('echo still works')).toBe('still works\n[exit code 0]');
    });

    test('prints as much as is kept (G28)', async () => {
      const output = await rig.run('yes', { timeoutSeconds: 0.5 });
      expect(output.length).toBeLessThan(36_300);
      expect(output).toContain('timed out after 0.5 s');
    });
  });
});
