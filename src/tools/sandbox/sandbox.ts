// The sandbox of the commands of agents: a port in front of the shell. It is used where a canary says that it works, at the start and every ten
// minutes: a command that tries to reach what it must not (`canary.ts`). That a program is installed says nothing. Where the sandbox is required and
// the canary fails, no command runs (G37).
import type { Config } from '../../config.ts';
import type { OsUser } from '../../config/os-users.ts';
import { sandboxEnvironment } from '../../core/sandbox/policy.ts';
import type { Logger } from '../../logger.ts';
import { describeCommands, planAllCommands, type CommandPlan } from '../command-user.ts';
import { sendCanary } from './canary.ts';
import { HostProxy } from './host-proxy.ts';
import { policyOf, type ServerAccess } from './policy-of.ts';
import type { SandboxRuntime, WrapCommand } from './port.ts';
import { findRuntime } from './runtimes.ts';

export interface SandboxState {
  mode: Config['tools']['exec']['sandbox'];
  runtime: string;
  network: 'none' | readonly string[];
  /** `on`: commands run in it. `off`: they run outside. `refused`: it is required and does not work, so none runs. `external`: the operator states that this process runs in one. */
  status: 'on' | 'off' | 'refused' | 'external';
  /** Why it is not on; null: it is. */
  reason: string | null;
  /** When the canary was last sent; null: never. */
  checkedAt: Date | null;
}

/** No command runs, or no server of tools. */
export class SandboxRequiredError extends Error {
  readonly code = 'sandbox_required';

  constructor(reason: string, what = 'commands are off') {
    super(
      `${what}: the sandbox is required, and ${reason}. The operator can run "holdfast sandbox check", or set tools.exec.sandbox to "auto"`,
    );
    this.name = 'SandboxRequiredError';
  }
}

/** A place where programs run in the sandbox: the workspace of an agent, or the folder of a server of tools. */
interface SandboxPlace {
  workspaceDir: string;
  user: OsUser | null;
  /** The way to the network; null: there is none. */
  proxy: HostProxy | null;
  /** Absent: commands run there. */
  server?: ServerAccess;
}

const CHECK_MS = 600_000;
const STALE_MS = 2 * CHECK_MS;
/** What a person can do about it, in a few words. */
function howToGetIt(runtime: string): string {
  return runtime === 'bubblewrap'
    ? 'install bubblewrap 0.8 or newer and allow user namespaces, see docs/sandbox.md'
    : 'see docs/sandbox.md';
}

export class Sandbox {
  readonly #config: Config;
  readonly #plans: readonly CommandPlan[];
  readonly #runtime: SandboxRuntime | string;
  readonly #proxy: HostProxy | null;
  /** By workspace, why it does not work there; null: it works. */
  #faults = new Map<string, string | null>();
  #checkedAt: Date | null = null;
  #checking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: Config, ofPlugins: readonly SandboxRuntime[] = []) {
    this.#config = config;
    this.#plans = config.tools.exec.enabled ? planAllCommands(config) : [];
    const { runtime, network } = config.sandbox;
    this.#runtime = findRuntime(runtime, ofPlugins);
    this.#proxy = this.#isUsed && network !== 'none' ? new HostProxy(network) : null;
  }

  /** False where it is switched off, or is another's business. */
  get #isUsed(): boolean {
    const { tools, sandbox } = this.#config;
    return tools.exec.sandbox !== 'off' && sandbox.runtime !== 'external';
  }

  /** Sends the first canary, and one every ten minutes until `stop`; logs that it works no longer, or again. */
  start(logger: Pick<Logger, 'info' | 'warn'>): void {
    if (!this.#isUsed) return;
    // The start lines say that it is off.
    let before: SandboxState['status'] | null = null;
    const send = async (): Promise<void> => {
      const { status, reason } = await this.check();
      if (status === 'refused' && before === null) logger.warn({ status, reason }, 'Commands are off');
      else if (before !== null && status !== before && status === 'on') logger.info('Sandbox of commands works again');
      else if (before !== null && status !== before)
        logger.warn({ status, reason }, 'Sandbox of commands does not work');
      before = status;
    };
    void send();
    this.#timer = setInterval(() => void send(), CHECK_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#proxy?.close();
  }

  /** Sends a canary now. Never rejects. */
  async check(): Promise<SandboxState> {
    if (this.#isUsed) await (this.#checking ??= this.#checkAll().finally(() => (this.#checking = null)));
    return this.#stateNow();
  }

  /** As the last canary found it; waits for the first one. */
  async state(): Promise<SandboxState> {
    return this.#checkedAt === null ? this.check() : this.#stateNow();
  }

  /** The state if a canary has been sent, for reports; null: not yet. */
  get known(): SandboxState | null {
    return this.#isUsed && this.#checkedAt === null ? null : this.#stateNow();
  }

  /** How commands get into the sandbox of a workspace; null: they run outside. Throws `SandboxRequiredError`. */
  async enter(workspaceDir: string): Promise<WrapCommand | null> {
    if (!this.#isUsed) return null;
    // A process without `start` sends one when it is needed.
    if (this.#checkedAt === null || Date.now() - this.#checkedAt.getTime() > STALE_MS) await this.check();
    const fault = this.#faults.get(workspaceDir);
    if (fault === null) return this.#wrapFor({ workspaceDir, user: null, proxy: this.#proxy });
    if (this.#config.tools.exec.sandbox === 'required') throw new SandboxRequiredError(fault ?? 'it was not checked');
    return null;
  }

  /**
   * How a server of tools gets into the sandbox of its folder, which a canary of its own has checked; a text: it runs outside, for this reason. Throws
   * `SandboxRequiredError`.
   */
  async enterAsServer(place: SandboxPlace & { server: ServerAccess }): Promise<WrapCommand | string> {
    if (!this.#isUsed) return this.#stateNow().reason ?? '';
    const fault = await this.#checkOne(place);
    if (fault === null) return this.#wrapFor(place);
    if (this.#config.tools.exec.sandbox === 'required') throw new SandboxRequiredError(fault, 'it is not started');
    return fault;
  }

  async #checkAll(): Promise<void> {
    const found = new Map<string, string | null>();
    for (const plan of this.#plans) found.set(plan.workspaceDir, await this.#checkOne({ ...plan, proxy: this.#proxy }));
    this.#faults = found;
    this.#checkedAt = new Date();
  }

  async #checkOne(place: SandboxPlace): Promise<string | null> {
    const { workspaceDir, user, proxy, server } = place;
    if (typeof this.#runtime === 'string') return this.#runtime;
    try {
      await proxy?.open();
      const isReadOnly = server === undefined && this.#config.sandbox.workspaceAccess === 'read-only';
      const wrap = this.#wrapFor(place);
      return await sendCanary({ config: this.#config, workspaceDir, isReadOnly, user, wrap });
    } catch (error) {
      return `its check failed: ${(error as Error).message}`;
    }
  }

  #wrapFor({ proxy, ...place }: SandboxPlace): WrapCommand {
    // A runtime that there is not has failed its check.
    const runtime = this.#runtime as SandboxRuntime;
    const policy = policyOf(this.#config, place, proxy?.socket ?? null);
    return ({ environment, own, ...command }) =>
      runtime.wrap(policy, { ...command, environment: { ...sandboxEnvironment(environment, policy), ...own } });
  }

  #stateNow(): SandboxState {
    const { tools, sandbox } = this.#config;
    const facts = { mode: tools.exec.sandbox, runtime: sandbox.runtime, network: sandbox.network };
    const off = (status: SandboxState['status'], reason: string): SandboxState => ({
      ...facts,
      status,
      reason,
      checkedAt: this.#checkedAt,
    });
    if (sandbox.runtime === 'external')
      return off('external', 'the operator states that the worker runs in a container');
    if (facts.mode === 'off') return off('off', 'tools.exec.sandbox is "off"');
    const fault = [...this.#faults.values()].find((each) => each !== null);
    if (fault !== undefined) return off(facts.mode === 'required' ? 'refused' : 'off', fault);
    return { ...facts, status: 'on', reason: null, checkedAt: this.#checkedAt };
  }
}

const known = new WeakMap<Config, Sandbox>();

/** The sandbox of a process by its configuration. */
export function sandboxOf(config: Config, ofPlugins: readonly SandboxRuntime[] = []): Sandbox {
  const sandbox = known.get(config) ?? new Sandbox(config, ofPlugins);
  known.set(config, sandbox);
  return sandbox;
}

/** One sentence for people: which user runs commands, where, and what these reach. */
export function describeExec(config: Config, state: SandboxState): string {
  const users = describeCommands(config);
  if (!config.tools.exec.enabled || state.mode === 'off' || state.status === 'external') return users;
  if (state.status !== 'on') return `${users}; sandbox ${describeSandbox(state)}`;
  const names = new Set(planAllCommands(config).map(({ user }) => user?.name ?? 'the user of the service'));
  return `run as ${[...names].join(', ')} in a sandbox: ${describeSandbox(state)}`;
}

/** A state in a few words, for people. */
export function describeSandbox({ status, reason, runtime, network }: SandboxState): string {
  const reach = network === 'none' ? 'no network' : `network: ${network.join(', ') || 'no hosts'}`;
  switch (status) {
    case 'on':
      return `on (${runtime}, ${reach})`;
    case 'external':
      return `external: ${reason}`;
    case 'off':
      return `off: ${reason}; ${howToGetIt(runtime)}`;
    case 'refused':
      return `required, but ${reason}: no command runs; ${howToGetIt(runtime)}`;
  }
  return status satisfies never;
}
