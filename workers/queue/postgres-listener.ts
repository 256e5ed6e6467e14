// The one connection of a process that listens for jobs. PostgreSQL wakes every session of a database that listens, at each notification of any channel, so
// the workers of a process share one. BullMQ's connection of each worker gets a place here instead of a client of its own. Every place receives the
// notifications of the server, and the end of the connection. BullMQ then requests a new place, and the first such request connects again.
import type { PgPoolClient } from 'bullmq';
import { EventEmitter } from 'node:events';
import type pg from 'pg';

/** BullMQ's functions send the name of a queue that has a job. */
const CHANNEL = 'bullmq_jobs';

export interface PostgresListener {
  /** A place for a worker; rejects when the database cannot be reached. */
  takePlace(): Promise<PgPoolClient>;
  /** Tells the workers of this process that a queue has a job. */
  tell: (queue: string) => void;
  close(): Promise<void>;
}

interface ListenerOptions {
  createClient: () => pg.Client;
  /** True for the server's process of one of our connections: its notifications say what `tell` has said before. */
  isOwn: (processId: number) => boolean;
}

/** Makes a listener, which connects when the first place is taken. */
export function createPostgresListener({ createClient, isOwn }: ListenerOptions): PostgresListener {
  const places = new Set<Place>();
  let connected: Promise<pg.Client> | null = null;

  function connect(): Promise<pg.Client> {
    const client = createClient();
    const end = (error: Error): void => {
      if (connected !== attempt) return;
      connected = null;
      client.end().catch(() => undefined);
      const left = [...places];
      places.clear();
      for (const place of left) place.emit('error', error);
    };
    client.on('error', end);
    client.on('notification', ({ channel, payload, processId }) => {
      if (channel === CHANNEL && payload !== undefined && !isOwn(processId)) tell(payload);
    });
    const listen = async (): Promise<pg.Client> => {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      return client;
    };
    const attempt = listen();
    attempt.catch(end);
    return attempt;
  }

  function tell(queue: string): void {
    for (const place of places) place.emit('notification', { channel: CHANNEL, payload: queue });
  }

  return {
    async takePlace() {
      const attempt = (connected ??= connect());
      await attempt;
      // It may have ended in the moment in which it began to listen.
      if (connected !== attempt) throw new Error('the connection that listens for jobs has ended');
      const place = new Place(() => void places.delete(place));
      places.add(place);
      return place as unknown as PgPoolClient;
    },
    tell,
    async close() {
      const client = await connected?.catch(() => undefined);
      connected = null;
      await client?.end();
    },
  };
}

/** What BullMQ uses of a client to listen with. */
class Place extends EventEmitter {
  readonly release: () => void;

  constructor(leave: () => void) {
    super();
    this.release = leave;
  }

  /** BullMQ's own `LISTEN`, which was sent before there was a place. */
  query(): Promise<{ rows: [] }> {
    return Promise.resolve({ rows: [] });
  }
}
