// A service process that can be killed: it reaches PostgreSQL through its own proxy, so that a
// fault at one of its round trips affects only this process. It can be killed, frozen and thawed,
// and restarted behind the same proxy.
import { startPostgresProxy, type PostgresProxy } from '../../servers/postgres-proxy.ts';
import type { RoundTrip } from '../../servers/round-trips.ts';
import { startServiceProcess, type ServiceProcess } from '../../servers/service-process.ts';

export interface VictimOptions {
  name: string;
  roles: string;
  env: Record<string, string>;
  databaseUrl: string;
  /** The checkout to run; absent: this one. */
  rootDir?: string;
}

export class Victim {
  readonly name: string;
  readonly proxy: PostgresProxy;
  readonly #options: VictimOptions;
  #service: ServiceProcess | null = null;
  #reviving: Promise<void> | null = null;
  #isFrozen = false;

  private constructor(options: VictimOptions, proxy: PostgresProxy) {
    this.name = options.name;
    this.proxy = proxy;
    this.#options = options;
  }

  /** Opens the proxy and starts the process. */
  static async start(options: VictimOptions): Promise<Victim> {
    const { hostname: host, port } = new URL(options.databaseUrl);
    const victim = new Victim(options, await startPostgresProxy({ host, port: Number(port) }));
    await victim.revive();
    return victim;
  }

  get service(): ServiceProcess {
    if (this.#service === null) throw new Error(`${this.name} was never started`);
    return this.#service;
  }

  get isAlive(): boolean {
    return this.#service?.isAlive() === true;
  }

  /** True when the process is alive and has reported that it is ready. */
  get isReady(): boolean {
    return this.isAlive && this.#reviving === null;
  }

  /**
   * Starts the process again when it is dead; resolves when it is ready. Calls during a start share
   * it.
   */
  revive(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    this.#reviving ??= this.#start().finally(() => (this.#reviving = null));
    return this.#reviving;
  }

  async #start(): Promise<void> {
    const { env, databaseUrl, roles, rootDir } = this.#options;
    this.#service = await startServiceProcess({
      env: { ...env, DATABASE_URL: this.proxy.urlFor(databaseUrl) },
      roles,
      ...(rootDir === undefined ? {} : { rootDir }),
    });
  }

  /** SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.service.end('SIGKILL');
  }

  /** SIGSTOP: the process neither runs nor notices that time passes. */
  freeze(): void {
    this.#isFrozen = this.service.child.kill('SIGSTOP');
  }

  /** SIGCONT: the process continues where it was, and finds out what happened meanwhile. */
  thaw(): void {
    if (this.#isFrozen) this.service.child.kill('SIGCONT');
    this.#isFrozen = false;
  }

  /** Ends the process and its proxy. */
  async close(): Promise<void> {
    this.thaw();
    await this.#reviving?.catch(() => {});
    if (this.#service !== null) await this.#service.end('SIGKILL');
    await this.proxy.close();
  }

  /** Resolves with the next round trip that begins and matches. */
  nextTrip(matches: (trip: RoundTrip) => boolean): Promise<RoundTrip> {
    return new Promise((resolve) => {
      const stop = this.proxy.onRoundTrip((trip) => {
        if (trip.outcome !== 'pending' || !matches(trip)) return;
        stop();
        resolve(trip);
      });
    });
  }
}
