// The sandbox of the commands of agents: a port in front of the shell. It is used where a canary
// says that it works, at the start and every ten minutes: a command that tries to reach what it
// must not (`canary.ts`). That a program is installed says nothing. Where the sandbox is required
// and the canary fails, no command runs (G37). What is missing takes away and never gives (G42):
// without a way to the network commands run inside without one, and a sandbox that has worked in
// this process, or whose check had no answer, lets no command run outside.
import type { Config } from '../../config.ts';
import type { OsUser } from '../../config/places.ts';
import { sandboxEnvironment } from './rules/policy.ts';
import type { Logger } from '../../logger.ts';
import { describeCommands, planAllCommands, type CommandPlan } from '../command-user.ts';
import { checkFailed, sendCanary, withEmptyFolder, type CanaryEnd } from './canary.ts';
import { HostProxy } from './host-proxy.ts';
import { policyOf, type ServerAccess } from './policy-of.ts';
import type { SandboxRuntime, WrapCommand } from './port.ts';
import { findRuntime, isOfMachine } from './runtimes.ts';

export interface SandboxState {
  mode: Config['tools']['exec']['sandbox'];
  runtime: string;
  network: 'none' | readonly string[];
  /**
   * `on`: commands run in it. `reduced`: they run in it and lack something, such as the network.
   * `off`: they run outside. `refused`: it does not work, and none runs. `unknown`: no canary has
   * answered yet, and none runs before one does. `external`: the operator states that this process
   * runs in one.
   */
  status: 'on' | 'reduced' | 'off' | 'refused' | 'unknown' | 'external';
  /** Why it is not on; null: it is. */
  reason: string | null;
  /** When the canary was last sent; null: never. */
  checkedAt: Date | null;
}

/** No command runs, or no server of tools. */
export class SandboxRequiredError extends Error {
  readonly code = 'sandbox_required';

  constructor(reason: string, { mode, what }: { mode: SandboxState['mode']; what: string }) {
    const [why, instead] =
      mode === 'required'
        ? ['is required', ', or set tools.exec.sandbox to "auto"']
        : ['cannot be used now', '; the next call tries again'];
    super(`${what}: the sandbox ${why}, and ${reason}. The operator can run "holdfast sandbox check"${instead}`);
    this.name = 'SandboxRequiredError';
  }
}

/**
 * A place where programs run in the sandbox: the workspace of an agent, or the folder of a server
 * of tools.
 */
interface SandboxPlace extends Pick<CommandPlan, 'workspaceDir' | 'realDir'> {
  user: OsUser | null;
  /** The way to the network; null: there is none. */
  proxy: HostProxy | null;
  /** See the plan of commands. */
  closedBy?: string | null;
  /** Absent: commands run there. */
  server?: ServerAccess;
}

/**
 * What a place has according to its canary: a sandbox, with its way to the network; none; or none
 * that lets programs run outside (`kept`).
 */
type Verdict =
  | { kind: 'inside'; lack: string | null; proxy: HostProxy | null }
  | { kind: 'none' | 'unsure' | 'kept'; reason: string };

/**
 * How a program gets into the sandbox of its place, and what it lacks there; null: it runs outside.
 */
export interface Entrance {
  wrap: WrapCommand | null;
  /** Null: it lacks nothing. */
  reason: string | null;
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
  /** By the real paths of workspaces. */
  readonly #verdicts = new Map<string, Verdict & { at: number }>();
  /** Places where it has worked in this process. */
  readonly #worked = new Set<string>();
  #checkedAt: Date | null = null;
  readonly #checking = new Map<string, Promise<Verdict>>();
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

  /**
   * Sends the first canary, and one every ten minutes until `stop`; logs that it works no longer,
   * or again.
   */
  start(logger: Pick<Logger, 'info' | 'warn'>): void {
    if (!this.#isUsed) return;
    // The start lines say in which state it begins.
    let before: SandboxState['status'] | null = null;
    const send = async (): Promise<void> => {
      const { status, reason } = await this.check();
      if (before === null ? status === 'refused' : status !== before) {
        if (status === 'on') logger.info('Sandbox of commands works again');
        else logger.warn({ status, reason }, CHANGES[status]);
      }
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
    if (this.#isUsed) {
      for (const plan of this.#plans) await this.#checkPlan(plan);
      this.#checkedAt = new Date();
    }
    return this.known;
  }

  /** The state that the last canary found; waits for the first one. */
  async state(): Promise<SandboxState> {
    return this.#checkedAt === null ? this.check() : this.known;
  }

  /**
   * How commands get into the sandbox of a workspace; null: they run outside. Throws
   * `SandboxRequiredError`.
   */
  async enter(plan: CommandPlan): Promise<WrapCommand | null> {
    if (!this.#isUsed) return null;
    const known = this.#verdicts.get(plan.realDir);
    // A process without `start` sends a canary when it is needed, and so does one whose last canary
    // had no answer.
    const isFresh = known !== undefined && known.kind !== 'unsure' && Date.now() - known.at < STALE_MS;
    const verdict = isFresh ? known : await this.#checkPlan(plan);
    return this.#enterBy(verdict, { ...plan, proxy: null }, 'commands are off').wrap;
  }

  /**
   * How a server of tools gets into the sandbox of its folder, which a canary of its own has
   * checked. Throws `SandboxRequiredError`.
   */
  async enterAsServer(place: SandboxPlace & { server: ServerAccess }): Promise<Entrance> {
    if (!this.#isUsed) return { wrap: null, reason: this.known.reason };
    return this.#enterBy(await this.#judge(place), place, 'it is not started');
  }

  #enterBy(verdict: Verdict, place: SandboxPlace, what: string): Entrance {
    if (verdict.kind === 'inside') {
      const { proxy, lack } = verdict;
      return { wrap: this.#wrapFor({ ...place, proxy }), reason: lack };
    }
    const mode = this.#config.tools.exec.sandbox;
    if (mode === 'required' || verdict.kind !== 'none') throw new SandboxRequiredError(verdict.reason, { mode, what });
    return { wrap: null, reason: verdict.reason };
  }

  /** Sends a canary into the sandbox of a workspace, and keeps what it finds. */
  async #checkPlan(plan: CommandPlan): Promise<Verdict> {
    const { realDir } = plan;
    const checking = this.#checking.get(realDir) ?? this.#judge({ ...plan, proxy: this.#proxy });
    this.#checking.set(realDir, checking);
    const verdict = await checking;
    this.#checking.delete(realDir);
    this.#verdicts.set(realDir, { ...verdict, at: Date.now() });
    return verdict;
  }

  /** Never rejects. */
  async #judge(place: SandboxPlace): Promise<Verdict> {
    const { sandbox, tools } = this.#config;
    if (typeof this.#runtime === 'string')
      return { kind: isOfMachine(sandbox.runtime) ? 'none' : 'kept', reason: this.#runtime };
    const { proxy, realDir } = place;
    const end = await this.#send(place);
    const less = end.kind === 'inside' || proxy === null ? end : await this.#send({ ...place, proxy: null });
    if (less.kind === 'inside') {
      this.#worked.add(realDir);
      if (end.kind === 'inside') return { ...end, proxy };
      const noNetwork = `there is no network, because ${end.reason}`;
      return { kind: 'inside', lack: less.lack === null ? noNetwork : `${noNetwork}; ${less.lack}`, proxy: null };
    }
    if (less.kind !== 'none' || tools.exec.sandbox !== 'auto') return less;
    // A command may have caused the fault, also one of another process.
    if (this.#worked.has(realDir))
      return { kind: 'kept', reason: `${less.reason}; it has worked, so nothing runs outside until a restart` };
    const { user, closedBy, server } = place;
    // The folder of a server is opened before its check, and what else it needs is the operator's.
    if (closedBy || server !== undefined) return less;
    const elsewhere = await withEmptyFolder(user, (folder) =>
      this.#send({ workspaceDir: folder, realDir: folder, user, proxy: null }),
    ).catch(checkFailed);
    if (elsewhere.kind !== 'inside') return elsewhere.kind === 'none' ? less : elsewhere;
    return { kind: 'kept', reason: `${less.reason}; it works in an empty folder, so nothing runs outside` };
  }

  async #send(place: SandboxPlace): Promise<CanaryEnd> {
    const { realDir, user, proxy, server } = place;
    try {
      await proxy?.open();
      const isReadOnly = server === undefined && this.#config.sandbox.workspaceAccess === 'read-only';
      return await sendCanary({ config: this.#config, realDir, isReadOnly, user, wrap: this.#wrapFor(place) });
    } catch (error) {
      return checkFailed(error);
    }
  }

  #wrapFor({ proxy, ...place }: SandboxPlace): WrapCommand {
    // A runtime that there is not has failed its check.
    const runtime = this.#runtime as SandboxRuntime;
    const policy = policyOf(this.#config, place, proxy?.socket ?? null);
    return ({ environment, own, ...command }) =>
      runtime.wrap(policy, { ...command, environment: { ...sandboxEnvironment(environment, policy), ...own } });
  }

  /** The state for reports, also before the first canary has been sent. */
  get known(): SandboxState {
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
    if (this.#checkedAt === null) return off('unknown', 'no canary has been sent yet');
    const found = [...this.#verdicts.values()];
    const faults = found.flatMap((each) => (each.kind === 'inside' ? [] : [each]));
    const [fault] = FAULTS.flatMap((kind) => faults.filter((each) => each.kind === kind));
    if (fault !== undefined) {
      const isOutside = fault.kind === 'none' && facts.mode === 'auto';
      return off(isOutside ? 'off' : fault.kind === 'unsure' ? 'unknown' : 'refused', fault.reason);
    }
    const lacks = found.flatMap((each) => (each.kind === 'inside' && each.lack !== null ? [each.lack] : []));
    if (lacks[0] !== undefined) return off('reduced', lacks[0]);
    return { ...facts, status: 'on', reason: null, checkedAt: this.#checkedAt };
  }
}

/** The faults of workspaces, the one that counts most first. */
const FAULTS = ['none', 'kept', 'unsure'] as const;

/** What the log says when the state has become another. */
const CHANGES: Record<Exclude<SandboxState['status'], 'on'>, string> = {
  reduced: 'Commands in the sandbox lack something',
  off: 'Sandbox of commands does not work',
  refused: 'Commands are off',
  unknown: 'Sandbox of commands could not be checked',
  external: 'Commands run in the container of the process',
};

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
  if (state.status !== 'on' && state.status !== 'reduced') return `${users}; sandbox ${describeSandbox(state)}`;
  const names = new Set(planAllCommands(config).map(({ user }) => user?.name ?? 'the user of the service'));
  return `run as ${[...names].join(', ')} in a sandbox: ${describeSandbox(state)}`;
}

/** A state in a few words, for people. */
export function describeSandbox({ mode, status, reason, runtime, network }: SandboxState): string {
  const reach = network === 'none' ? 'no network' : `network: ${network.join(', ') || 'no hosts'}`;
  switch (status) {
    case 'on':
      return `on (${runtime}, ${reach})`;
    case 'reduced':
      return `reduced (${runtime}): ${reason}; see docs/sandbox.md`;
    case 'external':
      return `external: ${reason}`;
    case 'off':
      return `off: ${reason}; ${howToGetIt(runtime)}`;
    case 'refused':
      return `${mode === 'required' ? 'required, but' : 'refused:'} ${reason}: no command runs; ${howToGetIt(runtime)}`;
    case 'unknown':
      return `not yet known: ${reason}; no command runs before it is`;
  }
  return status satisfies never;
}
