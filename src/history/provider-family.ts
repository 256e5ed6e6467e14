// What the families of providers want of a history, as a table: everything that differs between them is a value here, and the passes
// ask the table. The built-in transport is of the Anthropic family; a transport of a plugin, or the configuration, names another one.

export const PROVIDER_FAMILIES = ['anthropic', 'google', 'openai', 'mistral'] as const;

export type ProviderFamily = (typeof PROVIDER_FAMILIES)[number];

/**
 * How a provider writes the arguments of tool calls: some encode `<`, `&` and quotes in their texts as in HTML. They are decoded before a
 * tool sees them.
 */
export const ARGUMENT_ENCODINGS = ['none', 'html-entities'] as const;

export type ArgumentEncoding = (typeof ARGUMENT_ENCODINGS)[number];

/** The permitted names of tool calls: letters, digits and further characters, and the length. */
export type CallIdForm = 'native' | 'native40' | 'strict' | 'strict9';

/**
 * How thinking is replayed. `own`: kept with its signature for the model that thought it, else left out. `signed`: kept with
 * a signature, else plain text. `reasoning`: only reasoning items (`rs_` signatures) that something follows are kept.
 * `never`: left out.
 */
export type ThinkingPolicy = 'own' | 'signed' | 'reasoning' | 'never';

export interface FamilyPolicy {
  callIds: CallIdForm;
  thinking: ThinkingPolicy;
  /** Roles must alternate: messages of one role in a row become one, block after block. */
  alternates: boolean;
  /** The first message must be the user's. */
  beginsWithUser: boolean;
  /** Signatures that other providers put on blocks are removed. */
  dropsForeignSignatures: boolean;
}

export const FAMILY_POLICIES: Readonly<Record<ProviderFamily, FamilyPolicy>> = {
  anthropic: {
    callIds: 'native',
    thinking: 'own',
    alternates: true,
    beginsWithUser: true,
    dropsForeignSignatures: true,
  },
  google: {
    callIds: 'strict',
    thinking: 'signed',
    alternates: true,
    beginsWithUser: true,
    dropsForeignSignatures: false,
  },
  openai: {
    callIds: 'native40',
    thinking: 'reasoning',
    alternates: false,
    beginsWithUser: false,
    dropsForeignSignatures: true,
  },
  mistral: {
    callIds: 'strict9',
    thinking: 'never',
    alternates: true,
    beginsWithUser: true,
    dropsForeignSignatures: true,
  },
};
