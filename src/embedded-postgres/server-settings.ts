// The whole postgresql.conf of the embedded server, one reason per setting. It is written again at
// every launch, so a new version of Holdfast applies its settings to old clusters; PostgreSQL
// stores what an operator sets with ALTER SYSTEM separately, and that takes precedence.

const SETTINGS = `# Written by Holdfast at every launch. Use ALTER SYSTEM for permanent changes.
listen_addresses = '127.0.0.1'  # Only this machine can connect, also where localhost is ::1.
unix_socket_directories = ''  # TCP works everywhere; socket paths end at 107 bytes and Windows has none.
password_encryption = 'scram-sha-256'  # The only method that pg_hba.conf allows.
max_connections = '230'  # Nine processes with up to 25 connections each; an unused slot costs some kB.
shared_buffers = '128MB'  # Holds the hot tables of a small machine; the rest is the page cache of the kernel.
huge_pages = 'off'  # Huge pages gain nothing at 128 MB, and a container that reports huge pages it does not have kills the server.
io_method = 'sync'  # The default keeps three more processes for large scans, which a queue does not do.
max_parallel_workers_per_gather = '0'  # Short queries only; parallel ones take /dev/shm, which is small in containers.
jit = 'off'  # Compiling costs more than any query here runs.
fsync = 'on'  # The API answers only for what is on disk.
synchronous_commit = 'on'  # The same: a commit returns after its WAL is on disk.
full_page_writes = 'on'  # A power cut in the middle of a page write is repaired from the WAL.
max_wal_size = '1GB'  # Bounds the disk and the recovery after a crash; less means checkpoints under load.
min_wal_size = '80MB'  # Frees disk space when there is little load.
autovacuum_naptime = '15s'  # The hot tables are updated in place all the time; a minute lets them bloat.
timezone = 'UTC'  # Text forms of times do not depend on where the server was started.
log_timezone = 'UTC'  # Lines up with the logs of Holdfast.
log_min_messages = 'log'  # Failed statements go to the client, which logs them without the row data in their details.
log_checkpoints = 'off'  # The log stays small; it is rotated only at a launch.
cluster_name = 'holdfast'  # Shows in \`ps\` which installation this server belongs to.
`;

// Without it macOS only hands data to the drive, which may keep it in its cache through a power
// cut.
const DARWIN_SETTING = `wal_sync_method = 'fsync_writethrough'  # A plain fsync of macOS does not reach the disk.
`;

/** pg_hba.conf: the password over TCP from this machine, nothing else. */
export const ACCESS_RULES = 'host all all 127.0.0.1/32 scram-sha-256\n';

/** The text of postgresql.conf for a server on `port`. */
export function renderSettings(port: number): string {
  const own = process.platform === 'darwin' ? SETTINGS + DARWIN_SETTING : SETTINGS;
  return `${own}port = '${port}'  # A free port; the next launch uses it again if it is still free.\n`;
}

/** The port of a text that `renderSettings` made; null for any other text. */
export function parsePort(settings: string): number | null {
  const digits = /^port = '(\d+)'/m.exec(settings)?.[1];
  return digits === undefined ? null : Number(digits);
}
