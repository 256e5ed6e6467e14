// The bots of a scripted Telegram, and the tokens by which they call.
import type { Recorded, RecordedPush } from '../call-log.ts';
import type { PushRules } from '../pushes.ts';
import { UpdateQueue } from './update-queue.ts';
import type { User } from './world.ts';

export interface Bot {
  id: string;
  user: User;
  updates: UpdateQueue;
  /** What it set with `setMyCommands`. */
  commands: unknown;
  /** The texts that it shows while it writes, by chat and draft. */
  drafts: Map<string, string>;
}

/** Bots begin at different places, as those of Telegram. */
const FIRST_UPDATE_ID = 700_000_000;
const UPDATE_IDS_BETWEEN = 1_000_000;

export class Bots {
  readonly tokens = new Map<string, Bot>();
  readonly all: Bot[] = [];
  readonly #readsAllGroupMessages: boolean;
  readonly #newQueue: (firstId: number) => UpdateQueue;

  constructor(readsAllGroupMessages: boolean, rules: PushRules, record: Recorded<RecordedPush>) {
    this.#readsAllGroupMessages = readsAllGroupMessages;
    this.#newQueue = (firstId) => new UpdateQueue(rules, record, firstId);
  }

  /** The bot with this id; absent: the first. */
  find(id = this.all[0]?.id): Bot {
    const found = this.all.find((bot) => bot.id === id);
    if (found !== undefined) return found;
    throw new Error(`There is no bot ${id}: the bots are ${this.all.map((bot) => bot.id).join(', ')}`);
  }

  /** Those that see a chat unless one is named: the first in a direct chat, all in a group. */
  seeing(id: string | undefined, isDirect: boolean): Bot[] {
    return id === undefined && !isDirect ? this.all : [this.find(id)];
  }

  /** From then on the token is valid; one with a new id is of a new bot. */
  addToken(token: string): void {
    const id = /^(\d+):./.exec(token)?.[1];
    if (id === undefined) throw new Error(`"${token}" is not a token of Telegram: use <id>:<secret>`);
    let bot = this.all.find((each) => each.id === id);
    if (bot === undefined) this.all.push((bot = this.#create(id, this.all.length)));
    this.tokens.set(token, bot);
  }

  #create(id: string, index: number): Bot {
    const user = {
      id: Number(id),
      is_bot: true,
      first_name: index === 0 ? 'Scripted' : `Scripted ${index + 1}`,
      username: index === 0 ? 'scripted_bot' : `scripted${index + 1}_bot`,
      can_join_groups: true,
      can_read_all_group_messages: this.#readsAllGroupMessages,
      supports_inline_queries: false,
    };
    const updates = this.#newQueue(FIRST_UPDATE_ID + UPDATE_IDS_BETWEEN * index);
    return { id, user, updates, commands: [], drafts: new Map() };
  }
}
