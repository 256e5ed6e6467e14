// What the families of providers want of a history, as a table: everything that differs between
// them is a value here, and the passes ask the table. The built-in transport is of the Anthropic
// family; a transport of a plugin, or the configuration, names another one. The names of tool calls
// are made valid by the same table.

export const PROVIDER_FAMILIES = ['anthropic', 'google', 'openai', 'mistral'] as const;

export type ProviderFamily = (typeof PROVIDER_FAMILIES)[number];

/**
 * How a provider writes the arguments of tool calls: some encode `<`, `&` and quotes in their texts
 * as in HTML. They are decoded before a tool sees them.
 */
export const ARGUMENT_ENCODINGS = ['none', 'html-entities'] as const;

export type ArgumentEncoding = (typeof ARGUMENT_ENCODINGS)[number];

/** The permitted names of tool calls: letters, digits and further characters, and the length. */
export type CallIdForm = 'native' | 'native40' | 'strict' | 'strict9';

/**
 * How thinking is replayed. `own`: kept with its signature for the model that thought it, else left
 * out. `signed`: kept with a signature, else plain text. `reasoning`: only reasoning items (`rs_`
 * signatures) that something follows are kept. `never`: left out.
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

// The names of tool calls as a provider takes them: of its letters, not too long, and each once in
// a whole conversation. A name that is fine already stays as it is; a new one depends on the old
// one and on the names before it alone, so it is the same in every request.

interface Form {
  foreign: RegExp;
  charsMax: number;
  /** Separates a name from the number that makes it unique. */
  joint: string;
  isExact: boolean;
}

const FORMS: Readonly<Record<CallIdForm, Form>> = {
  native: { foreign: /[^a-zA-Z0-9_-]/g, charsMax: 200, joint: '_', isExact: false },
  native40: { foreign: /[^a-zA-Z0-9_-]/g, charsMax: 40, joint: '_', isExact: false },
  strict: { foreign: /[^a-zA-Z0-9]/g, charsMax: 40, joint: '', isExact: false },
  strict9: { foreign: /[^a-zA-Z0-9]/g, charsMax: 9, joint: '', isExact: true },
};

const NAMELESS = 'call';

/** The name that a call is sent with; it is added to `used`. */
export function giveCallId(id: string, form: CallIdForm, used: Set<string>): string {
  for (let copy = 1; ; copy += 1) {
    const given = deriveName(id, FORMS[form], copy);
    if (used.has(given)) continue;
    used.add(given);
    return given;
  }
}

/** True when a name can be sent as it is. */
export function isCallId(id: string, form: CallIdForm): boolean {
  const { foreign, charsMax, isExact } = FORMS[form];
  if (id === '' || id.length > charsMax || id.search(foreign) !== -1) return false;
  return !isExact || id.length === charsMax;
}

function deriveName(id: string, form: Form, copy: number): string {
  const own = id.replaceAll(form.foreign, '') || NAMELESS;
  const number = copy === 1 ? '' : `${form.joint}${copy}`;
  if (!form.isExact) return own.slice(0, form.charsMax - number.length) + number;
  return copy === 1 && own.length === form.charsMax ? own : deriveLetters(id + number, form.charsMax);
}

/** Letters and digits derived from a text: 32-bit FNV-1a, run until there are enough. */
function deriveLetters(text: string, count: number): string {
  let letters = '';
  for (let round = 0; letters.length < count; round += 1) {
    let hash = 0x811c9dc5;
    for (const character of `${round}:${text}`) {
      hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    }
    letters += hash.toString(36).padStart(6, '0').slice(-6);
  }
  return letters.slice(0, count);
}
