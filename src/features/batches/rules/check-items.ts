// What makes the items of one submission wrong together or for this configuration: a custom id that
// comes twice, an agent that does not exist. It numbers the items, and remembers the last item of
// each session, because items of one session run one after the other.
import type { InboundMessage } from '../../../core/inbound.ts';
import { readOptions } from '../../../core/input-options.ts';
import type { SessionKey } from '../../../core/ids.ts';
import { agentIdOf } from '../../../core/session-key.ts';
import type { ToolPolicy } from '../../../core/tool-policy.ts';
import { itemSessionKey } from './batch.ts';

/** An item as it was read. */
export interface ReadItem {
  /** Its place, for people: `line 17`, `items[3]`. */
  place: string;
  customId: string | null;
  /** Canonical; null: a new session. */
  sessionKey: SessionKey | null;
  /** Null: the agent of the batch. */
  agentId: string | null;
  body: InboundMessage;
}

export interface ItemFault {
  path: string;
  message: string;
  /** The fault is an agent that does not exist. */
  isUnknownAgent?: true;
}

/** An item with its place in the batch. */
export interface PlacedItem {
  n: number;
  customId: string | null;
  sessionKey: SessionKey;
  isOwnSession: boolean;
  afterN: number | null;
}

export interface ItemRules {
  batchId: string;
  agentId: string;
  isAgent: (agentId: string) => boolean;
  /** Why an agent cannot be asked to use a model; null: it can. */
  modelFault: (agentId: string, model: string) => string | null;
  /** What is wrong with the tools that an item names; null: nothing. */
  policyFault: (policy: ToolPolicy | undefined) => { path: string; message: string } | null;
}

/** Checks and numbers the items of one submission, in their order. */
export class ItemChecker {
  readonly #rules: ItemRules;
  readonly #customIds = new Map<string, string>();
  readonly #lastOf = new Map<string, number>();
  #count = 0;

  constructor(rules: ItemRules) {
    this.#rules = rules;
  }

  /** The place of an item in the batch, or its fault. */
  place(item: ReadItem): PlacedItem | ItemFault[] {
    this.#count += 1;
    const n = this.#count;
    const { batchId } = this.#rules;
    const agentId = item.sessionKey === null ? (item.agentId ?? this.#rules.agentId) : agentIdOf(item.sessionKey);
    const faults = [...this.#agentFaults(item, agentId), ...this.#policyFaults(item), ...this.#customIdFaults(item)];
    if (faults.length > 0) return faults;
    const { customId } = item;
    if (item.sessionKey === null) {
      return { n, customId, sessionKey: itemSessionKey(batchId, agentId, n), isOwnSession: true, afterN: null };
    }
    const afterN = this.#lastOf.get(item.sessionKey) ?? null;
    this.#lastOf.set(item.sessionKey, n);
    return { n, customId, sessionKey: item.sessionKey, isOwnSession: false, afterN };
  }

  #agentFaults({ place, sessionKey, agentId: named, body }: ReadItem, agentId: string): ItemFault[] {
    const path = `${place}: ${sessionKey === null || named !== null ? 'agentId' : 'sessionKey'}`;
    if (named !== null && named !== agentId) {
      return [{ path, message: `the session belongs to the agent ${agentId}; leave agentId out or send the same` }];
    }
    if (!this.#rules.isAgent(agentId)) {
      return [{ path, message: `there is no agent ${agentId} in the configuration`, isUnknownAgent: true }];
    }
    const fault = body.model === undefined ? null : this.#rules.modelFault(agentId, body.model);
    return fault === null ? [] : [{ path: `${place}: model`, message: fault }];
  }

  #policyFaults({ place, body }: ReadItem): ItemFault[] {
    const fault = this.#rules.policyFault(readOptions(body).tools);
    return fault === null ? [] : [{ path: `${place}: ${fault.path}`, message: fault.message }];
  }

  #customIdFaults({ place, customId }: ReadItem): ItemFault[] {
    if (customId === null) return [];
    const first = this.#customIds.get(customId);
    if (first === undefined) {
      this.#customIds.set(customId, place);
      return [];
    }
    const message = `${JSON.stringify(customId)} is used at ${first} and at ${place}; each customId may be used once`;
    return [
      { path: `${first}: customId`, message },
      { path: `${place}: customId`, message },
    ];
  }
}
