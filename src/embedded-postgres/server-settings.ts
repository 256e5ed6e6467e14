// The whole postgresql.conf of the embedded server, one reason per setting. It is written again at every launch, so a new
// version of Holdfast applies its settings to old clusters; PostgreSQL stores what an operator sets with ALTER SYSTEM
// separately, and that takes precedence.

interface Setting {
  name: string;
  value: string | number;
  why: string;
}

const SETTINGS: Setting[] = [
  {
    name: 'listen_addresses',
    value: '127.0.0.1',
    why: 'Only this machine can connect, also where localhost is ::1.',
  },
  {
    name: 'unix_socket_directories',
    value: '',
    why: 'TCP works everywhere; socket paths end at 107 bytes and Windows has none.',
  },
  { name: 'password_encryption', value: 'scram-sha-256', why: 'The only method that pg_hba.conf allows.' },
  {
    name: 'max_connections',
    value: 230,
    why: 'Nine processes with up to 25 connections each; an unused slot costs some kB.',
  },
  {
    name: 'shared_buffers',
    value: '128MB',
    why: 'Holds the hot tables of a small machine; the rest is the page cache of the kernel.',
  },
  {
    name: 'huge_pages',
    value: 'off',
    why: 'Huge pages gain nothing at 128 MB, and a container that reports huge pages it does not have kills the server.',
  },
  {
    name: 'io_method',
    value: 'sync',
    why: 'The default keeps three more processes for large scans, which a queue does not do.',
  },
  {
    name: 'max_parallel_workers_per_gather',
    value: 0,
    why: 'Short queries only; parallel ones take /dev/shm, which is small in containers.',
  },
  { name: 'jit', value: 'off', why: 'Compiling costs more than any query here runs.' },
  { name: 'fsync', value: 'on', why: 'The API answers only for what is on disk.' },
  { name: 'synchronous_commit', value: 'on', why: 'The same: a commit returns after its WAL is on disk.' },
  { name: 'full_page_writes', value: 'on', why: 'A power cut in the middle of a page write is repaired from the WAL.' },
  {
    name: 'max_wal_size',
    value: '1GB',
    why: 'Bounds the disk and the recovery after a crash; less means checkpoints under load.',
  },
  { name: 'min_wal_size', value: '80MB', why: 'Frees disk space when there is little load.' },
  {
    name: 'autovacuum_naptime',
    value: '15s',
    why: 'The hot tables are updated in place all the time; a minute lets them bloat.',
  },
  { name: 'timezone', value: 'UTC', why: 'Text forms of times do not depend on where the server was started.' },
  { name: 'log_timezone', value: 'UTC', why: 'Lines up with the logs of Holdfast.' },
  {
    name: 'log_min_messages',
    value: 'log',
    why: 'Failed statements go to the client, which logs them without the row data in their details.',
  },
  { name: 'log_checkpoints', value: 'off', why: 'The log stays small; it is rotated only at a launch.' },
  { name: 'cluster_name', value: 'holdfast', why: 'Shows in `ps` which installation this server belongs to.' },
];

// Without it macOS only hands data to the drive, which may keep it in its cache through a power cut.
const DARWIN_SETTING: Setting = {
  name: 'wal_sync_method',
  value: 'fsync_writethrough',
  why: 'A plain fsync of macOS does not reach the disk.',
};

/** pg_hba.conf: the password over TCP from this machine, nothing else. */
export const ACCESS_RULES = 'host all all 127.0.0.1/32 scram-sha-256\n';

/** The text of postgresql.conf for a server on `port`. */
export function renderSettings(port: number): string {
  const settings = [
    ...SETTINGS,
    ...(process.platform === 'darwin' ? [DARWIN_SETTING] : []),
    { name: 'port', value: port, why: 'A free port; the next launch uses it again if it is still free.' },
  ];
  return [
    '# Written by Holdfast at every launch. Use ALTER SYSTEM for permanent changes.',
    ...settings.map(({ name, value, why }) => `${name} = '${value}'  # ${why}`),
    '',
  ].join('\n');
}

/** The port of a text that `renderSettings` made; null for any other text. */
export function parsePort(settings: string): number | null {
  const digits = /^port = '(\d+)'/m.exec(settings)?.[1];
  return digits === undefined ? null : Number(digits);
}
